"""A variant whose own clock disagrees with ours."""

import time

import numpy as np
import pytest

from relaxometer.plan.models import Run, Timing
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import clocks, contestant
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs


@pytest.mark.parametrize("hidden_s", [0.0, 0.02])
def test_a_variant_that_works_outside_its_clock_is_timed_by_ours(monkeypatch, hidden_s):
    search = contestant._VariantProcess.solve

    def solve(process, _):
        time.sleep(hidden_s)
        return search(process, None)

    monkeypatch.setattr(contestant._VariantProcess, "solve", solve)
    monkeypatch.setattr(clocks, "EXCUSED_MS", 10.0)  # a loaded machine delays messages
    timing = Timing(repetitions=1, rounds=1, warmup=1, timeout_s=30)
    graph = sample_graphs()["grid"]
    names = {"problem": "sssp", "graph": graph.name, "variant": "dijkstra-cpu", "solver": "dijkstra-cpu"}
    run = Run(**names, parameters=dijkstra_cpu.Parameters().model_dump(), timing=timing)
    rows = measure(run, graph, np.arange(8), "host").runs
    if hidden_s:
        assert {row.status for row in rows} == {"disputed"}
        assert all(row.time_ms == row.clock_ms >= 20 for row in rows)
        assert rows[0].reason.startswith("its clock says ")
    else:
        assert {row.status for row in rows} == {"ok"}
        assert all(row.clock_ms >= row.time_ms > 0 for row in rows)
