"""What stands in the figures and tables of the article on Bellman-Ford over edges."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from relaxometer.report.papers import edge_bf
from synthetic_runs import searches, spread, texts

ARCS = {"small": 30_000, "large": 60_000}
GRAPHS = [{"name": "small", "vertices": 1024, "arcs": ARCS["small"]}]
GRAPHS += [{"name": "large", "vertices": 2048, "arcs": ARCS["large"]}]


def runs(variant, mean_ms, *, kernel="edge-bf", graph="small", sources=12, device_kind="cuda", **given):
    """Searches of a variant, with the parameters that a kernel over edges resolves."""
    table = searches(variant, spread(mean_ms, sources), graph=graph, kernel=kernel, device_kind=device_kind)
    parameters = {"read_only_cache": True, "blocked": True, "block": 64, "distance": "float64"}
    parameters |= {"edges_per_thread": 1, "bytes_per_phase": 5_000_000, **given}
    return table.assign(**{f"parameter_{name}": value for name, value in parameters.items()})


def corners(graph="small", scale=1.0, **options):
    """The four corners: the cache gains 2 times, the order 4 times."""
    return [
        runs("edge-bf", 1 * scale, graph=graph, **options),
        runs("edge-bf-no-cache", 2 * scale, graph=graph, read_only_cache=False, **options),
        runs("edge-bf-no-order", 4 * scale, graph=graph, blocked=False, **options),
        runs("edge-bf-plain", 8 * scale, graph=graph, read_only_cache=False, blocked=False, **options),
    ]


def cpu(mean_ms, sources=12):
    return searches("dijkstra-cpu", spread(mean_ms, sources), graph="small", device_kind="cpu")


def measured(*tables):
    return edge_bf.rates(pd.concat(tables, ignore_index=True), GRAPHS)


def curves(axes):
    """Label and means of every line with whiskers."""
    drawn = [part for part in axes.containers if isinstance(part, ErrorbarContainer)]
    return {part.get_label(): part.lines[0].get_ydata().tolist() for part in drawn}


def test_rates_are_arcs_of_the_graph_over_the_time():
    figure = edge_bf.performance(measured(*corners(), *corners("large", 4), cpu(50)))
    (axes,) = figure.axes
    means = curves(axes)
    assert set(means) == {*edge_bf.CORNERS.values(), edge_bf.CPU}
    per_s = [np.mean(ARCS[name] / np.array(spread(ms)) / 1e3) for name, ms in (("small", 1), ("large", 4))]
    assert means["cache and order"] == pytest.approx(per_s)
    assert f"best of the paper's four variants {per_s[0]:.3g} (cache and order, small)" in texts(figure)
    ours = [
        runs("u32", 0.5, distance="uint32"),
        runs("u32-four", 0.4, distance="uint32", edges_per_thread=4),
        runs("atomic", 0.6, kernel="edge-bf-atomic"),
    ]
    source, other = edge_bf.performance(measured(*corners(), *ours)).axes
    assert set(curves(source)) == set(edge_bf.CORNERS.values())
    assert list(curves(other)) == ["cache and order", "32 bits", "32 bits, 4 edges per thread", "atomic"]


def test_gains_over_the_cpu_and_of_each_step_are_quotients_by_source():
    figure = edge_bf.speedup(measured(*corners(), cpu(30, sources=4)))
    gains = curves(figure.axes[0])
    assert [*gains["cache and order"], *gains["neither"]] == pytest.approx([30, 30 / 8])
    assert "best mean 30 (cache and order, small)" in texts(figure)
    figure = edge_bf.gains(measured(*corners(), *corners("large", 3)))
    lines = curves(figure.axes[0])
    assert figure.axes[0].get_yscale() == "log"
    expected = {"cache, edges sorted": 2, "cache, edges not sorted": 2, "order, cache on": 4}
    expected |= {"order, cache off": 4, "both": 8}
    for name, gain in expected.items():
        measured_gains = np.array(lines[name])
        np.testing.assert_allclose(measured_gains[np.isfinite(measured_gains)], [gain, gain])
    assert "on large cache and order is 2.00 times as fast as order only" in texts(figure)


def sweep_of_blocks(sweep, sources):
    tables = [runs(f"edge-bf-block-{block}", ms, block=block, sources=sources) for block, ms in sweep.items()]
    timings = pd.concat([*corners(sources=sources), *tables], ignore_index=True)
    return edge_bf.blocks(timings, [f"edge-bf-block-{block}" for block in sweep], "small")


@pytest.mark.parametrize(
    ("sweep", "sources", "said"),
    [
        ({64: 3, 256: 2, 1024: 4}, 9, "lowest median at 256, shown to be faster than at all other values"),
        ({64: 2.001, 256: 2, 1024: 4}, 9, "lowest median at 256, no difference shown from 64"),
        ({64: 3, 256: 2, 1024: 4}, 5, "lowest median at 256, not compared below 6 common sources"),
    ],
)
def test_a_block_size_is_called_best_by_a_test(sweep, sources, said):
    assert said in texts(sweep_of_blocks(sweep, sources))


def test_the_table_of_graphs_has_the_sizes_of_the_source():
    graph = {"name": "rmat-20", "vertices": 1 << 20, "arcs": 1 << 25}
    (line,) = edge_bf.graph_table([graph]).to_dict("records")
    assert line["Arcs in the paper"] == 33_554_432
    assert (line["Distances [MB]"], line["Edges [MB]"]) == ("8.000", "256.000")


RATE = {"device_kind": "cuda", "device": "NVIDIA X", "copy_gb_s": 4000.0}


def test_the_bandwidth_is_the_bytes_of_all_phases_over_the_time():
    table = edge_bf.bandwidth_table(pd.concat([runs("edge-bf", 2), cpu(9)]), RATE)
    (line,) = table.to_dict("records")
    gb_s = 5_000_000 * 4 / np.median(spread(2)) / 1e6
    assert line["GB/s"] == f"{gb_s:.3g}"
    assert line["Share of copy rate"] == f"{gb_s / 4000:.0%}"
    assert (line["MB per phase"], line["Phases"]) == ("5", "4")
    for other in ({"device": "NVIDIA Y"}, {"device_kind": "host"}):
        (line,) = edge_bf.bandwidth_table(runs("edge-bf", 2), RATE | other).to_dict("records")
        assert line["Share of copy rate"] == "", "a copy on another device"
