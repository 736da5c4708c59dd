"""Runs of small rivals, each an adapter that this interpreter starts: no installation, no network."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml

from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Timing
from relaxometer.problems.queries import QuerySets
from relaxometer.race import clocks
from relaxometer.race.entrant import Entrant
from relaxometer.race.measurement import Measurement
from relaxometer.race.rival import measure_rival
from relaxometer.rivals.definition import HELPERS, Rival
from relaxometer.rivals.exchange import export
from relaxometer.rivals.installation import Installed
from sample_graphs import sample_graphs

GRID = sample_graphs()["grid"]
SOURCES = (0, 100, 300, 500)
ADAPTERS = Path(__file__).parent / "rivals/adapters"

BEGINNING = """import os, sys, threading, time
import numpy as np
from rival import *
from honest import *
from raw import *
from asked import *
"""

DEFINITION = {
    "title": "a rival",
    "url": "https://example.org",
    "licence": "MIT",
    "citation": "nobody",
    "class": "cpu-1",
    "adapter": "adapter.py",
    "problems": {"sssp": {"answers": ["distance", "predecessor"]}},
}


def make_rival(folder: Path, code: str = "", **changes: Any) -> Rival:
    """Write a rival's folder and read it; `changes` are to the keys of its definition."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter.py").write_text(BEGINNING + code, encoding="utf-8")
    (folder / "rival.yaml").write_text(yaml.safe_dump(DEFINITION | changes), encoding="utf-8")
    return Rival(folder)


def deriving(method: str, *lines: str, of: str = "Honest") -> str:
    """Return the code of an adapter with a method of its own."""
    body = "\n        ".join(lines)
    return f"class Mine({of}):\n    def {method}:\n        {body}\n\nserve(Mine)\n"


def race(
    folder: Path,
    code: str,
    *,
    graph: Graph = GRID,
    sources: Sequence[int] = SOURCES,
    installed: Installed | str | None = None,
    given: dict[str, Any] | None = None,
    tune: dict[str, list[Any]] | None = None,
    threads: int | None = None,
    problem: str = "sssp",
    queries: QuerySets | None = None,
    timing: dict[str, Any] | None = None,
    believed: bool = True,
    **changes: Any,
) -> Measurement:
    """Measure a rival with this code of its adapter, on each source once.

    `given` are the parameters of the run; `changes` are those of :func:`make_rival`. By default its clock is
    believed, since a loaded machine delays messages.
    """
    rival = make_rival(folder / "rival", code, **changes)
    path = f"{HELPERS}:{ADAPTERS}"
    start = installed or Installed([sys.executable, str(rival.folder / "adapter.py")], {"PYTHONPATH": path})
    run = {"parameters": given or {}, "threads": threads, "tune": tune or {}, "problem": problem}
    exchange = folder / "exchange" / graph.name
    how = {"sources": sources, "timing": timing, "believed": believed, "queries": queries}
    return run_on(graph, rival, start, exchange, **how, **run)


def run_on(
    graph: Graph,
    rival: Rival,
    installed: Installed | str,
    exchange: Path,
    *,
    sources: Sequence[int] = (0,),
    timing: dict[str, Any] | None = None,
    believed: bool = True,
    queries: QuerySets | None = None,
    **run: Any,
) -> Measurement:
    """Measure a rival on a graph, whose arrays are written to `exchange`; `run` has keys of `RivalRun`."""
    made = RivalRun(
        graph=graph.name,
        variant="rival",
        solver="rival",
        timing=Timing(**{"repetitions": 1, "rounds": 1, "warmup": 1, "timeout_s": 30, **(timing or {})}),
        kind=rival.definition.class_,
        **{"problem": "sssp", "parameters": {}, **run},
    )
    export(graph, exchange, rival.definition.formats)
    with patch.object(clocks, "EXCUSED_MS", 1e6) if believed else nullcontext():
        return measure_rival(
            Entrant(made, rival, installed, graph, exchange, queries), np.array(sources), "host"
        )


def outcomes(result: Measurement) -> list[tuple[str, str]]:
    """Return status and reason of each row."""
    return [(row.status, row.reason) for row in result.runs]


def only(result: Measurement) -> tuple[str, str]:
    """Return the status and reason that all rows share."""
    (outcome,) = set(outcomes(result))
    return outcome
