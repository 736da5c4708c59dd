"""The pages of ``docs/results``: a short template of prose for each suite, and numbers from its data alone.

A suite's folder holds ``page.md``, a Jinja template. :func:`render` fills it from its data:
``summary.csv``, ``claims.csv``, ``context.json``, the tables, and ``facts.csv`` with other values. A
number in its prose is an error (:func:`loose_numbers`), so that every number comes from data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined, TemplateError

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError
from relaxometer.core.files import RESTORE, read_frame, write_csv, write_text
from relaxometer.problems.variants import kernel_hash, solver_names
from relaxometer.report.figures.names import LEAST_PREPARATION_MS, prepared
from relaxometer.results.calls import CALLS
from relaxometer.results.claims import UNJUDGED, judge_again, load_claims
from relaxometer.results.published import BUNDLE, SAMPLES, read_samples
from relaxometer.results.readable import as_printed, number_text
from relaxometer.results.samples import Sample, sample_of, source_times

LATER = (
    *(*CALLS, "answer", "slowed"),
    *("Our answer", "Its answer", "Ours, a call [ms]", "Rival, a call [ms]"),
)
"""Columns of summaries and tables that suites published before they were kept do not have."""

TEMPLATE, PAGE, CLAIMS = "page.md", "README.md", "claims.csv"

NAMES = re.compile(
    r"""
      (?s:\{\{.*?\}\}|\{%.*?%\}|\{\#.*?\#\})   # what the template takes from the data
    | \]\([^)]*\)                                   # where a link or a picture leads
    | `[^`]*[a-zA-Z][^`]*`                          # names of variants, graphs and files
    | \b(?:H[12]00|K20c|M2090|Graph500|L[12])\b
    | \b(?:SCALE|[Ff]igure|[Tt]able|[Ss]ection)\s\d+
    | \bFigures\s\d+\sto\s\d+
    | \b[a-zA-Z]+(?:-\w+)*-\w*\d\w*(?:-\w+)*      # names of graphs, such as kron-g500-s18
    | \b(?:R-MAT\s)?2\^\d+\b
    | \b\d+-bit\b
    | \b10[⁰-⁹]+                                    # a unit
    | 95%\s(?:bootstrap\s)?intervals?              # the level of every interval
    """,
    re.VERBOSE,
)
"""Text in which digits name something or come from the data."""

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
FACTS = ["id", "what", "value", "unit", "machine", "command", "commit"]  # columns of ``facts.csv``
NO_VALUE = "-"


def digits(value: float, n: int = 3) -> str:
    """Format a number with `n` significant digits, without an exponent; "-" if it is missing.

    Examples
    --------
    >>> digits(0.16642), digits(13.0), digits(1596.2), digits(0.84, 1)
    ('0.166', '13.0', '1,596', '0.8')
    """
    if pd.isna(value):
        return NO_VALUE
    if not value:
        return "0"
    rounded = Decimal(f"{float(value):.{n - 1}e}")
    return f"{round(value):,}" if abs(value) >= 10**n else f"{rounded:f}"


def percent(value: float, n: int = 2) -> str:
    """Format a share as a percentage of `n` digits."""
    return f"{digits(100 * value, n)}%"


def whole(value: float) -> str:
    """Format a count."""
    return f"{value:,.0f}"


def giga(value: float) -> str:
    """Format a number in units of 10⁹."""
    return digits(value / 1e9)


def loose_numbers(template: str) -> list[str]:
    """Return the numbers that the prose of a template states itself, each with its line.

    Digits that are part of a name (:data:`NAMES`) do not count, nor those by which a function finds its data.
    """
    prose = NAMES.sub(lambda name: "\n" * name.group().count("\n"), template)
    lines = enumerate(prose.splitlines(), start=1)
    return [f"line {number}: {found}" for number, line in lines for found in NUMBER.findall(line)]


def _environment(functions: Mapping[str, Any]) -> Environment:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    formats = {"float": float, "digits": digits, "percent": percent, "whole": whole, "giga": giga}
    environment.globals = {**functions, **formats}
    environment.filters |= formats
    return environment


def markdown(rows: pd.DataFrame) -> str:
    """Return a table of text in Markdown, with columns of numbers to the right."""

    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    cells = rows.astype(str)
    numeric = [of.str.fullmatch(r"[*≥<]*[-\d(].*||skipped|never").all() for _, of in cells.items()]
    rule = ["---:" if one else "---" for one in numeric]
    return "\n".join([line(rows.columns), line(rule), *map(line, rows.itertuples(index=False))])


MOVED, MOVED_TO = "python -m relaxometer.all_runs", "python -m relaxometer.cli.all_runs"
"""A command of older pages, and the same today."""


class Data:
    """The committed data in ``docs/results/SUITE``, and the functions by which its template asks for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = cache(self._read_table)
        self._times = cache(lambda: source_times(read_samples(folder / SAMPLES).to_pandas()))

    def _read_table(self, file: str) -> pd.DataFrame:
        path = self.folder / file
        if not path.is_file():
            raise UserError(f"{path} is missing, and {self.folder / TEMPLATE} cites it")
        if file == "facts.csv":
            return read_frame(path, advice=RESTORE, dtype=str, keep_default_na=False)
        return read_frame(path, advice=RESTORE, thousands=",", dtype={"version": str})

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of a template by their names."""
        return {name: getattr(self, name) for name in vars(Data) if name[0] != "_" and name != "functions"}

    def rows(self, file: str, **where: Any) -> pd.DataFrame:
        """Return the rows of a table whose columns have the values `where`; a list gives several."""
        rows = self._read(file)
        for column, wanted in where.items():
            several = wanted if isinstance(wanted, list) else [wanted]
            rows = rows[rows[column].isin(several)]
        return rows

    def value(self, file: str, column: str, **where: Any) -> Any:
        """Return one cell; an error unless exactly one row is meant."""
        rows = self.rows(file, **where)
        if len(rows) != 1:
            found = f"{len(rows)} rows of {file} have {where}; expected one"
            raise UserError(f"{self.folder / TEMPLATE}: {found}")
        return rows[column].iloc[0]

    def total(self, file: str, column: str = "", **where: Any) -> Any:
        """Return the number of rows, or the sum of a column."""
        rows = self.rows(file, **where)
        return rows[column].sum() if column else len(rows)

    def median(self, graph: str, variant: str, column: str = "median_ms", file: str = "summary.csv") -> float:
        """Return the median time of a search in ms, or another column of the summary."""
        return float(self.value(file, column, graph=graph, variant=variant))

    def interval(self, graph: str, variant: str) -> str:
        """Return the ends of a time's 95% interval."""
        ends = (self.median(graph, variant, f"ci95_{end}_ms") for end in ("low", "high"))
        return " to ".join(map(digits, ends))

    def preparation(self, graph: str, variant: str) -> float:
        """Return the preparation in ms; NaN if unknown."""
        return self.median(graph, variant, "prepare_ms")

    def quotient(self, graph: str, variant: str, *, of: str = "", by: str = "", n: int = 3) -> str:
        """Return the time of a run over another's, from the same sources, with a 95% interval in `n` digits.

        The run below the line is on the graph `of` and of the variant `by`, where they differ.
        """
        runs = [(graph, variant), (of or graph, by or variant)]
        above, below = (self._sample(*run) for run in runs)
        found = above.over(below)
        low, high = found.interval()
        return f"{digits(found.value, n)} ({digits(low, n)} to {digits(high, n)})"

    def _sample(self, graph: str, variant: str) -> Sample:
        times = self._times()
        rows = times[(times["graph"] == graph) & (times["variant"] == variant)]
        if rows["problem"].nunique() != 1:
            raise UserError(f"{self.folder / TEMPLATE}: {SAMPLES} has no run of {variant} on {graph}")
        return sample_of(rows)

    def mean_gain(self, file: str, problem: str, runs: Sequence[tuple[str, str, str]]) -> float:
        """Return the mean over runs (graph, of, over) of how many times as long `over` takes as `of`."""

        def log_ms(graph: str, variant: str) -> float:
            return float(np.log(self.value(file, "median_ms", problem=problem, graph=graph, variant=variant)))

        return float(np.exp(np.mean([log_ms(graph, over) - log_ms(graph, of) for graph, of, over in runs])))

    def graph500(self, graph: str, variant: str, key: str) -> float:
        """Return an entry of the benchmark's own output."""
        file = self.folder / f"graph500/{graph}-{variant}.txt"
        entries = dict(line.split(": ") for line in file.read_text(encoding="utf-8").splitlines())
        return float(entries[key])

    def fact(self, name: str) -> str:
        """Return the value of a fact, as it is written in ``facts.csv``."""
        return str(self.value("facts.csv", "value", id=name))

    def claim(self, name: str, column: str = "measured") -> Any:
        """Return a column of a claim, by default what was measured."""
        return self.value(CLAIMS, column, id=name)

    def times(self, graphs: Sequence[str], variants: Sequence[str], *, intervals: bool = False) -> str:
        """Return a table of median times in ms: one row per variant, one column per graph.

        The preparation stands behind a time, as in "0.166 + 1,596"; `intervals` adds 95% intervals.
        """
        shown = self.rows("summary.csv", graph=list(graphs), variant=list(variants))
        best = shown.groupby("graph")["median_ms"].min()

        def cell(graph: str, variant: str) -> str:
            found = shown[(shown["graph"] == graph) & (shown["variant"] == variant)]
            if found.empty:
                return ""
            line = found.iloc[0]
            if pd.isna(line["median_ms"]):
                return str(line["status"])
            text = digits(line["median_ms"])
            text = f"**{text}**" if line["median_ms"] == best[graph] else text
            text += f" ({self.interval(graph, variant)})" if intervals else ""
            known = self.preparation(graph, variant)
            return text if pd.isna(known) else f"{text} + {digits(known)}"

        table = pd.DataFrame({graph: [cell(graph, one) for one in variants] for graph in graphs})
        table.insert(0, "variant", [f"`{one}`" for one in variants])
        return markdown(table)

    def table(
        self, file: str, columns: Mapping[str, str] | None = None, order: str | None = None, **where: Any
    ) -> str:
        """Return the rows of a CSV file as a table; `columns` maps its columns to headings, `order` sorts."""
        rows = self.rows(file, **where)
        rows = rows.sort_values(order, kind="stable") if order else rows
        if "prepare_ms" in rows:
            rows = rows.assign(prepare_ms=rows["prepare_ms"].map(_preparation))
        known = {name: head for name, head in (columns or {}).items() if name in rows or name not in LATER}
        chosen = rows[list(known)].rename(columns=known) if columns else rows
        return markdown(chosen.map(_cell))

    def facts(self, group: str, what: str = "", value: str = "") -> str:
        """Return the facts whose ids begin with `group` and a dot as a table."""
        names = [name for name in self._read("facts.csv")["id"] if name.startswith(f"{group}.")]
        rows = pd.concat([self.rows("facts.csv", id=name) for name in names]) if names else pd.DataFrame()
        if rows.empty:
            raise UserError(f"{self.folder / 'facts.csv'}: no fact of the group {group!r}")
        values = [f"{one.value} {one.unit}".strip() for one in rows.itertuples()]
        return markdown(pd.DataFrame({what: rows["what"], value: values}))

    def claims(self) -> str:
        """Return the claims with a verdict as a table, and below it those without, by reason."""
        lines = self._read(CLAIMS)
        is_judged = ~lines["verdict"].str.startswith(UNJUDGED)
        judged = lines[is_judged]
        columns = {
            "claim": [f"`{name}`" for name in judged["id"]],
            "the paper says": judged["text"],
            "on": [f"`{graph}`" if isinstance(graph, str) else "" for graph in judged["graph"]],
            "claimed": _with_unit(judged, "claimed", _published),
            "here": _with_unit(judged, "measured", _large),
            "95% interval": _claim_intervals(judged),
            "verdict": judged["verdict"],
        }
        reasons = lines[~is_judged].groupby("verdict", sort=False)["id"]
        others = [f"- {', '.join(f'`{name}`' for name in names)}: {reason}." for reason, names in reasons]
        parts = [markdown(pd.DataFrame(columns)), "\n".join(others)]
        return "\n\n".join(part for part in parts if part)

    def context(self, key: str) -> Any:
        """Return an entry of ``context.json`` that all runs share, or all that have it."""
        context = json.loads((self.folder / "context.json").read_text(encoding="utf-8"))
        if key in context["common"]:
            return context["common"][key]
        values = {run[key] for run in context["runs"] if key in run}
        if len(values) != 1:
            raise KeyError(key)
        return values.pop()

    def parts(self, *rows: Sequence[str]) -> str:
        """Return the table of how a page was measured, with the GPU, its driver and its files."""
        gpu, count = self.context("before.name"), self.context("before.multiprocessors")
        machine = f"{gpu} ({count} multiprocessors), driver {self.context('before.driver')}"
        machine += f", CuPy {self.context('before.cupy')}"
        named = ("summary.csv", CLAIMS, "facts.csv", "tables", "figures", SAMPLES, BUNDLE)
        there = [*named, "context.json"]
        files = ", ".join(f"[`{name}`]({name})" for name in there if (self.folder / name).exists())
        told = [("machine", machine), *rows, ("files", files)]
        if any(MOVED in text for _, text in told):
            told.insert(-1, ("now", f"`{MOVED}` is `{MOVED_TO}`"))
        return markdown(pd.DataFrame(told, columns=["", " "]))


def _cell(value: object) -> str:
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return "" if pd.isna(value) else digits(value) if value != round(value) else whole(value)
    return str(value)


def _preparation(value: float) -> float | str:
    return prepared(value) if value < LEAST_PREPARATION_MS else value


def _with_unit(lines: pd.DataFrame, column: str, shown: Callable[[float], str]) -> list[str]:
    def text(value: float, unit: object) -> str:
        return "" if pd.isna(value) else f"{shown(value)} {unit if isinstance(unit, str) else ''}".strip()

    return [text(*pair) for pair in zip(lines[column].astype(float), lines["unit"], strict=True)]


def _large(value: float) -> str:
    """Format a number with three digits, from 10⁸ on with an exponent."""
    mantissa, _, exponent = f"{value:.2e}".partition("e+")
    return digits(value) if value < 1e8 else f"{float(mantissa):g} × 10^{int(exponent)}"


def _published(value: float) -> str:
    """Format a value with all the digits that a paper gives, from 10⁸ on with an exponent."""
    return _large(value) if value >= 1e8 else as_printed(value)


def _claim_intervals(lines: pd.DataFrame) -> list[str]:
    ends = zip(lines["low"].astype(float), lines["high"].astype(float), strict=True)
    return [f"{_large(low)} to {_large(high)}" if low < high else "" for low, high in ends]


def render(folder: Path) -> str:
    """Return the page of a suite.

    UserError if the template states a number itself, is wrong, or asks for data that are not there.
    """
    file, environment = folder / TEMPLATE, _environment(Data(folder).functions())
    text = file.read_text(encoding="utf-8")
    try:
        loose = loose_numbers(text)
        if loose:
            raise UserError(f"{file}: {loose[0]} is typed into the prose; cite the data or facts.csv instead")
        heading, below, rest = environment.from_string(text).render().partition("\n\n")
        return heading + below + changed_kernels(folder) + rest
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise UserError(f"{file}{f':{line}' if line else ''}: {error}") from error
    except KeyError as error:
        raise UserError(f"{file}: the data have no {error}") from error


def changed_kernels(folder: Path) -> str:
    """Return a paragraph that names the variants of a page whose kernels have changed since; else nothing."""
    if not (folder / "summary.csv").is_file():  # a page of other pages' numbers
        return ""
    file = folder / "context.json"
    merged = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"common": {}, "runs": []}
    contexts = [merged["common"] | one for one in merged["runs"]]
    if not any("kernels" in one for one in contexts):
        return "*Measured before pages recorded which kernels ran: they may have changed since.*\n\n"
    changed = {
        one["run"].split("/")[2]
        for one in contexts
        if "kernels" in one and one["kernels"] != _kernels_now(one["run"].split("/")[0], one["run.solver"])
    }
    names = ", ".join(f"`{name}`" for name in sorted(changed))
    return f"*Kernels have changed since these were measured: {names}.*\n\n" if changed else ""


@cache
def _kernels_now(problem: str, solver: str) -> str:
    return kernel_hash(problem, solver) if solver in solver_names(problem) else "gone"


def suites(folder: Path) -> list[str]:
    """Return the suites below `folder` that have a template."""
    return sorted(path.parent.name for path in folder.glob(f"*/{TEMPLATE}"))


def write(folder: Path) -> bool:
    """Judge the claims of a suite again and write its page; return whether the page changed."""
    if (folder / CLAIMS).is_file():
        papers = read_frame(folder / CLAIMS, advice=RESTORE, usecols=["source"])["source"].unique()
        claims = [one for paper in papers for one in load_claims(ROOT / f"resources/claims/{paper}.yaml")]
        write_csv(judge_again(claims, folder), folder / CLAIMS, float_format=number_text)
    page, text = folder / PAGE, render(folder)
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        return False
    write_text(text, page)
    return True
