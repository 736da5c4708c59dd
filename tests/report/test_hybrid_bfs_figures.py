"""What the figures of breadth-first search say, on tables put in by hand."""

import numpy as np
import pandas as pd

from relaxometer.report.papers import hybrid_bfs
from synthetic_runs import phases, searches, spread, texts

GRAPHS = [
    {"name": "kron-a", "vertices": 2**18, "arcs": 2**23, "directed": False},
    {"name": "kron-b", "vertices": 2**20, "arcs": 2**25, "directed": False},
]


def bfs(variant, mean, graph="kron-a", **options):
    rows = searches(variant, spread(mean), graph=graph, **options)
    return rows.assign(problem="bfs", input_edges=4_000_000.0, reached_arcs=7_000_000)


def timings():
    return pd.concat(
        [
            *(bfs("hybrid", 0.1 * at, graph["name"]) for at, graph in enumerate(GRAPHS, start=1)),
            *(bfs("hybrid-cpu", 2.0, graph["name"], device_kind="cpu") for graph in GRAPHS),
            bfs("top-down", 1.0),
        ]
    )


def level_rows(variant, modes, updated, arcs):
    rows = phases(variant, updated, graph="kron-a", sources=1)
    return rows.assign(problem="bfs", source=7, mode=modes, relaxed_arcs=arcs, time_ms=0.25)


def test_degree_shares_count_vertices_above_a_warp():
    degrees = np.array([0] * 50 + [1] * 20 + [32] * 20 + [33] * 9 + [5000])
    text = texts(hybrid_bfs.degree_shares(degrees, "kron-a"))
    assert "10.0% have more than 32 arcs" in text
    assert "50% have none" in text


def test_times_give_the_speed_up_of_the_gpu():
    text = texts(hybrid_bfs.computing_times(timings(), GRAPHS))
    assert "kron-a: hybrid is 20.0 times as fast as hybrid-cpu" in text
    assert "kron-b: hybrid is 10.0 times as fast" in text


def test_levels_say_how_much_is_bottom_up():
    modes = ["top-down", "bottom-up", "bottom-up", "top-down"]
    rows = pd.concat(
        [
            level_rows("hybrid", modes, [10, 1000, 5, 0], [10, 900, 80, 10]),
            level_rows("top-down", ["top-down"] * 4, [10, 1000, 5, 0], [10, 4000, 5980, 10]),
        ]
    )
    text = texts(hybrid_bfs.level_times(rows, "kron-a"))
    assert "hybrid: 2 of 4 levels bottom-up, 50% of the time" in text
    assert "it examines 10.0% of the arcs that top-down examines" in text


def test_searches_without_levels_are_not_drawn_as_one():
    tiles = level_rows("tiled", ["tiles"], [1000], [5000])
    assert hybrid_bfs.NOTHING_PROVEN in texts(hybrid_bfs.level_times(tiles, "kron-a"))
    untimed = level_rows("queue-cpu", ["top-down"] * 2, [10, 0], [10, 10]).assign(time_ms=0.0)
    both = pd.concat([tiles, untimed, level_rows("hybrid", ["top-down"] * 2, [10, 0], [10, 10])])
    legend = hybrid_bfs.level_times(both, "kron-a").axes[0].get_legend()
    assert [label.get_text() for label in legend.get_texts()] == ["hybrid", "top-down"]
