"""The plan: everything that a configuration asks for, checked before anything runs."""

from __future__ import annotations

import itertools
import math
import os
import zipfile
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import check_keys, repetition, shown, suggestion, validated
from relaxometer.datasets.registry import Dataset, load_registry
from relaxometer.plan.models import (
    MAX_COMBINATIONS,
    MAX_SCALE,
    MAX_SEARCHES,
    DistributedRun,
    Folders,
    Problem,
    RivalEntry,
    RivalRun,
    Run,
    Series,
    Timing,
    TimingOverride,
    Variant,
    config_model,
)
from relaxometer.plan.sweeps import Point, expand
from relaxometer.problems import problem, variants
from relaxometer.rivals.definition import Rival, find_rivals

if TYPE_CHECKING:
    from relaxometer.distributed.engines import Engine

MAX_RUNS = 10_000
"""Limit of the runs of a configuration; Snakemake needs minutes to plan as many jobs."""

PROBLEM_OF_STUDY = {
    "throughput": "sssp",
    "traffic": "sssp",
    "all_pairs": "sssp",
    "bfs_throughput": "bfs",
    "updates": "dominators",
    "retained": "dominators",
}
"""The studies that name graphs, each with the problem whose graphs they are."""

TRAFFIC = {"sssp": "variants", "routes": "routes"}
"""The keys of `traffic` that name solvers, by their problem."""

NULLABLE = ("rounds", "enough_s")
"""Keys of `timing` that null resets."""

MAX_KNOWN = 40
"""A message lists this many valid names."""

MAX_KNOWN_DATASETS = 10
"""A message lists this many datasets, those of the configuration first."""


