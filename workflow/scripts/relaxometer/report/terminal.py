"""The race as text, for the end of a run on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd

COLUMNS = 100
"""Longest line."""

REAL, EMULATED = (Path("results/tables/common", f"{name}.csv") for name in ("ranking", "ranking-emulated"))
"""The tables of the landing page."""

SHOWN = {
    "Rank": "",
    "Variant": "",
    "Class": "",
    "Median [ms]": "ms",
    "95% interval": "95% interval",
    "Ratio": "ratio",
    "Preparation [ms]": "prepared, ms",
    "Proven": "proven",
}
"""Columns of the tables and their headings here."""

LEFT = {"Variant", "Class"}
"""Columns that are aligned to the left."""


def race(real: pd.DataFrame, emulated: pd.DataFrame) -> str:
    """Return a ranked table for each problem and graph, in lines of at most `COLUMNS` characters.

    Emulated kernels are only named: their times say nothing about a GPU.

    Parameters
    ----------
    real, emulated : DataFrame of str
        The tables of the landing page.
    """
    keys = ["Problem", "Graph"]
    lines: list[str] = []
    races = pd.concat([real, emulated])[keys].dropna().drop_duplicates()
    for problem, graph in races.itertuples(index=False):
        ours, theirs = (rows[(rows[keys] == [problem, graph]).all(axis=1)] for rows in (real, emulated))
        lines += ["", f"{problem} on {graph}", *_table(ours)]
        if len(theirs):
            named = ", ".join(_with_proof(row) for row in theirs.to_dict("records"))
            lines += _wrapped(f"emulated, so their times do not count: {named}")
    return "\n".join(lines)


def _table(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the heading, what was timed, and why the rest was not."""
    timed = rows[rows["Median [ms]"] != ""]
    if len(timed):
        times = timed["Median [ms]"].str.replace(",", "").astype(float)
        shown = timed.assign(Ratio=(times / times.min()).map("{:.2f}".format))[[*SHOWN]]
        cells = [list(SHOWN.values()), *shown.to_numpy().tolist()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for line in cells:
            places = zip(SHOWN, line, widths, strict=True)
            yield "  " + "  ".join(
                text.ljust(width) if name in LEFT else text.rjust(width) for name, text, width in places
            )
    for row in rows[rows["Median [ms]"] == ""].to_dict("records"):
        yield from _wrapped(f"{row['Variant']}: {row['Status']} ({row['Reason']})")


def _wrapped(text: str) -> list[str]:
    """Return a sentence in indented lines."""
    return wrap(text, COLUMNS, initial_indent="    ", subsequent_indent="    ")


def _with_proof(row: Mapping[Any, str]) -> str:
    return row["Variant"] if row["Status"] == "ok" else f"{row['Variant']} ({row['Status']})"


def show() -> None:
    """Print the race of the run that has just ended, if it made one, and what to do next."""
    if not (REAL.is_file() and EMULATED.is_file()):
        return
    tables = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (REAL, EMULATED))
    print(race(*tables))
    print("\nAll of it: results/summary.csv. The report: make report")
