"""The model of what a search costs: what it counts, and that the page shows what it says."""

from dataclasses import replace
from pathlib import Path

import pytest

from relaxometer.distributed import model
from relaxometer.distributed.model import H200, fold, message_bytes, search_cost, share
from relaxometer.distributed.partition import Layout

PAGE = Path(__file__).parents[2] / "docs/scaling.md"


@pytest.mark.parametrize(
    ("scheme", "n_ranks"), [("1x1", 1), ("4x1", 4), ("1x4", 4), ("2x3", 6), ("paired", 2), ("paired", 32)]
)
def test_messages_are_those_of_the_layout(scheme, n_ranks):
    layout = Layout(scheme, n_ranks, 100_000)
    for rank in range(n_ranks):
        place = layout.place(rank)
        folded = sum(layout.owner(piece) != rank for piece in place.heads)
        shared = sum(reader != rank for piece in place.owned for reader in layout.readers(piece))
        assert (fold(layout).count, share(layout).count) == (folded, shared)
    assert fold(layout).bytes == fold(layout).count * layout.piece / 8


def test_one_rank_costs_what_was_measured_on_one_gpu():
    """Searches of docs/results/hybrid-bfs, in which no host waits for levels."""
    alone = replace(H200, host_s=0.0)
    for scale, ms in ((18, 0.113), (20, 0.137), (22, 0.251), (24, 0.667)):
        assert search_cost(alone, scale, "1x1", 1).seconds * 1e3 == pytest.approx(ms, rel=0.08)


def test_compressed_messages_take_a_byte_for_each_seven_bits_of_the_mean_distance():
    assert message_bytes(1000, 0) == 0
    assert message_bytes(1000, 0.5) == 1000
    assert message_bytes(1000, 1 / 100) == pytest.approx(80)
    assert message_bytes(1000, 1 / 1000) == pytest.approx(16)


def test_more_ranks_send_more_and_compute_less():
    costs = [search_cost(H200, 30, f"{n}x1", n) for n in (1, 2, 4, 8, 16)]
    assert [c.computing for c in costs] == sorted((c.computing for c in costs), reverse=True)
    assert [c.latency for c in costs] == sorted(c.latency for c in costs)
    assert costs[0].bytes == 0


def test_slower_links_between_hosts_bound_the_exchange():
    near = search_cost(replace(H200, gpus_a_host=16), 28, "16x1", 16)
    far = search_cost(H200, 28, "16x1", 16)
    assert far.volume / near.volume == pytest.approx(8 / 15 * H200.near_bytes_s / H200.far_bytes_s)


def test_the_best_grid_fits_the_memory():
    grid, _ = model.best_grid(H200, 36, 1024, compressed=True)
    assert model.memory_bytes(36, grid, 1024) <= H200.memory < model.memory_bytes(36, "1024x1", 1024)


@pytest.mark.parametrize(
    "shown", [model.weak_scaling(H200, 23, 3), model.projection(H200, 36, 1024)], ids=["weak", "projection"]
)
def test_the_page_shows_what_the_model_says(shown):
    assert shown in PAGE.read_text(encoding="utf-8")
