"""The figures and tables of the report, each described by one record.

A record names its inputs, the function that draws it, and the plans that want it. The modules of
:mod:`relaxometer.report.papers` and :mod:`relaxometer.report.figures` keep their records in ``EXHIBITS``.
``workflow/rules/figures.smk`` makes a rule of each :class:`Drawing`, which ``draw_figure.py`` runs.

In all these modules ``timings`` is the table of gathered searches (:class:`Inputs`), ``phases`` that of the
proven runs' phases, ``graph`` the name of a graph, and ``graphs`` the contents of ``graph.json`` files.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from relaxometer.core.checkout import ROOT
from relaxometer.core.files import read_frame, read_json, write_csv, write_text
from relaxometer.graphs.files import read_description
from relaxometer.report import pages
from relaxometer.report.figures import style
from relaxometer.report.figures.names import label
from relaxometer.report.targets import crowded, graphs_of
from relaxometer.results.gather import gather
from relaxometer.results.processes import with_processes
from relaxometer.results.samples import proven

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

TIMINGS = "results/timings.parquet"
CAPTIONS = ROOT / "workflow/report"  # the captions of the report, by paper

SUMMARY, VARIANTS, GRAPHS, PROVENANCE = "Summary", "Variants", "Graphs", "Provenance"
"""Chapters of every report; between the first two there is one for each problem."""

KINDS = {"csv": "tables", "html": "pages"}
"""Folder of the files of a suffix, if it is not that of the figures."""

PAGE = "-page"  # ends the name of a table's page among the outputs of a rule

Content: TypeAlias = "Figure | pd.DataFrame | str"
Files = Mapping[str, str | list[str]]  # input files by what they hold; Inputs reads them


SUMMARISED = {"summary": "results/summary.csv", "timings": TIMINGS}
"""The inputs of exhibits that show why a run has no time, too."""

MACHINE = "results/tables/common/machine.csv"

GATHERED = frozenset({*SUMMARISED.values(), MACHINE})
"""Files about all runs, of which one table is made after the other."""


def metadata(graphs: Sequence[str]) -> list[str]:
    """Return the ``graph.json`` files of some graphs."""
    return [f"results/graphs/{graph}/graph.json" for graph in graphs]


def phase_files(runs: Sequence[Run]) -> Files:
    """Return the gathered searches, and the phases of some runs."""
    return {"timings": TIMINGS, "phases": [f"{run.folder()}/phases.parquet" for run in runs]}


def with_graphs(graphs: Sequence[str]) -> Files:
    """Return the gathered searches, and the ``graph.json`` files of some graphs."""
    return {"timings": TIMINGS, "graphs": metadata(graphs)}


def with_rate(graphs: Sequence[str]) -> Files:
    """Return the inputs of a table of bandwidths: also the rate of a copy."""
    return {**with_graphs(graphs), "rate": "results/device_rates.json"}


class Inputs:
    """The contents of an exhibit's input files, each read when it is first used.

    `params` is what the record's ``params`` returned; `graph` is empty for exhibits over all graphs.
    """

    def __init__(self, files: Files, params: Mapping[str, Any], graph: str = "") -> None:
        self._files, self.params, self.graph = files, params, graph
        self._kept: dict[str, pd.DataFrame] = {}

    def given(self, params: Mapping[str, Any]) -> Inputs:
        """Return the same inputs with other parameters; tables are not read again."""
        other = copy(self)
        other.params = params
        return other

    def files(self, key: str) -> list[Path]:
        """Return the input files of a key."""
        found = self._files.get(key, [])
        return [Path(file) for file in ([found] if isinstance(found, str) else found)]

    def table(self, key: str) -> pd.DataFrame:
        """Return the rows of all Parquet or CSV files of a key."""
        options: dict[str, dict[str, Any]] = {".csv": {"dtype": {"version": str}}}
        tables = [read_frame(file, **options.get(file.suffix, {})) for file in self.files(key)]
        return pd.concat(tables, ignore_index=True)

    def contents(self, key: str) -> list[dict[str, Any]]:
        """Return the contents of the JSON files of a key."""
        files = self.files(key)
        return [read_description(one) if one.name == "graph.json" else read_json(one) for one in files]

    @property
    def timings(self) -> pd.DataFrame:
        """The gathered searches of all runs, with what is estimated over all of them."""
        if "timings" not in self._kept:
            self._kept["timings"] = with_processes(self.table("timings"))
        return self._kept["timings"]

    def searches(self, problem: str = "", *, variants: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the gathered searches of a problem and variants on the exhibit's graph.

        By default those of all problems and variants, except the points of curves that others draw
        (:func:`without_curves`).
        """
        rows = self.timings
        if self.graph:
            rows = rows[rows["graph"] == self.graph]
        if problem:
            rows = rows[rows["problem"] == problem]
        if variants is not None:
            rows = rows[rows["variant"].isin(list(variants))]
        return self._shown(rows)

    def summary(self) -> pd.DataFrame:
        """Return the lines of ``summary.csv`` without the variants that the exhibit leaves out."""
        return self._shown(self.table("summary"))

    def _shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        return rows[~rows["variant"].isin(list(self.params.get("swept", ())))]

    def proven_phases(self) -> pd.DataFrame:
        """Return the gathered phases of the runs that were proven correct."""
        folders = [file.parent for file in self.files("phases")]
        return proven(gather(folders, "phases.parquet").to_pandas(), self.timings)


