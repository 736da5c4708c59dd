"""Forecasts of a rank's memory, and its measurement; test_ranks.py counts what is allocated."""

from pathlib import Path
from types import SimpleNamespace

from relaxometer.distributed import memory
from relaxometer.distributed.engines import ENGINES
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
