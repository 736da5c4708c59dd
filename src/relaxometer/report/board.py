"""The table of several machines as a page and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from relaxometer.report.figures.names import CLASSES, label, prepared, rounded, shown_calls, shown_version
from relaxometer.report.findings import markdown
from relaxometer.report.pages import from_caption, table_page
from relaxometer.results.contexts import MAX_DRIFT, drift_lines
from relaxometer.results.recorded import RUN, Recorded
from relaxometer.results.rows import PROVEN

NOTE = """Runs of {bundles} on {graphs}, ranked within each problem, graph and class of machine: programs
that share a rank are not told apart from the first of them. Medians over sources, with 95% intervals;
preparation is made once per graph and stands next to every time. The cold time is from the graph's arrays
to the first answer; a call begins and ends in host memory. Only proven answers have a rank; emulated
kernels have neither rank nor time. Machines of different classes are not compared, nor are runs from
different sources: where there are several races, ranks count within one.

Click a heading to sort; type words to filter."""

TITLE = "Results of several machines"

README = """# Results of {machines}

[`index.html`](index.html) ranks the runs of these bundles within each problem, graph and class of machine;
it sorts and filters without a network. [`board.csv`](board.csv) has the same rows.

{table}

*Drift* is the largest excess, over all races, of the longest time of fixed work over the shortest; it is
empty if that work was not timed. Above {limit} the machine was not quiet, so its times are longer and less
certain than those of a quiet one.

`make verify BUNDLE={target}/{first}` checks a bundle. This folder is written by

```sh
make board BUNDLES="{bundles}" TARGET={target} KEEP=1
```
"""

OPTIONAL = ("Race", "Call [ms]", "Energy [mJ]", "Memory [MiB]")
"""Columns that a board without any value in them does not have."""


def texts(board: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the page from :func:`relaxometer.results.board.board`."""
    rivals = board["rival"].eq(True)
    versions = (" " + board["version"].map(shown_version)).str.rstrip().where(rivals, "")
    intervals = [
        "" if pd.isna(low) else f"{rounded(low)} to {rounded(high)}"
        for low, high in zip(board["low_ms"], board["high_ms"], strict=True)
    ]
    kinds = board["class"].map(lambda kind: CLASSES.get(kind, kind))
    return pd.DataFrame(
        {
            "Problem": board["problem"].map(label),
            "Graph": board["graph"],
            "Machine": board["device"] + ", " + kinds,
            "Race": board["race"].astype("string").fillna(""),
            "Rank": board["rank"].astype("string").fillna(""),
            "Program": board["variant"] + versions + rivals.map({True: " (rival)", False: ""}),
            "Median [ms]": _numbers(board["median_ms"]),
            "95% interval": intervals,
            "Preparation [ms]": pd.to_numeric(board["prepare_ms"]).map(prepared),
            "Cold [ms]": _numbers(board["cold_ms"]),
            "Call [ms]": shown_calls(board),
            "Energy [mJ]": _numbers(board["energy_j"], 1e3),
            "Memory [MiB]": _numbers(board["peak_bytes"], 2**-20),
            "Sources": board["sources"].astype(str),
            "Bundle": board["bundle"],
            "Commit": board["commit"],
            "Measured": board["date"],
            "Status": [
                status if status in PROVEN else f"{status}: {reason}".rstrip(": ")
                for status, reason in zip(board["status"], board["reason"].fillna(""), strict=True)
            ],
        }
    )


def _numbers(values: pd.Series, factor: float = 1.0) -> pd.Series:
    return (pd.to_numeric(values) * factor).map(rounded)


def page(board: pd.DataFrame) -> str:
    """Return a page that sorts and filters without a network."""
    bundles, graphs = board["bundle"].nunique(), board["graph"].nunique()
    rows = texts(board)
    empty = [name for name in OPTIONAL if not (rows[name] != "").any()]
    note = NOTE.format(
        bundles="one bundle" if bundles == 1 else f"{bundles} bundles",
        graphs="one graph" if graphs == 1 else f"{graphs} graphs",
    )
    return table_page(TITLE, from_caption(note), rows.drop(columns=empty), "board")


def readme(runs: Sequence[Recorded], hashes: Sequence[str], target: str) -> str:
    """Return a page in Markdown about the bundles of a board that lie next to it.

    Runs were read from ``<name>.zip``, `hashes` are their SHA-256, and `target` is the folder for make.
    """
    lines = [
        {
            "bundle": f"[`{one.name}.zip`]({one.name}.zip)",
            "devices": "; ".join(f"{CLASSES.get(kind, kind)}: {of}" for kind, of in one.devices().items()),
            "commit": one.commit,
            "measured": one.date[:10],
            "drift": _drift(one),
            "SHA-256": f"`{sha256}`",
        }
        for one, sha256 in zip(runs, hashes, strict=True)
    ]
    return README.format(
        machines="one machine" if len(runs) == 1 else f"{len(runs)} machines",
        table=markdown(pd.DataFrame(lines)),
        limit=f"{MAX_DRIFT:.0%}",
        first=f"{runs[0].name}.zip",
        target=target,
        bundles=" ".join(f"{target}/{one.name}.zip" for one in runs),
    )


def _drift(one: Recorded) -> str:
    """Return the largest drift of a machine's speed during a race; empty if reference work was not timed."""
    contexts = []
    for context in one.contexts:
        problem, graph, _ = str(context[RUN]).split("/")
        times = {key: value for key, value in context.items() if key.startswith("reference_ms.")}
        run = {"problem": problem, "graph": graph}
        contexts.append({"run": run, "device_kind": context["device_kind"], "reference_ms": times})
    lines = drift_lines(contexts)
    return f"{lines['drift'].max():.0%}" if len(lines) else ""
