"""The race as text, for the end of a run on the terminal."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from textwrap import shorten, wrap

import pandas as pd

from relaxometer.core.checkout import ROOT
from relaxometer.core.failures import failure_of
from relaxometer.core.words import counted
from relaxometer.report.figures.names import ADDED_UP
from relaxometer.results.rows import PROVEN
from relaxometer.results.statistics import FEWEST

COLUMNS = 100  # longest line

REAL, EMULATED = (Path("results/tables/common", f"{name}.csv") for name in ("ranking", "ranking-emulated"))
"""The tables of the landing page."""

SUMMARY = Path("results/summary.csv")  # the table with every variant
VERDICT = Path("results/verdict.txt")
LEFT = ("Rank", "Variant", "Class")  # columns under the name of the race

RIGHT = {
    "Median [ms]": "search",
    "95% interval": "95% interval",
    "Ratio": "ratio",
    "Preparation [ms]": "prepared",
    "Cold [ms]": "cold",
    "Call [ms]": "call",
    "Proven": "proven",
}
"""Further columns of the tables and their headings here."""

RACE = ["Problem", "Graph"]
MAKEFILE = ROOT / "Makefile"  # of a clone, if this is one

SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")
"""Where Snakemake looks for a workflow."""


def race(real: pd.DataFrame, emulated: pd.DataFrame) -> str:
    """Return a ranked table for each problem and graph, and what failed, in lines of at most `COLUMNS`.

    `real` and `emulated` are the tables of the landing page, as text. Emulated kernels are only named: their
    times say nothing about a GPU.
    """
    # A table without rows has one that says so, which names no graph.
    real, emulated = (rows[rows["Graph"].fillna("") != ""] for rows in (real, emulated))
    both = pd.concat([real, emulated])
    lines: list[str] = []
    for problem, graph in both[RACE].drop_duplicates().itertuples(index=False):
        ours = real[(real[RACE] == [problem, graph]).all(axis=1)]
        lines += ["", *_table(f"{problem} on {graph}", ours[ours["Median [ms]"] != ""])]
    unranked = [*_too_few(real), *_emulated(emulated), *_failures(both)]
    return "\n".join([*lines, "", *unranked] if unranked else lines)


def _table(title: str, rows: pd.DataFrame) -> Iterator[str]:
    """Yield the heading of a race and a line for each of the variants, which have times."""
    if rows.empty:
        yield f"{shorten(title, COLUMNS - 20, placeholder='…')}: nothing to rank"
        return
    times = rows["Median [ms]"].str.replace(",", "").astype(float)
    calls = rows["Call [ms]"].str.removesuffix(ADDED_UP)
    proven = times.where(rows["Status"].isin(PROVEN))
    ratios = (proven / proven.min()).map("{:,.2f}".format).replace("nan", "")
    shown = rows.assign(Ratio=ratios, **{"Call [ms]": calls})[[*RIGHT]]
    cells = [[*RIGHT.values()], *shown.to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    names = _names(f"{title}, ms", rows, COLUMNS - sum(widths) - 2 * len(widths))
    for name, line in zip(names, cells, strict=True):
        yield "  ".join([name, *(text.rjust(width) for text, width in zip(line, widths, strict=True))])


def fitted(name: str, width: int) -> str:
    """Return a name in at most `width` characters, without its middle: those of a sweep differ at the end."""
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def _names(title: str, rows: pd.DataFrame, most: int) -> list[str]:
    """Return the left part of the heading and of each line, of one width, which is at most `most`."""
    ranks, variants, classes = (rows[column].tolist() for column in LEFT)
    widest = max(map(len, classes))
    room = most - len("  1  ") - len("  ") - widest
    variants = [fitted(name, room) for name in variants]
    longest = max(map(len, variants))
    rows_of = zip(ranks, variants, classes, strict=True)
    lines = [f"{rank:>3}  {variant:<{longest}}  {kind}" for rank, variant, kind in rows_of]
    lines = [shorten(title, most, placeholder="…"), *lines]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def _too_few(rows: pd.DataFrame) -> list[str]:
    timed = rows[rows["Status"].isin(PROVEN) & (rows["Median [ms]"] != "")]
    said = f"no interval or rank: fewer than {FEWEST} samples, see docs/statistics.md"
    return _wrapped(said) if (timed["95% interval"] == "").any() else []


def _emulated(rows: pd.DataFrame) -> list[str]:
    """Name the variants whose kernels were emulated and proven, each once for all races, and their table."""
    named = rows.loc[rows["Status"] == "ok", "Variant"].drop_duplicates()
    return _wrapped(f"emulated, unranked, see {EMULATED}: {', '.join(named)}") if len(named) else []


def _failures(rows: pd.DataFrame) -> Iterator[str]:
    """Yield why variants have no proven time, once for all variants and races of a reason."""
    every = [*rows[RACE].drop_duplicates().agg(" on ".join, axis=1)]
    races: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows[rows["Status"] != "ok"].to_dict("records"):
        # Of the markup of the landing page.
        reason = re.sub(r"\\([\\*`|_])", r"\1", row["Reason"])
        races[row["Status"], reason, row["Variant"]].append(f"{row['Problem']} on {row['Graph']}")
    variants: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (status, reason, variant), places_of_one in races.items():
        variants[status, reason, tuple(places_of_one)].append(variant)
    for (status, reason, places), names in variants.items():
        where = "" if len(places) == len(every) else f" in {', '.join(places)}"
        why = f": {reason}" if reason else ""
        yield from _wrapped(f"{', '.join(names)}: {status}{where}{why}")
    if rows.loc[rows["Status"] == "invalid", "Reason"].str.contains(r"\brule \w").any():
        yield from _wrapped(f"{VERDICT} says what these rules demand")


def _wrapped(text: str) -> list[str]:
    return wrap(text, COLUMNS, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def report_command(overlays: Sequence[Path], snakefile: Path | None = None) -> str:
    """Return the command that makes the report of a run with these overlays of the configuration.

    It names the `snakefile` of the run if this folder has none.
    """
    files = [quote(os.path.relpath(overlay)) for overlay in overlays]
    if snakefile and not any(map(os.path.isfile, SNAKEFILES)):
        named = ["-s", quote(os.path.relpath(snakefile)), *(["--configfile", *files] if files else [])]
        return " ".join(["snakemake", *named, "--report report.zip"])
    # The folder of a workflow that uses this one has no Makefile of ours, nor has a deployed copy.
    if len(files) > 1 or Path.cwd() != MAKEFILE.parent or not MAKEFILE.is_file():
        return " ".join(["snakemake", *(["--configfile", *files] if files else []), "--report report.zip"])
    if not files:
        return "make report"
    if overlays[0].parent.parts[-2:] == ("config", "suites"):
        return f"make report SUITE={overlays[0].stem}"
    return f"make report CONFIG={files[0]}"


def tells_of(summary: Path) -> bool:
    """Return whether the tables of the landing page were made from this summary, and not before it."""
    files = summary, REAL, EMULATED
    if not all(file.is_file() for file in files):
        return False
    made, *tables = (file.stat().st_mtime_ns for file in files)
    return made <= min(tables)


def last_lines(overlays: Sequence[Path] = (), snakefile: Path | None = None) -> str:
    """Return the race of the run that has just ended, and what to do next.

    The overlays are the files of ``--configfile``, and `snakefile` is that of the run. If nothing could be
    measured, the line says why.
    """
    if reason := failure_of(REAL) or failure_of(EMULATED):
        return f"nothing to rank: {reason.strip()}; {VERDICT} has all failures"
    real, emulated = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (REAL, EMULATED))
    summary = pd.read_csv(SUMMARY, dtype=str, keep_default_na=False)
    hidden = _wrapped(left_out(summary, pd.concat([real, emulated])))
    ranked = real[real["Rank"] != ""]
    is_shared = ranked.duplicated([*RACE, "Rank"]).any()
    equal = "Equal ranks: no significant difference from the first. " if is_shared else ""
    last = f"{equal}Summary: {SUMMARY}. Report: {report_command(overlays, snakefile)}"
    return "\n".join([race(real, emulated), *hidden, last])


def left_out(summary: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Name the variants of the summary that the tables leave out; empty if there are none."""
    known = set(shown["Variant"].str.removesuffix(" (rival)"))
    names = [name for name in summary["variant"].drop_duplicates() if name not in known]
    if not names:
        return ""
    return f"not listed: {counted(len(names), 'variant')} of sweeps, {names[0]} to {names[-1]}; see {SUMMARY}"
