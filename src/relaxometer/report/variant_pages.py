"""HTML pages of variants and rivals: what each is, its times and phases, and where it loses."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from relaxometer.core.checkout import PACKAGE, ROOT
from relaxometer.core.docstrings import described
from relaxometer.core.provenance import code_hash
from relaxometer.problems.variants import load_solver
from relaxometer.report.figures.names import label, rounded, whole
from relaxometer.report.pages import data_table, table, table_script
from relaxometer.report.targets import is_swept
from relaxometer.report.templates import render
from relaxometer.results.races import relative_times
from relaxometer.results.readable import number_text
from relaxometer.results.samples import EMULATED

if TYPE_CHECKING:
    from pydantic import BaseModel

    from relaxometer.plan.plan import Plan


SMALL = 0.1  # phases that update at most this share of the peak are small
EMULATED_ONLY = "It ran on the emulated device only, whose times are compared with no others."
HASHED = "(of this variant and of all that runs and proves it, as in a bundle's manifest)"
NOWHERE = "Nowhere: it is the fastest on every graph on which it finished in real time."
OTHER_VALUES = "Other values that it reports:"
REPORTED = re.compile(r"Reported as `(\w+)`")
"""In the description of a parameter whose value in force has another name and unit."""

UNFINISHED = "It did not finish on any graph in real time with every answer proven correct."


def programs(plan: Plan) -> list[dict[str, Any]]:
    """Return what the page of each variant and rival needs of the plan, without points of curves.

    ``parameters`` are as configured, and ``folders`` those of its runs. ``about`` describes it,
    its ``documented`` parameters, and ``lines`` of names and values, such as the hash of its code if that is
    outside the package, so that no commit names it.
    """
    hidden = {run.variant for run in plan.runs.values() if is_swept(plan, run)}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for run in plan.runs.values():
        if run.variant in hidden:
            continue
        is_rival = hasattr(run, "kind")
        one = found.setdefault(
            (run.problem, run.variant),
            {
                "problem": run.problem,
                "variant": run.variant,
                "parameters": {name: str(value) for name, value in run.parameters.items()},
                "about": _of_rival(plan, run.solver) if is_rival else _of_variant(run.problem, run.solver),
                "folders": [],
            },
        )
        one["folders"].append(run.folder())
    return list(found.values())


def path(program: Mapping[str, Any]) -> str:
    """Return the file of a program's page."""
    return f"results/pages/variants/{program['problem']}-{program['variant']}.html"


def _of_rival(plan: Plan, name: str) -> dict[str, Any]:
    one = plan.rivals[name].definition
    lines = {"Program": one.title, "Home": one.url, "Licence": one.licence, "Citation": one.citation}
    return {"said": [], "documented": {}, "lines": {**lines, "Its preparation": one.prepares}}


def _of_variant(problem: str, solver: str) -> dict[str, Any]:
    module = load_solver(problem, solver)
    file = Path(module.__file__)
    first, more = (inspect.cleandoc(one.__doc__ or "") for one in (module, module.Solver))
    said = dict.fromkeys(text.split("\n\n")[0] for text in (first, more))
    references = re.search(r"References\n-+\n(.*?)(\n\n|\Z)", more, re.DOTALL)
    lines = {"Source": references[1] if references else ""}
    lines["Program"] = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else os.path.relpath(file)
    if file.with_suffix(".cu").is_file():
        lines["Kernels"] = str(Path(lines["Program"]).with_suffix(".cu"))
    if not file.is_relative_to(PACKAGE):
        # As in the manifest of a bundle; a run with another hash is out of date.
        code = code_hash("race.variant", module.__name__.removeprefix("relaxometer."))
        lines["Hash of the code"] = f"`{code}` {HASHED}"
    return {"said": [*filter(None, said)], "documented": _documented(module.Parameters), "lines": lines}


def _documented(model: type[BaseModel]) -> dict[str, tuple[str, str]]:
    """Return the default and the description of each parameter that has one."""
    found = described(model)
    shown = {name: field for name, field in model.model_fields.items() if name in found}
    defaults = {
        name: "" if field.is_required() else str(field.get_default(call_default_factory=True))
        for name, field in shown.items()
    }
    return {name: (default, found[name].meaning) for name, default in defaults.items()}


