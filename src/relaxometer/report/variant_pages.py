"""HTML pages of variants and rivals: what each is, its times and phases, and where it loses."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from relaxometer.core.checkout import PACKAGE, ROOT
from relaxometer.core.provenance import code_hash
from relaxometer.problems.variants import solver_modules
from relaxometer.report.figures.names import label
from relaxometer.report.figures.summary import rounded, whole
from relaxometer.report.pages import code, data_table, table, table_script
from relaxometer.report.targets import folder, is_swept
from relaxometer.report.templates import render
from relaxometer.results.races import relative_times
from relaxometer.results.readable import number_text
from relaxometer.results.samples import EMULATED

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan


SMALL = 0.1
"""Phases that update at most this share of the peak are small."""

EMULATED_ONLY = "It ran on the emulated device only, whose times are compared with no others."
HASHED = "(of this variant and of all that runs and proves it, as in a bundle's manifest)"
NOWHERE = "Nowhere: it is the fastest on every graph on which it finished in real time."
OTHER_VALUES = "Other values that it reports:"
REPORTED = re.compile(r"Reported as `(\w+)`")
"""In the description of a parameter whose value in force has another name and unit."""

UNFINISHED = "It did not finish on any graph in real time with every answer proven correct."


def programs(plan: Plan) -> list[dict[str, Any]]:
    """Return what the page of each variant and rival needs of the plan, without points of curves.

    Returns
    -------
    list of dict
        With the keys ``problem, variant, parameters`` (as configured), ``folders`` (of its runs) and
        ``about``: of a rival the lines of its definition, of a variant the ``file`` of its module, with the
        hash of its ``code`` if that is outside the package, so that no commit names it.
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
        one["folders"].append(folder(run))
    return list(found.values())


def path(program: Mapping[str, Any]) -> str:
    """Return the file of a program's page."""
    return f"results/pages/variants/{program['problem']}-{program['variant']}.html"


def _of_rival(plan: Plan, name: str) -> dict[str, str]:
    definition = plan.rivals[name].definition
    lines = {
        "Program": definition.title,
        "Home": definition.url,
        "Licence": definition.licence,
        "Citation": definition.citation,
        "Its preparation": definition.prepares,
    }
    return {key: value for key, value in lines.items() if value}


def _of_variant(problem: str, solver: str) -> dict[str, str]:
    module = solver_modules(problem)[solver]
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin, "a solver's module is a file"
    file = Path(spec.origin)
    about = {"file": str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else os.path.relpath(file)}
    if not file.is_relative_to(PACKAGE):
        # As in the manifest of a bundle; a run with another hash is out of date.
        about["code"] = code_hash("race.variant", module.removeprefix("relaxometer."))
    return about


def _file(name: str) -> Path:
    """Return a file of the repository, or else of the working directory."""
    inside = ROOT / name
    return inside if inside.is_file() else Path(name)


def variant_page(
    program: Mapping[str, Any], lines: pd.DataFrame, timings: pd.DataFrame, phases: pd.DataFrame
) -> str:
    """Return the page of a variant or a rival.

    Parameters
    ----------
    program : mapping
        One of :func:`programs`.
    lines : DataFrame of str
        The rows of the ranked table of its problem (:func:`relaxometer.report.figures.summary.ranked_table`).
    timings : DataFrame
        The gathered searches of its problem.
    phases : DataFrame
        Its gathered phases.
    """
    ours = timings[timings["variant"] == program["variant"]]
    head, documented = _about(program["about"])
    name = program["variant"]
    times = lines.drop(columns=["Problem", "Variant"]).sort_values("Graph", kind="stable")
    times = times.loc[:, [bool((times[column].astype(str) != "").any()) for column in times]]
    return render(
        "variant",
        title=f"{name} ({label(program['problem'])})",
        head=head,
        times=data_table(times, f"{name}-times"),
        losses=_losses(name, timings),
        parameters=_parameters(program["parameters"], documented, ours),
        phases=_phases(phases),
        script=table_script(),
    )


@dataclass(frozen=True)
class _Parameter:
    """Default and description of a parameter, from the source of its variant."""

    default: str
    meaning: str