@dataclass(frozen=True)
class View:
    """One figure or table of an exhibit: a file, and how the report shows it."""

    name: str
    """Of the file, and of its caption in ``workflow/report`` unless `caption` is given."""
    category: str = ""
    """Chapter of the report, without its number; a view without one is for the landing page. In a chapter, a
    table is a page that sorts and filters."""
    figure: str = ""
    view: str = ""
    graph: str = ""
    """Columns of the report's list of results; `graph` is by default the one that is drawn, or "all"."""
    caption: str = ""
    suffix: str = "svg"
    """A table may be drawn for an "html" view too: the report then has its page, and no CSV file is kept."""
    labels: Mapping[str, str] | None = None
    """All columns, in place of `graph`, `figure` and `view`."""

    @property
    def title(self) -> str:
        """The heading of a table's page."""
        said = ", ".join(self.labels.values()) if self.labels else f"{self.figure}: {self.view}"
        return said[:1].upper() + said[1:]


def table_view(name: str, category: str, figure: str, view: str, **options: Any) -> View:
    """Return a :class:`View` of a table."""
    return View(name, category, figure, view, suffix="csv", **options)


class Output(NamedTuple):
    """A file of an exhibit; `shown` is the view that the report shows by this file, if it shows it."""

    path: str
    shown: View | None


