"""A comparison of two runs of the workflow as text: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import shorten, wrap
from typing import Any

import pandas as pd

from relaxometer.core.words import counted
from relaxometer.report.figures.names import label, rounded
from relaxometer.report.findings import markdown as table
from relaxometer.report.terminal import COLUMNS, fitted
from relaxometer.results import compare
from relaxometer.results.compare import Compared
from relaxometer.results.rows import KEY

HEADS = ("base, ms", "now, ms", "ratio", "95% interval", "verdict")
"""Columns right of the names."""

UNPAIRED = (compare.ONLY_NOW, compare.ONLY_BASE)
"""Verdicts of runs without a counterpart: they are listed by name, without a line of a table."""

QUIET = (compare.SAME, compare.EMULATION, compare.NOT_RUN)  # verdicts of lines that Markdown folds away

MAX_NAMED = 400
"""The terminal names runs that are not in both in this many characters; Markdown and the table name all."""

ORDER = [
    *(compare.SLOWER, compare.FAILS, compare.TOLERATED, compare.FASTER, compare.OTHER_GRAPH, compare.FEW),
    *(compare.SAME, *UNPAIRED, compare.NOT_RUN, compare.EMULATION),
]
"""Verdicts from the one that matters most."""


def cells(line: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the texts of the columns `HEADS` of a line."""
    ratio = "" if pd.isna(line["ratio"]) else _ratio(line["ratio"])
    interval = "" if pd.isna(line["low"]) else f"{_ratio(line['low'])} to {_ratio(line['high'])}"
    return rounded(line["base_ms"]), rounded(line["now_ms"]), ratio, interval, str(line["verdict"])


def _ratio(value: float) -> str:
    """Format a ratio with three decimals, or in three digits where decimals would show less of it."""
    return f"{value:.3f}" if value >= 0.1 else f"{value:.3g}"


def rows(found: Compared) -> pd.DataFrame:
    """Return the table of the report: one row per run, worst verdict first."""
    heads = [head.capitalize().replace(", ms", " [ms]") for head in HEADS]
    shown = [
        {
            "Problem": label(line["problem"]),
            "Graph": line["graph"],
            "Variant": line["variant"],
            "Class": line["class"],
            **dict(zip(heads, cells(line), strict=True)),
            "Note": line["note"],
        }
        for line in _sorted(found.lines).to_dict("records")
    ]
    return pd.DataFrame(shown)


def terminal(found: Compared) -> str:
    """Return the comparison in lines of at most `COLUMNS`, a table per problem and graph."""
    heads = (f"base: {found.base}", f"now:  {found.now}", *found.notes)
    lines = [line for text in heads for line in wrap(text, COLUMNS, subsequent_indent="  ")]
    paired = found.lines[~found.lines["verdict"].isin(UNPAIRED)]
    for (problem, graph), of_race in paired.groupby(["problem", "graph"], sort=False):
        lines += ["", *_table(f"{label(str(problem))} on {graph}", of_race)]
    lines.append("")
    for said in _unpaired(found.lines):
        short = shorten(said, MAX_NAMED, placeholder=" …")
        lines += wrap(short, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    for line in found.lines[found.lines["note"] != ""].to_dict("records"):
        said = f"{line['variant']} on {line['graph']}: {shorten(str(line['note']), 160, placeholder=' …')}"
        lines += wrap(said, COLUMNS, initial_indent="  ", subsequent_indent="    ")
    return "\n".join([*lines, *wrap(found.verdict, COLUMNS)])


def _unpaired(lines: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each of `UNPAIRED` that names its runs, by problem and graph."""
    for verdict in UNPAIRED:
        those = lines[lines["verdict"] == verdict]
        named = [
            f"{label(str(problem))} on {graph}: {', '.join(of_race['variant'])}"
            for (problem, graph), of_race in those.groupby(["problem", "graph"], sort=False)
        ]
        if named:
            yield f"{verdict}, {counted(len(those), 'run')}: {'; '.join(named)}"


def _table(title: str, lines: pd.DataFrame) -> Iterator[str]:
    texts = [HEADS, *map(cells, lines.to_dict("records"))]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    room = COLUMNS - sum(widths) - 2 * len(widths)
    names = [title, *("  " + str(name) for name in lines["variant"])]
    names = [fitted(name, room) for name in names]
    left = max(map(len, names))
    for name, line in zip(names, texts, strict=True):
        *numbers, verdict = line
        aligned = [text.rjust(width) for text, width in zip(numbers, widths, strict=False)]
        yield "  ".join([name.ljust(left), *aligned, verdict])


def markdown(found: Compared) -> str:
    """Return the comparison as Markdown: the verdict, what changed, and everything else folded away."""
    unpaired = [*_unpaired(found.lines)]
    lines = _sorted(found.lines[~found.lines["verdict"].isin(UNPAIRED)])
    loud = lines[~lines["verdict"].isin(QUIET)]
    parts = [f"**{found.verdict}**", f"Base: {found.base}. Now: {found.now}."]
    parts += ["\n".join(f"- {note}" for note in found.notes)] if found.notes else []
    parts += [_markdown_table(loud)] if len(loud) else []
    if len(loud) < len(lines):
        rest = _markdown_table(lines[lines["verdict"].isin(QUIET)])
        count = counted(len(lines) - len(loud), "other")
        parts.append(f"<details><summary>{count}</summary>\n\n{rest}\n\n</details>")
    if unpaired:
        said = "\n".join(f"- {_escaped(text)}".replace("|", "\\|") for text in unpaired)
        parts.append(f"<details><summary>Not in both</summary>\n\n{said}\n\n</details>")
    parts.append("Ratio: the time now over that of the base, from the same sources; above 1 is slower.")
    return "\n\n".join(parts) + "\n"


def _markdown_table(lines: pd.DataFrame) -> str:
    rows = [
        [*(line[name] for name in KEY), *cells(line), shorten(str(line["note"]), 160)]
        for line in lines.to_dict("records")
    ]
    return table(pd.DataFrame(rows, columns=[*KEY, *HEADS, "note"]).map(_escaped))


def _escaped(text: Any) -> str:
    return str(text).replace("\\", "\\\\").replace("<", "&lt;")


def _sorted(lines: pd.DataFrame) -> pd.DataFrame:
    place = lines["verdict"].map({name: number for number, name in enumerate(ORDER)})
    return lines.assign(place=place).sort_values("place", kind="stable").drop(columns="place")