def _about(about: Mapping[str, str]) -> tuple[str, dict[str, _Parameter]]:
    """Describe a program in HTML; return that and its parameters."""
    if "file" not in about:
        return table(about.items()), {}
    text = _file(about["file"]).read_text(encoding="utf-8-sig")
    tree = ast.parse(text)
    docstrings = {
        one.name: ast.get_docstring(one) or "" for one in tree.body if isinstance(one, ast.ClassDef)
    }
    solver = docstrings.get("Solver", "")
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    said = [f"<p>{code(first)}</p>"]
    more = solver.split("\n\n")[0]
    if more and more != first:
        said.append(f"<p>{code(more)}</p>")
    references = re.search(r"References\n-+\n(.*?)(\n\n|\Z)", solver, re.DOTALL)
    rows = [("Source", references[1])] if references else []
    rows.append(("Program", about["file"]))
    kernel = Path(about["file"]).with_suffix(".cu")
    if _file(str(kernel)).is_file():
        rows.append(("Kernels", str(kernel)))
    if "code" in about:
        rows.append(("Hash of the code", f"`{about['code']}` {HASHED}"))
    return "\n".join([*said, table(rows)]), _documented(tree, "Parameters")


def _documented(tree: ast.Module, name: str) -> dict[str, _Parameter]:
    """Return the parameters of a class, of a module or imported by it, and of its bases."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = [_documented(tree, base.id) for base in node.bases if isinstance(base, ast.Name)]
            docs, defaults = parameter_docs(ast.get_docstring(node) or ""), _defaults(node)
            own = {key: _Parameter(defaults.get(key, ""), text) for key, text in docs.items()}
            return {key: one for of_class in (*bases, own) for key, one in of_class.items()}
        if isinstance(node, ast.ImportFrom) and name in (alias.name for alias in node.names):
            spec = find_spec(node.module or "")
            if spec is not None and spec.origin:
                return _documented(ast.parse(Path(spec.origin).read_text(encoding="utf-8-sig")), name)
    return {}


def _defaults(node: ast.ClassDef) -> dict[str, str]:
    """Return the default of each field of a class, as it is written."""
    found = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.value:
            value = one.value
            if isinstance(value, ast.Call) and value.args:  # Field(default, ...)
                value = value.args[0]
            is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            found[one.target.id] = ast.literal_eval(value) if is_text else ast.unparse(value)
    return found


def parameter_docs(docstring: str) -> dict[str, str]:
    """Return the descriptions of parameters by their names, from a docstring in numpy's style."""
    section = re.search(r"Parameters\n-+\n(.*)\Z", docstring, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(":")[0].split(",")]
        else:
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def _parameters(given: Mapping[str, str], documented: Mapping[str, _Parameter], ours: pd.DataFrame) -> str:
    """Return a table of the parameters, and one of the other values that the program reports."""
    used = {
        column.removeprefix("parameter_"): _in_force(ours, column)
        for column in map(str, ours)
        if column.startswith("parameter_") and ours[column].notna().any()
    }
    derived = {name: value for name, value in used.items() if name not in documented and name not in given}
    rows = []
    for name in dict.fromkeys([*given, *documented]):
        one = documented.get(name, _Parameter("", ""))
        configured = given.get(name) or (f"{one.default} (default)" if one.default else "default")
        renamed = REPORTED.search(one.meaning)
        under = renamed[1] if renamed and renamed[1] in derived else ""
        in_force = f"`{under}`: {derived[under]}" if under else used.get(name, "")
        rows.append((name, configured, in_force, one.meaning))
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
    rows = [
        (
            row["graph"],
            f"{rounded(row['ratio'])} times as slow",
            best.loc[row["graph"], "variant"],
            f"{rounded(row['time_ms'])} ms against {rounded(best.loc[row['graph'], 'time_ms'])} ms",
        )
        for row in slower.to_dict("records")
    ]
    if not rows:
        return f"<p>{NOWHERE}</p>"
    note = (
        f'<p class="note">It is slower than the fastest on {len(rows)} of {len(mine)} graphs. Medians over '
        "the sources that all finishers share; whether a test shows the difference, the ranks above tell.</p>"
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
        rows.append(
            (
                str(graph),
                whole(len(one)),
                rounded(one["time_ms"].median() * 1e3),
                rounded(one["time_ms"].max() * 1e3),
                whole(one["updated"].max()),
                f"{small.mean():.0%}",
                f"{one.loc[small, 'time_ms'].sum() / total:.0%}" if total else "",
            )
        )
    note = (
        '<p class="note">One instrumented search per graph, which is never timed as a whole. Small phases '
        "update at most a tenth of the peak.</p>"
    )
    head = ["Graph", "Phases", "Median phase [µs]", "Longest [µs]", "Most updated vertices"]
    head += ["Small phases", "Their share of the time"]
    return f'{note}<div class="wide">{table(rows, head)}</div>'