@dataclass(frozen=True)
class Exhibit:
    """A record of the catalogue: figures and tables drawn from the same inputs in one job."""

    name: str
    """Unique in the catalogue."""
    draw: Callable[[Inputs], Content | Mapping[str, Content]]
    """Returns a figure or table, or for several views a mapping of these by the views' names."""
    views: tuple[View, ...]
    inputs: Callable[[Plan, str], Files] = lambda *_: {"timings": TIMINGS}
    """Returns the input files for a plan and a graph, which is empty for exhibits over all graphs; the
    gathered searches by default."""
    wanted: Callable[[Plan], Any] = lambda _: True
    """Returns whether a plan wants the exhibit or, if it is drawn for each graph, for which graphs. A list of
    graphs means both."""
    per_graph: bool = False
    params: Callable[[Plan, str], dict[str, Any]] = lambda *_: {}
    """Returns further arguments for a plan and a graph; the job is repeated when they change."""
    points: Callable[[Plan], Sequence[str]] = lambda _: ()
    """Returns the variants that the exhibit draws as points of a curve, so that others leave them out."""

    @property
    def module(self) -> str:
        """The module of the record, below the package."""
        return self.draw.__module__.removeprefix("relaxometer.")

    @property
    def paper(self) -> str:
        """The paper that the record belongs to, or "common"."""
        folder, _, name = self.module.rpartition(".")
        return name.replace("_", "-") if folder == "report.papers" else "common"

    def path(self, view: View) -> str:
        """Return the file of a view, with the wildcard ``{graph}`` if there is one for each graph."""
        return self._file(KINDS.get(view.suffix, "figures"), view.name, view.suffix)

    def _file(self, kind: str, name: str, suffix: str) -> str:
        graph = "/{graph}" if self.per_graph else ""
        return f"results/{kind}/{self.paper}/{name}{graph}.{suffix}"

    def outputs(self) -> dict[str, Output]:
        """Return all files by their names in the rule: one per view, and a page per table of a chapter."""
        found = {}
        for view in self.views:
            is_table = view.suffix == "csv"
            found[view.name] = Output(self.path(view), view if view.category and not is_table else None)
            if view.category and is_table:
                found[f"{view.name}{PAGE}"] = Output(self._file("pages", view.name, "html"), view)
        return found

    def caption(self, view: View) -> str:
        """Return a view's caption, below ``workflow/report``."""
        return f"{self.paper}/{view.caption or view.name}.rst"

    def labels(self, view: View) -> dict[str, str]:
        """Return the columns of a view in the report's list of results."""
        graph = view.graph or ("{graph}" if self.per_graph else "all")
        return dict(view.labels or {"graph": graph, "figure": view.figure, "view": view.view})

    def targets(self, plan: Plan) -> list[str]:
        """Return the files that a plan wants of this exhibit."""
        wanted = self.wanted(plan)
        graphs = wanted if self.per_graph else [""] if wanted else []
        return [one.path.format(graph=graph) for graph in graphs for one in self.outputs().values()]

    def save(self, inputs: Inputs, outputs: Mapping[str, str]) -> None:
        """Draw all views and write each to its files; `outputs` are these by the names of :meth:`outputs`."""
        drawn = self.draw(inputs)
        contents = drawn if isinstance(drawn, Mapping) else {self.views[0].name: drawn}
        for name, file in outputs.items():
            view = self.outputs()[name].shown
            content = contents[name.removesuffix(PAGE)]
            if isinstance(content, str):
                write_text(content, Path(file))
            elif not isinstance(content, pd.DataFrame):
                style.save(content, file)
            elif view:
                write_text(self._table_page(view, content, inputs.graph), Path(file))
            else:
                write_csv(content, Path(file))

    def _table_page(self, view: View, rows: pd.DataFrame, graph: str) -> str:
        note = pages.from_caption((CAPTIONS / self.caption(view)).read_text(encoding="utf-8"))
        title = f"{view.title}, {graph}" if graph else view.title
        return pages.table_page(title, note, rows, view.name)


@dataclass(frozen=True)
class Drawing:
    """Exhibits that one job draws; its rule is ``plot_`` and the name."""

    name: str
    exhibits: tuple[Exhibit, ...]

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return "plot_" + self.name.replace("-", "_")

    @property
    def log(self) -> str:
        """The log file of the jobs."""
        return f"logs/figures/{self.name}" + ("/{graph}.log" if self.exhibits[0].per_graph else ".log")

    @property
    def modules(self) -> dict[str, str]:
        """The module of each exhibit by its name."""
        return {one.name: one.module for one in self.exhibits}

    def outputs(self) -> list[tuple[Exhibit, str, Output]]:
        """Return each file with its exhibit and its name in the rule."""
        return [(one, name, file) for one in self.exhibits for name, file in one.outputs().items()]

    def inputs(self, plan: Plan, graph: str) -> dict[str, str | list[str]]:
        """Return the input files for a plan and a graph."""
        return {key: file for one in self.exhibits for key, file in one.inputs(plan, graph).items()}

    def params(self, plan: Plan, graph: str) -> dict[str, dict[str, Any]]:
        """Return the further arguments of each exhibit by its name."""
        return {one.name: one.params(plan, graph) for one in self.exhibits}