class Plan:
    """Everything that a configuration asks for, checked.

    `config` is the merged configuration, as Snakemake hands it over, `registry` is
    ``resources/datasets.yaml``, and `origin` names the files of the configuration in messages. Without a
    `gpu` where jobs run, ``device: auto`` is the emulation. UserError, which names the nearest valid one, if
    a key, graph, solver or value is invalid.

    Of its attributes, `rivals` are all known ones, `runs` have those of rivals, as `RivalRun`, and `queries`
    the query sets of each problem that has some, by name. `distributed` has runs over several ranks by name,
    and `traffic_rivals` the rivals of the study of new weights, on each of their graphs. `emulates` says
    whether kernels run on the host, as far as can be told before the jobs run.
    """

    def __init__(
        self, config: Mapping[str, Any], registry: Path, origin: str = "config", *, gpu: bool = True
    ) -> None:
        self.origin = origin
        problem.add_folders(validated(Folders, dict(config), origin).kernels, origin)
        self.config = validated(config_model(problem.problem_names()), dict(config), origin)
        self.rivals = find_rivals(self.config.rivals, origin)
        self.datasets: dict[str, Dataset[Any]] = load_registry(registry, self.config.datasets, origin=origin)
        self._check_searches(self.config.timing, "timing")
        self.queries = self._all_queries()
        self.runs = self._all_runs()
        self.distributed = self._all_distributed_runs()
        self.emulates = self.config.device == "host" or (self.config.device == "auto" and not gpu)
        self._check_studies()
        self._check_maps()
        # An overlay with other graphs need not repeat the section.
        maps = [graph for graph in self.config.report.maps if graph in self.graphs]
        report = self.config.report.model_copy(update={"maps": maps})
        self.config = self.config.model_copy(update={"report": report})
        self.traffic_rivals = list(self._traffic_rivals())

    def _all_queries(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name in problem.problem_names():
            section, key = self.config.problem(name), f"{self.origin}: {name}.queries"
            if not (section.graphs or section.queries):
                continue
            kind = problem.load_problem(name).queries
            given = {one: spec for one, spec in section.queries.items() if spec is not False}
            if kind is None and given:
                raise UserError(f"{key}: searches of {name} start from sources; leave the key out")
            if kind is not None:
                if section.graphs and not given:
                    raise UserError(f"{key}: {name}.graphs is not empty; name at least one query set")
                found[name] = {one: validated(kind.spec, spec, f"{key}.{one}") for one, spec in given.items()}
        return found

    def _all_runs(self) -> dict[tuple[str, str, str], Run]:
        runs: dict[tuple[str, str, str], Run] = {}
        self._places: dict[tuple[str, str], str] = {}
        for name in problem.problem_names():
            section = self._chosen(name, self.config.problem(name))
            for run in itertools.chain(self._runs_of(name, section), self._rival_runs(name, section)):
                runs[run.problem, run.graph, run.variant] = run
                if len(runs) > MAX_RUNS:
                    raise self._error(f"more than {MAX_RUNS:,} runs; take out graphs or variants")
        self._check_rivals_names(runs.values())
        return runs

    def _chosen(self, name: str, section: Problem) -> Problem:
        """Return the section of problem `name` with the entries that its `only` names."""
        if section.only is None:
            return section
        entered, rivals = section.variants, section.rivals or {}
        solvers, able = variants.solver_names(name), self._rivals_for(name)
        entries = [one for one, given in {**entered, **rivals}.items() if given is not False]
        for one in section.only:
            known = dict.fromkeys([*entries, *solvers, *able])
            self._check_known(one, known, f"{name}.only", f"variant or rival of {name}")
        theirs = [one for one in section.only if rivals.get(one) or (one in able and not entered.get(one))]
        ours = [one for one in section.only if one not in theirs]
        chosen = {
            "variants": {one: entered.get(one) or None for one in ours},
            "rivals": {one: rivals.get(one) or None for one in theirs},
        }
        return section.model_copy(update=chosen)

    def _take_name(self, name: str, point: Point) -> None:
        """Note where a variant or rival of problem `name` gets its name; UserError if it is taken."""
        if taken := self._places.get((name, point.name)):
            raise self._error(
                f"{point.place}: the name would be {point.name!r}, the name of {taken}; "
                "rename one or leave one out"
            )
        self._places[name, point.name] = point.place

    def _check_rivals_names(self, runs: Iterable[Run]) -> None:
        """Raise UserError if a rival of one problem has the name of another's variant.

        The workflow tells the jobs of rivals from those of variants by their names.
        """
        first: dict[str, Run] = {}
        for run in runs:
            other = first.setdefault(run.variant, run)
            if isinstance(run, RivalRun) is not isinstance(other, RivalRun):
                place, taken = (self._places[one.problem, one.variant] for one in (run, other))
                raise self._error(
                    f"{place}: the name would be {run.variant!r}, the name of {taken}; a "
                    "variant and a rival may not share one; rename one or leave one out"
                )

    def rounds(self, run: Run) -> list[int]:
        """Return the numbers of the rounds in which a run is measured.

        An emulated variant has one, since its times mean nothing, unless the configuration asks for more. If
        it is emulated although a GPU may be there, its further rounds are left empty (`race/jobs.py`).
        """
        return [*range(1, run.timing.processes(emulated=self._is_emulated(run)) + 1)]

    def is_timed(self, run: Run) -> bool:
        """Return whether the times of a run mean anything, so that it must have the machine to itself.

        Those of an emulated variant do not, unless the configuration asks for a number of rounds.
        """
        return run.timing.rounds is not None or not self._is_emulated(run)

    def _is_emulated(self, run: Run) -> bool:
        if isinstance(run, RivalRun) or not self.emulates:
            return False
        return variants.load_solver(run.problem, run.solver).Solver.runs_on != "cpu"

    @property
    def processes(self) -> list[tuple[Run, int]]:
        """Every run with each of its rounds in the order of measurement.

        A B C, then C B A. A third round begins with another run, so that none always comes first: B C A, then
        A C B, and so on.
        """
        asked = [(run, len(self.rounds(run))) for run in self.runs.values()]
        found: list[tuple[Run, int]] = []
        for number in range(1, max((rounds for _, rounds in asked), default=0) + 1):
            runs = _rotated([run for run, rounds in asked if rounds >= number], (number - 1) // 2)
            found += [(run, number) for run in (runs if number % 2 else reversed(runs))]
        return found

    def _all_distributed_runs(self) -> dict[str, DistributedRun]:
        runs: dict[str, DistributedRun] = {}
        for name, series in self.config.distributed.items():
            for run in self._distributed_runs(name, series) if series else ():
                if run.name in runs:
                    raise self._error(f"distributed.{name}: another run is called {run.name!r}; rename one")
                if flaw := repetition(run.name):
                    key = f"{self.origin}: distributed.{name}"
                    raise UserError(f"{key}: the name {quoted(run.name)} {flaw}; rename it")
                runs[run.name] = run
        return runs

    def _check_studies(self) -> None:
        owners = PROBLEM_OF_STUDY | ({"all_pairs": "bfs"} if self.config.all_pairs.hops else {})
        for study, owner in owners.items():
            known = [name for name in self.config.problem(owner).graphs if not self.datasets[name].is_batch]
            for graph in getattr(self.config, study).graphs:
                self._check_known(graph, known, f"{study}.graphs", f"graph of {owner}.graphs")
        for name in self.config.retained.variants:
            known = variants.solver_names("dominators")
            self._check_known(name, known, "retained.variants", "solver of dominators")
        for owner, key in TRAFFIC.items():
            for name in getattr(self.config.traffic, key):
                known = variants.solver_names(owner)
                self._check_known(name, known, f"traffic.{key}", f"solver of {owner}")
                if self.config.traffic.graphs:  # it has the default parameters there
                    model = variants.load_solver(owner, name).Parameters
                    validated(model, {}, self.origin, f"traffic.{key}.{name}")

    def _check_maps(self) -> None:
        for graph in self.config.report.maps:
            self._check_dataset(graph, "report.maps")
            if not self.datasets[graph].has_coordinates:
                raise self._error(f"report.maps: graph {graph!r} has no coordinates; leave out its map")

    @property
    def user_files(self) -> list[str]:
        """The files and folders of the user that runs depend on, but for those that the workflow makes."""
        data = [path for entry in self.datasets.values() for path in entry.paths.values()]
        own = [path for path in data if Path(path).parts[:1] != ("results",)]
        return [*self.config.kernels, *self.config.rivals, *own]

    def check_files(self) -> None:
        """Raise UserError if a file that a dataset, a query set or `report.base` names cannot be read.

        Snakemake computes checksums of input files, and ends the whole run at one that it may not read.
        """
        needed = [run.graph for run in self.runs.values()]
        needed += [run.graph for run in self.distributed.values() if run.graph]
        for name in needed:  # grows by the graphs that others are extracted from
            dataset = self.datasets[name]
            for key, path in dataset.paths.items():
                # The workflow may make files below results/.
                if Path(path).parts[:1] != ("results",) or os.path.isfile(path):  # noqa: PTH113 (never raises)
                    self._check_file(f"datasets.{name}.{key}", path)
            if dataset.extracted_from:
                needed.append(dataset.extracted_from)
        for name, sets in self.queries.items():
            for one, spec in sets.items():
                file = getattr(spec, "file", None)
                if file:
                    self._check_file(f"{name}.queries.{one}.file", file)
        base = self.config.report.base
        if base and not os.path.exists(base):  # noqa: PTH110 (never raises)
            raise self._error(f"report.base: {quoted(base)} is neither a bundle nor a folder")
        if base and os.path.isfile(base) and not zipfile.is_zipfile(base):  # noqa: PTH113 (never raises)
            raise self._error(f"report.base: {quoted(base)} is not a bundle")

    def _check_file(self, key: str, path: str) -> None:
        if not os.path.isfile(path):  # noqa: PTH113 (never raises)
            raise self._error(f"{key}: {quoted(path)} is not a file")
        if not os.access(path, os.R_OK):
            raise self._error(f"{key}: {quoted(path)} is not readable (Permission denied)")

    @property
    def draws(self) -> int:
        """Number of query sets that are drawn per name, as many as sources."""
        sources = self.config.timing.sources
        return sources if isinstance(sources, int) else len(sources)

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
            self._check_dataset(graph, f"{name}.graphs")
            if self.datasets[graph].is_batch and not takes_batches:
                raise self._error(f"{name}.graphs: {graph!r} is a batch; {name} runs on one graph")
        for variant, given in section.variants.items():
            if given is False:
                continue
            spec = given or Variant()
            key = f"{name}.variants.{variant}"
            solver = spec.solver or variant
            self._check_known(solver, variants.solver_names(name), key, "solver")
            graphs = self._graphs_of(spec, section, name, key)
            model = variants.load_solver(name, solver).Parameters
            takes = getattr(variants.load_solver(name, solver).Solver, "takes", "graph")
            graphs = self._suitable_graphs(graphs, takes, spec, key, solver)
            timing = self._timing(spec.timing, key)
            check_keys(spec.model_extra or {}, (Variant, model), self.origin, key)
            for point in expand(variant, spec.model_extra or {}, self.origin, key):
                self._take_name(name, point)
                validated(model, point.parameters, self.origin, key)
                shared: dict[str, Any] = {"problem": name, "variant": point.name, "solver": solver}
                shared |= {"parameters": point.parameters, "timing": timing, "cost": self.config.cost}
                for graph in graphs:
                    yield Run(graph=graph, **shared)

    def _graphs_of(self, spec: Variant | RivalEntry, section: Problem, name: str, key: str) -> list[str]:
        for graph in spec.graphs or []:
            self._check_known(graph, section.graphs, f"{key}.graphs", f"graph of {name}.graphs")
        for graph in spec.not_on:
            self._check_dataset(graph, f"{key}.not_on")
        left = [graph for graph in spec.graphs or section.graphs if graph not in spec.not_on]
        if spec.graphs and not left:
            raise self._error(f"{key}: not_on leaves none of its graphs; leave out one of the two keys")
        return left

    def _suitable_graphs(
        self, graphs: list[str], takes: str, spec: Variant | RivalEntry, key: str, solver: str
    ) -> list[str]:
        """Return those of an entry's graphs that it `takes`; UserError if it names one that it does not."""
        kinds = {graph: "batch" if self.datasets[graph].is_batch else "graph" for graph in graphs}
        for graph in graphs if spec.graphs else ():
            if takes not in ("either", kinds[graph]):
                raise self._error(
                    f"{key}.graphs: {graph!r} is a {kinds[graph]}; {solver} takes "
                    f"{'batches' if takes == 'batch' else 'single graphs'} only"
                )
        return [graph for graph in graphs if takes in ("either", kinds[graph])]

    def _traffic_rivals(self) -> Iterable[RivalRun]:
        """Yield the runs of the rivals of `traffic`; UserError if one cannot take new weights."""
        study = self.config.traffic
        self._places |= {("traffic", name): f"traffic.variants: {name}" for name in study.variants}
        for entry, given in (study.rivals or {}).items():
            if given is False:
                continue
            spec, key = given or RivalEntry(), f"{self.origin}: traffic.rivals.{entry}"
            rival = self.rivals.get(spec.rival or entry)
            solves = rival.definition.problems.get("sssp") if rival else None
            if rival and solves and not solves.customizes:
                raise UserError(
                    f"{key}: {rival.name} cannot take new weights: its rival.yaml has no `customizes: true`"
                )
            if spec.tune:
                raise UserError(f"{key}.tune: nothing is tuned in this study; give the values themselves")
            if others := spec.timing.model_dump(exclude_none=True).keys() - {"timeout_s"}:
                raise UserError(f"{key}.timing.{min(others)}: leave it out; timeout_s is the only key here")
        section = Problem(graphs=study.graphs, rivals=study.rivals)
        yield from self._rival_runs("sssp", section, "traffic")

    def _rival_runs(self, name: str, section: Problem, where: str | None = None) -> Iterable[RivalRun]:
        """Yield the runs of a section's rivals that solve problem `name`; `where` is the section's key."""
        where = where or name
        for entry, given in (section.rivals or {}).items():
            if given is False:
                continue
            spec = given or RivalEntry()
            key = f"{where}.rivals.{entry}"
            rival = spec.rival or entry
            able = self._rivals_for(name)
            if rival in self.rivals and rival not in able:
                solved = " and ".join(self.rivals[rival].definition.problems)
                raise self._error(f"{key}: rival {rival!r} solves {solved}, not {name}")
            self._check_known(
                rival, able, key, f"rival for {name}", "name the folder of one of yours in `rivals`"
            )
            definition = able[rival].definition
            graphs = self._graphs_of(spec, section, where, key)
            graphs = self._suitable_graphs(graphs, definition.problems[name].takes, spec, key, rival)
            timing = self._timing(spec.timing, key)
            self._check_parameters(spec, able[rival], key)
            for point in expand(entry, spec.model_extra or {}, self.origin, key):
                self._take_name(where, point)
                shared: dict[str, Any] = {"problem": name, "variant": point.name, "solver": rival}
                shared |= {"parameters": point.parameters, "timing": timing, "kind": definition.class_}
                shared |= {"command": spec.command, "threads": spec.threads, "tune": spec.tune}
                yield from (RivalRun(graph=graph, **shared) for graph in graphs)

    def _rivals_for(self, name: str) -> dict[str, Rival]:
        return {one: known for one, known in self.rivals.items() if name in known.definition.problems}

    def _check_parameters(self, spec: RivalEntry, rival: Rival, key: str) -> None:
        """Raise UserError if a rival does not take the parameters of its entry; `key` is the entry's."""
        definition, given = rival.definition, spec.model_extra or {}
        if spec.threads is not None and definition.class_ != "cpu-all":
            where = "one core" if definition.class_ == "cpu-1" else "a GPU"
            raise self._error(f"{key}.threads: {rival.name} runs on {where}; leave it out")
        for parameter in given:
            known = [*definition.parameters, *RivalEntry.model_fields]
            self._check_known(parameter, known, key, f"key or parameter of {rival.name}")
        for parameter in spec.tune:
            self._check_known(parameter, definition.parameters, f"{key}.tune", f"parameter of {rival.name}")
        for parameter in given.keys() & spec.tune.keys():
            raise self._error(f"{key}.tune.{parameter}: {key}.{parameter} is given too; leave out one")
        count = math.prod(map(len, spec.tune.values()))
        if count > MAX_COMBINATIONS:
            raise self._error(f"{key}.tune: {count} combinations of values, at most {MAX_COMBINATIONS}")
        swept = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
        tried = {f"tune.{name}": values for name, values in spec.tune.items()}
        for place, values in (swept | tried).items():
            wanted = definition.parameters[place.removeprefix("tune.")]
            for value in values:
                if flaw := wanted.flaw(value):
                    raise self._error(f"{key}.{place}: {shown(value)} is invalid: {flaw}")

    def _distributed_runs(self, name: str, series: Series) -> Iterable[DistributedRun]:
        # Few configurations have one, and every engine reads its kernels when it is imported.
        from relaxometer.distributed.engines import ENGINES

        key = f"distributed.{name}"
        self._check_graph_of(series, key)
        engines = ENGINES[series.problem]
        engine = series.engine or next(iter(engines))
        self._check_known(engine, engines, f"{key}.engine", f"engine of {series.problem}")
        parameters = series.model_extra or {}
        check_keys(parameters, (Series, engines[engine].parameters), self.origin, key)
        validated(engines[engine].parameters, parameters, self.origin, key)
        self._check_roots(series, key)
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

    def _check_graph_of(self, series: Series, key: str) -> None:
        given = [what for what in ("graph", "scale", "scale_per_rank") if getattr(series, what) is not None]
        if len(given) != 1:
            raise self._error(
                f"{key}: one of graph, scale and scale_per_rank is needed, "
                f"given: {' and '.join(given) or 'none'}"
            )
        if series.graph is not None:
            self._check_dataset(series.graph, f"{key}.graph")
            if self.datasets[series.graph].is_batch:
                raise self._error(f"{key}.graph: {series.graph!r} is a batch; expected a graph")

    def _check_roots(self, series: Series, key: str) -> None:
        if series.graph is not None and "roots" in series.model_fields_set:
            self._check_drawn(series.roots, f"{key}.roots")
        if series.roots * self.config.timing.repetitions > MAX_SEARCHES:
            raise self._error(
                f"{key}.roots: {series.roots:,} roots and {self.config.timing.repetitions:,} "
                f"timing.repetitions are more than {MAX_SEARCHES:,} searches"
            )

    def _scale(self, series: Series, ranks: int, key: str) -> int | None:
        if series.scale_per_rank is None:
            return series.scale
        if ranks & (ranks - 1):
            raise self._error(f"{key}: with scale_per_rank, ranks are powers of two, given {ranks}")
        scale = series.scale_per_rank + ranks.bit_length() - 1
        if scale > MAX_SCALE:
            raise self._error(f"{key}: {ranks} ranks have scale {scale}, at most {MAX_SCALE}")
        return scale

    def _scheme(self, series: Series, engine: Engine, ranks: int, key: str) -> str:
        try:
            return engine.scheme(series.scheme, ranks)
        except UserError as error:
            raise self._error(f"{key}: {error}") from None

    def _timing(self, override: TimingOverride, key: str) -> Timing:
        """Return the common timing with a variant's own values; `key` is the variant's."""
        given = override.model_dump(exclude_unset=True)
        own = {name: value for name, value in given.items() if value is not None or name in NULLABLE}
        common = self.config.timing
        if "sources" in own:
            self._check_drawn(own["sources"], f"{key}.timing.sources")
        if isinstance(common.sources, list) and "sources" in own:
            own["sources"] = common.sources[: own["sources"]]
        timing = common.model_copy(update=own)
        self._check_searches(timing, f"{key}.timing")
        return timing

    def _check_drawn(self, count: int, key: str) -> None:
        if count > self.draws:
            raise self._error(
                f"{key}: {count:,}, but timing.sources has {self.draws:,}; raise that or lower this"
            )

    def _check_searches(self, timing: Timing, key: str) -> None:
        sources = len(timing.sources) if isinstance(timing.sources, list) else timing.sources
        rounds = timing.processes(emulated=False)
        if sources * timing.passes * rounds > MAX_SEARCHES:
            raise self._error(
                f"{key}: {sources:,} sources and {timing.repetitions:,} repetitions in {rounds} rounds "
                f"are more than {MAX_SEARCHES:,} searches, all of whose samples a run keeps"
            )

    def _check_dataset(self, name: str, key: str) -> None:
        """Raise UserError, naming the nearest one or some, unless `name` is a dataset."""
        if name in self.datasets:
            return
        own = [*self.config.datasets]
        some = [*own, *(one for one in self.datasets if one not in own)][:MAX_KNOWN_DATASETS]
        hint = suggestion(name, list(self.datasets), f"known: {', '.join(some)}, ...;")
        raise self._error(
            f"{key}: unknown dataset {name!r}{hint} all: docs/graphs.md; or define it under `datasets`"
        )

    def _error(self, message: str) -> UserError:
        return UserError(f"{self.origin}: {message}")

    def _check_known(self, name: str, known: Iterable[str], key: str, what: str, advice: str = "") -> None:
        """Raise UserError, naming the nearest one, unless `name` is among `known`."""
        names = list(known)
        if name in names:
            return
        hint = suggestion(name, names) or ";"
        some = ", ".join(names[:MAX_KNOWN]) or "none"
        more = f" and {len(names) - MAX_KNOWN} more" if len(names) > MAX_KNOWN else ""
        end = f"; or {advice}" if advice else ""
        raise self._error(f"{key}: unknown {what} {name!r}{hint} known: {some}{more}{end}")


def _rotated(runs: list[Run], places: int) -> list[Run]:
    """Rotate the runs on each graph by some places."""
    groups: dict[tuple[str, str], deque[Run]] = defaultdict(deque)
    for run in runs:
        groups[run.problem, run.graph].append(run)
    for group in groups.values():
        group.rotate(-places)
    return [groups[run.problem, run.graph].popleft() for run in runs]
