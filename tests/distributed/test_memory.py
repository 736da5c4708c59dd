"""The forecast of a rank's memory agrees with what is allocated, and the page shows it."""

import gc
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import build, certify, memory, stored
from relaxometer.distributed.certify import Certifier, reached_totals
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.graph500 import kronecker_block
from relaxometer.distributed.launch import obstacle
from relaxometer.distributed.meter import Meter

TEXT = (Path(__file__).parents[2] / "docs/scaling.md").read_text(encoding="utf-8")


def test_the_page_shows_the_forecasts():
    assert memory.forecasts() in TEXT


def test_every_engine_has_a_forecast():
    assert set(memory.NEEDS) == {name for engines in ENGINES.values() for name in engines}


def test_what_is_taken_is_the_most_by_phase_before_it_is_given_back():
    free = [1000]
    runtime = SimpleNamespace(memGetInfo=lambda: (free[0], 2000))
    pool = SimpleNamespace(free_all_blocks=lambda: free.__setitem__(0, 1000))
    xp = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool)
    meter = Meter(SimpleNamespace(kind="cuda", xp=xp))
    for left in (700, 400, 900):
        free[0] = left
        meter.release("building")
    free[0] = 800
    meter.note("proving")
    assert meter.taken == {"building": 600, "proving": 200}
    meter.begin()
    assert meter.taken == {}


@pytest.fixture
def small_parts(monkeypatch):
    """Have arcs sent, sorted and checked in small parts; sending takes most, since rows are not divided."""
    monkeypatch.setattr(build, "PIECE", 1 << 12)
    monkeypatch.setattr(stored, "BATCH", 1 << 15)
    monkeypatch.setattr(certify, "PART", 1 << 10)


@pytest.mark.mpi
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
@pytest.mark.parametrize(
    ("problem", "name"), [(p, name) for p, engines in ENGINES.items() for name in engines]
)
@pytest.mark.usefixtures("small_parts")
def test_the_forecast_counts_what_is_allocated(problem, name):
    """Differences between two scales, so that what every graph needs cancels out, after all was imported."""
    _, small, large = (taken_and_forecast(problem, name, scale) for scale in (11, 11, 14))
    for phase in ("building", "searching", "proving"):
        taken, expected = (large[k][phase] - small[k][phase] for k in (0, 1))
        assert expected == pytest.approx(taken, rel=0.05), phase


def taken_and_forecast(problem: str, name: str, scale: int) -> tuple[dict[str, int], dict[str, int]]:
    parameters, engine = Graph500Parameters(scale=scale), ENGINES[problem][name]
    ranks, taken = Ranks("host"), {}
    scheme = "1x1" if name == "hybrid-2d" else engine.scheme("auto", 1)

    def note(phase: str) -> None:
        taken[phase] = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()

    gc.collect()
    tracemalloc.start()
    try:
        weighted = problem == "sssp"
        block = kronecker_block(ranks, scheme, parameters, weighted=weighted, batch=1 << 14, piece=1 << 12)
        note("building")
        solver, certifier = engine.solver(ranks, block, engine.parameters()), Certifier(ranks, block, problem)
        note("preparing")
        for source in block.metadata["search_keys"][:2]:
            answer = solver.solve(source)
            note("searching")
            assert certifier.check(source, *answer.columns.values()).holds
            reached_totals(ranks, block, next(iter(answer.columns.values())), certifier)
            note("proving")
            del answer
    finally:
        tracemalloc.stop()
    return taken, memory.forecast(name, block.layout, memory.Size.generated(parameters))