def drawings(plan: Plan) -> list[Drawing]:
    """Return the jobs that draw all exhibits, also those that the plan does not want.

    Starting a job takes longer than drawing most figures. So one job draws all exhibits of a paper that the
    plan wants and that need only the tables of all runs.
    """
    wanted = {one.name for one in exhibits_of(plan) if not one.per_graph and one.targets(plan)}
    together: defaultdict[str, list[Exhibit]] = defaultdict(list)
    for one in exhibits().values():
        is_alone = one.name not in wanted or not GATHERED.issuperset(map(str, one.inputs(plan, "").values()))
        together[one.name if is_alone else f"{one.paper}-overview"].append(one)
    return [Drawing(name, tuple(group)) for name, group in together.items()]


@cache
def exhibits() -> dict[str, Exhibit]:
    """Return all records by name: those of no paper, then those of the papers."""
    return {
        name: record
        for package in ("figures", "papers")
        for module in sorted(one.name for one in pkgutil.iter_modules([Path(__file__).parent / package]))
        for name, record in exhibits_in(f"report.{package}.{module}").items()
    }


def exhibits_in(module: str) -> dict[str, Exhibit]:
    """Return the records of a module below the package: a job imports no other."""
    records = getattr(importlib.import_module(f"relaxometer.{module}"), "EXHIBITS", ())
    return {record.name: record for record in records}


def targets(plan: Plan) -> list[str]:
    """Return the figures and tables that a plan wants: those of its papers and those of no paper."""
    return [path for one in exhibits_of(plan) for path in one.targets(plan)]


def exhibits_of(plan: Plan) -> list[Exhibit]:
    """Return the records of a plan's papers and those of no paper."""
    chosen = {"common", *plan.config.report.papers}
    return [one for one in exhibits().values() if one.paper in chosen]


def runs_on(problem: str) -> Callable[[Plan], list[str]]:
    """Return a function that returns the graphs of a problem's runs: what most exhibits need to be wanted."""
    return lambda plan: graphs_of(plan, problem)


def without_curves(plan: Plan, _: str) -> dict[str, Any]:
    """Return the parameters of an exhibit that leaves out the points of curves; see :func:`swept`."""
    return {"swept": swept(plan)}


def swept(plan: Plan) -> list[str]:
    """Return the variants that tables and figures leave out, sorted.

    They are points of a curve that a paper of the plan draws, or of one of very many variants.
    """
    drawn = {variant for exhibit in exhibits_of(plan) for variant in exhibit.points(plan)}
    return sorted(drawn | crowded(plan))


def chapters(plan: Plan) -> dict[str, str]:
    """Return the chapters of a plan's report by their names, numbered without gaps: "SSSP" is "2. SSSP"."""
    problems = dict.fromkeys(run.problem for run in plan.runs.values())
    wanted = [one for one in exhibits_of(plan) if one.targets(plan)]
    drawn = {view.category for one in wanted for view in one.views if view.category}
    present = drawn | {SUMMARY, PROVENANCE} | ({VARIANTS} if plan.runs else set())
    present |= {GRAPHS} if plan.graphs or plan.batches else set()
    middle = [name for name in ("SSSP", "BFS", *map(label, problems)) if name in present]
    middle += sorted(present - {SUMMARY, *middle, VARIANTS, GRAPHS, PROVENANCE})
    order = [SUMMARY, *dict.fromkeys(middle)]
    order += [one for one in (VARIANTS, GRAPHS, PROVENANCE) if one in present]
    return {name: f"{number}. {name[:1].upper()}{name[1:]}" for number, name in enumerate(order, start=1)}
