"""The plan: everything that a configuration asks for, checked before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError
from relaxometer.core.validation import nearest, validated
from relaxometer.datasets.registry import Dataset, load_registry
from relaxometer.distributed.engines import ENGINES, Engine
from relaxometer.plan.models import (
    DistributedRun,
    Folders,
    Problem,
    Run,
    Series,
    Timing,
    TimingOverride,
    Variant,
    config_model,
)
from relaxometer.problems import problem, variants


class Plan:
    """Everything that a configuration asks for, checked.

    Parameters
    ----------
    config : mapping
        The merged configuration, as Snakemake hands it over.
    registry : Path
        ``resources/datasets.yaml``.
    origin : str
        The files of the configuration, for messages.

    Attributes
    ----------
    config : Config
    datasets : dict of str to Dataset
    runs : dict of (str, str, str) to Run
        By problem, graph and variant.
    distributed : dict of str to DistributedRun
        By name.

    Raises
    ------
    UserError
        If a key, graph, solver or value is invalid; the message names the nearest valid one.
    """

    def __init__(self, config: Mapping[str, Any], registry: Path, origin: str = "config") -> None:
        self.origin = origin
        problem.add_folders(validated(Folders, dict(config), origin).kernels, origin)
        self.config = validated(config_model(problem.problem_names()), dict(config), origin)
        self.datasets: dict[str, Dataset] = load_registry(registry, self.config.datasets, origin=origin)
        self.runs = {
            (run.problem, run.graph, run.variant): run
            for name in problem.problem_names()
            for run in self._runs_of(name, self.config.problem(name))
        }
        self.distributed: dict[str, DistributedRun] = {}
        for name, series in self.config.distributed.items():
            for run in self._distributed_runs(name, series) if series else ():
                if run.name in self.distributed:
                    raise UserError(
                        f"{origin}: distributed.{name}: another series also has a run {run.name!r}"
                    )
                self.distributed[run.name] = run
        for graph in self.config.throughput.graphs:
            self._one_of(
                graph, self.config.problem("sssp").graphs, "throughput.graphs", "graph of sssp.graphs"
            )
        flow_graphs = self.config.problem("dominators").graphs
        single = [name for name in flow_graphs if not self.datasets[name].is_batch]
        for graph in self.config.updates.graphs:
            self._one_of(graph, single, "updates.graphs", "graph of dominators.graphs")
        for graph in self.config.report.maps:
            self._one_of(graph, self.graphs, "report.maps", "graph of this configuration")

    @property
    def graphs(self) -> list[str]:
        """The graphs that some run needs, in the order of the configuration."""
        return [name for name in self._inputs if not self.datasets[name].is_batch]

    @property
    def batches(self) -> list[str]:
        """The batches of graphs that some run needs, in the order of the configuration."""
        return [name for name in self._inputs if self.datasets[name].is_batch]

    @property
    def _inputs(self) -> list[str]:
        return list(dict.fromkeys(run.graph for run in self.runs.values()))

    def _runs_of(self, name: str, section: Problem) -> Iterable[Run]:
        takes_batches = problem.load_problem(name).takes_batches if section.graphs else False
        for graph in section.graphs:
            self._one_of(graph, self.datasets, f"{name}.graphs", "dataset")
            if self.datasets[graph].is_batch and not takes_batches:
                raise UserError(
                    f"{self.origin}: {name}.graphs: {graph!r} is a batch; {name} runs on one graph"
                )
        for variant, given in section.variants.items():
            if given is False:
                continue
            spec = given or Variant()
            key = f"{name}.variants.{variant}"
            solver = spec.solver or variant
            self._one_of(solver, variants.solver_names(name), key, "solver")
            for graph in spec.graphs or []:
                self._one_of(graph, section.graphs, f"{key}.graphs", f"graph of {name}.graphs")
            model = variants.load_solver(name, solver).Parameters
            for expanded, parameters in self._expand(variant, spec.model_extra or {}):
                parsed = validated(model, parameters, f"{self.origin}: {key}")
                for graph in spec.graphs or section.graphs:
                    if not self._takes(name, solver, graph):
                        continue
                    yield Run(
                        problem=name,
                        graph=graph,
                        variant=expanded,
                        solver=solver,
                        parameters=parameters,
                        timing=self._timing(spec.timing),
                    ).with_parsed(parsed)

    def _distributed_runs(self, name: str, series: Series) -> Iterable[DistributedRun]:
        """Yield a run for each number of ranks of a series."""
        key = f"distributed.{name}"
        given = [what for what in ("graph", "scale", "scale_per_rank") if getattr(series, what) is not None]
        if len(given) != 1:
            raise UserError(
                f"{self.origin}: {key}: one of graph, scale and scale_per_rank is needed, "
                f"given: {' and '.join(given) or 'none'}"
            )
        if series.graph is not None:
            self._one_of(series.graph, self.datasets, f"{key}.graph", "dataset")
        engines = ENGINES[series.problem]
        engine = series.engine or next(iter(engines))
        self._one_of(engine, engines, f"{key}.engine", f"engine of {series.problem}")
        parameters = series.model_extra or {}
        validated(engines[engine].parameters, parameters, f"{self.origin}: {key}")
        is_list = isinstance(series.ranks, list)
        for ranks in series.ranks if isinstance(series.ranks, list) else [series.ranks]:
            yield DistributedRun(
                name=f"{name}-{ranks}" if is_list else name,
                series=name,
                problem=series.problem,
                engine=engine,
                graph=series.graph,
                scale=self._scale(series, ranks, key),
                ranks=ranks,
                scheme=self._scheme(series, engines[engine], ranks, key),
                roots=series.roots,
                device=series.device or self.config.device,
                parameters=parameters,
            )

    def _scale(self, series: Series, ranks: int, key: str) -> int | None:
        """Return the scale of the graph for this number of ranks."""
        if series.scale_per_rank is None:
            return series.scale
        if ranks & (ranks - 1):
            raise UserError(
                f"{self.origin}: {key}: with scale_per_rank, ranks are powers of two, given {ranks}"
            )
        return series.scale_per_rank + ranks.bit_length() - 1

    def _scheme(self, series: Series, engine: Engine, ranks: int, key: str) -> str:
        """Return the partition of the arcs; see :meth:`Engine.scheme`."""
        try:
            return engine.scheme(series.scheme, ranks)
        except UserError as error:
            raise UserError(f"{self.origin}: {key}: {error}") from None

    def _timing(self, override: TimingOverride) -> Timing:
        """Return the common timing with a variant's own values."""
        own = override.model_dump(exclude_none=True)
        common = self.config.timing
        if isinstance(common.sources, list) and "sources" in own:
            own["sources"] = common.sources[: own["sources"]]
        return common.model_copy(update=own)

    @staticmethod
    def _expand(variant: str, parameters: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
        """Yield one (name, parameters) for each combination of the parameters that are lists."""
        swept = {key: value for key, value in parameters.items() if isinstance(value, list)}
        for values in itertools.product(*swept.values()):
            suffix = "".join(f"-{value}" for value in values).replace(".", "p").replace("_", "-")
            yield variant + suffix, {**parameters, **dict(zip(swept, values, strict=True))}

    def _takes(self, problem: str, solver: str, graph: str) -> bool:
        """Return whether a solver takes `graph`, a graph or a batch."""
        takes = getattr(variants.load_solver(problem, solver).Solver, "takes", "graph")
        return takes in ("either", "batch" if self.datasets[graph].is_batch else "graph")

    def _one_of(self, name: str, known: Iterable[str], key: str, what: str) -> None:
        """Raise UserError, naming the nearest one, unless `name` is among `known`."""
        names = list(known)
        if name in names:
            return
        renamed = variants.RENAMED.get(name)
        near = renamed if renamed in names else nearest(name, names)
        hint = f"did you mean {near!r}? " if near else ""
        raise UserError(
            f"{self.origin}: {key}: unknown {what} {name!r}; {hint}known: {', '.join(names) or 'none'}"
        )