def variant_page(
    program: Mapping[str, Any], lines: pd.DataFrame, timings: pd.DataFrame, phases: pd.DataFrame
) -> str:
    """Return the page of a variant or a rival, which is one of :func:`programs`.

    `lines` are the rows of the ranked table of its problem
    (:func:`relaxometer.report.figures.summary.ranked_table`), `timings` the gathered searches of its problem,
    and `phases` its gathered phases.
    """
    ours = timings[timings["variant"] == program["variant"]]
    about, name = program["about"], program["variant"]
    times = lines.drop(columns=["Problem", "Variant"]).sort_values("Graph", kind="stable")
    times = times.loc[:, [bool((times[column].astype(str) != "").any()) for column in times]]
    return render(
        "variant",
        title=f"{name} ({label(program['problem'])})",
        said=about["said"],
        lines=table((key, value) for key, value in about["lines"].items() if value),
        times=data_table(times, f"{name}-times"),
        losses=_losses(name, timings),
        parameters=_parameters(program["parameters"], about["documented"], ours),
        phases=_phases(phases),
        script=table_script(),
    )


def _parameters(
    given: Mapping[str, str], documented: Mapping[str, tuple[str, str]], ours: pd.DataFrame
) -> str:
    """Return a table of the parameters, and one of the other values that the program reports."""
    used = {
        column.removeprefix("parameter_"): _in_force(ours, column)
        for column in map(str, ours)
        if column.startswith("parameter_") and ours[column].notna().any()
    }
    derived = {name: value for name, value in used.items() if name not in documented and name not in given}
    rows = []
    for name in dict.fromkeys([*given, *documented]):
        default, meaning = documented.get(name, ("", ""))
        configured = given.get(name) or (f"{default} (default)" if default else "default")
        renamed = REPORTED.search(meaning)
        under = renamed[1] if renamed and renamed[1] in derived else ""
        in_force = f"`{under}`: {derived[under]}" if under else used.get(name, "")
        rows.append((name, configured, in_force, meaning))
    parts = [table(rows, ("Parameter", "Configured", "In force", "Meaning"))] if rows else ["<p>None.</p>"]
    if derived:
        parts += [f'<p class="note">{OTHER_VALUES}</p>', table(derived.items(), ("Name", "Value"))]
    return "\n".join(parts)


def _in_force(ours: pd.DataFrame, column: str) -> str:
    """Return the values of a parameter, each with its graphs if they differ between graphs."""
    known = ours.dropna(subset=[column])
    shown = known[column].map(lambda value: number_text(value) if isinstance(value, float) else str(value))
    graphs = known.groupby(shown, sort=False)["graph"].unique()
    if len(graphs) == 1:
        return str(graphs.index[0])
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in graphs.items())


def _losses(variant: str, timings: pd.DataFrame) -> str:
    """Return a table of the graphs on which another program is faster, the clearest loss first."""
    ours = timings[timings["variant"] == variant]
    if len(ours) and (ours["device_kind"] == EMULATED).all():
        return f"<p>{EMULATED_ONLY}</p>"
    times = relative_times(timings)
    mine = times[times["variant"] == variant]
    if mine.empty:
        return f"<p>{UNFINISHED}</p>"
    best = times.loc[times.groupby("graph")["ratio"].idxmin()].set_index("graph")
    slower = mine[mine["ratio"] > 1].sort_values("ratio", ascending=False)
    rows = []
    for graph, ratio, time_ms in slower[["graph", "ratio", "time_ms"]].itertuples(index=False):
        against = f"{rounded(time_ms)} ms against {rounded(best.loc[graph, 'time_ms'])} ms"
        rows.append((graph, f"{rounded(ratio)} times as slow", best.loc[graph, "variant"], against))
    if not rows:
        return f"<p>{NOWHERE}</p>"
    note = (
        f'<p class="note">It is slower than the fastest on {len(rows)} of {len(mine)} graphs. Medians over '
        "the sources that all finishers share; the ranks above show which differences are significant.</p>"
    )
    return note + table(rows, ("Graph", "Loss", "Fastest", "Medians"))


def _phases(phases: pd.DataFrame) -> str:
    """Return a table of the phases on each graph, from the instrumented run of its first source."""
    if not phases["time_ms"].sum():
        return "<p>It counts none.</p>"
    rows = []
    for graph, of_graph in phases.groupby("graph", sort=False):
        one = of_graph[of_graph["source"].fillna(-1) == of_graph["source"].fillna(-1).iloc[0]]
        small = one["updated"] <= SMALL * one["updated"].max()
        total = one["time_ms"].sum()
        times = [rounded(ms * 1e3) for ms in (one["time_ms"].median(), one["time_ms"].max())]
        share = f"{one.loc[small, 'time_ms'].sum() / total:.0%}" if total else ""
        counts = whole(one["updated"].max()), f"{small.mean():.0%}"
        rows.append((str(graph), whole(len(one)), *times, *counts, share))
    note = (
        '<p class="note">One instrumented search per graph, which is never timed as a whole. Small phases '
        "update at most a tenth of the peak.</p>"
    )
    head = ["Graph", "Phases", "Median phase [µs]", "Longest [µs]", "Most updated vertices"]
    head += ["Small phases", "Their share of the time"]
    return f'{note}<div class="wide">{table(rows, head)}</div>'
