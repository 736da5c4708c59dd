"""What stands in the figures and tables, read back from what was drawn."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from relaxometer.cli import headline as headline_program
from relaxometer.cli.command import call
from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import Graph
from relaxometer.report.figures import graphs, maps, style, summary
from relaxometer.report.papers import adaptive
from relaxometer.results.claims import load_claims
from relaxometer.results.processes import with_processes
from synthetic_runs import metadata, phases, quiet, searches, spread, summary_of, texts

ROOT = Path(__file__).parents[2]


def test_figure_3_draws_the_share_of_arcs():
    weights = np.repeat(np.array([10, 1000], dtype=np.uint32), [30, 70])
    figure = graphs.arc_weights(weights, metadata())
    line = figure.axes[0].lines[0]
    at, share = np.array(line.get_xdata()), np.array(line.get_ydata())
    assert share[at < 999].max() == pytest.approx(0.3)
    assert share[-1] == 1
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_xlabel() == "Arc weight [ms]"
    assert "median 1,000" in texts(figure)
    assert "mean 703" in texts(figure)


def test_figures_4_and_6_draw_five_sources_and_mark_the_phases_over_all_vertices():
    table = phases("conventional", [5, 50, 7, 0], sources=8)
    figure = adaptive.updated_per_phase(table, "town")
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == [f"{name} (vertex {i})" for i, name in enumerate("ABCDE")]
    np.testing.assert_array_equal(lines[0].get_ydata(), [5, 50, 7, 0])
    assert "4 phases over 8 sources" in texts(figure)
    table = phases("adaptive", [1, 30, 40, 2, 0])
    table["mode"] = ["selected", "all", "all", "selected", "selected"] * 2
    figure = adaptive.phase_times(pd.concat([phases("conventional", [1, 30, 40, 2, 0]), table]), "town")
    assert "adaptive ran 2 of 5 phases over all vertices" in texts(figure)
    time_axes = figure.axes[0]
    assert time_axes.get_yscale() == "log"
    (band,) = time_axes.patches
    assert (band.get_x(), band.get_width()) == (1.5, 2)
    assert [line.get_label() for line in time_axes.lines] == ["conventional", "adaptive"]


def test_figure_7_draws_means_from_small_to_large_and_says_what_the_test_shows():
    table = pd.concat(
        [
            searches("conventional", spread(10), graph="large"),
            searches("adaptive", spread(8), graph="large"),
            searches("conventional", spread(2), graph="small"),
            searches("adaptive", spread(2), graph="small"),
        ]
    )
    figure = adaptive.mean_times(table, [metadata("large", 2000), metadata("small", 500)])
    heights = [container.lines[0].get_ydata() for container in figure.axes[0].containers]
    np.testing.assert_allclose(
        heights, [[np.mean(spread(2)), np.mean(spread(10))], [np.mean(spread(2)), np.mean(spread(8))]]
    )
    assert "large: adaptive is 1.25 times as fast as conventional" in texts(figure)
    assert "small: adaptive and conventional: no difference shown" in texts(figure)


def test_the_values_of_the_paper_are_those_of_the_claims_and_shown():
    shown = searches("conventional", spread(10), graph="kanto-like")
    swept = searches("adaptive-9", spread(9), graph="kanto-like", kernel="adaptive", to_all_us=9)
    axes = adaptive.mean_times(shown, [metadata("kanto-like")]).axes[0]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [float(line.get_ydata()[0]) for line in crosses] == [107.0]
    axes = adaptive.thresholds(pd.concat([shown, swept]), ["adaptive-9"], "kanto-like").axes[0]
    assert "best in the paper: 350 µs (K20c)" in [text.get_text() for text in axes.get_legend().get_texts()]
    claims = load_claims(ROOT / "resources/claims/adaptive.yaml")
    means = {(one.graph, one.of): one.claimed for one in claims if one.quantity == "mean_time"}
    assert means == adaptive.PAPER_MS
    best = [one.claimed for one in claims if one.quantity == "best_threshold"]
    assert best == [adaptive.PAPER_BEST_US]


def test_figure_8_compares_over_the_sources_of_the_sweep():
    slow_elsewhere = [*spread(10, 8), *[1000.0] * 8]
    sweep = {20: 11, 40: 8, 60: 9, 100: 12}
    swept = [
        searches(f"adaptive-{to_all}", spread(mean, 8), kernel="adaptive", to_all_us=to_all)
        for to_all, mean in sweep.items()
    ]
    table = with_processes(pd.concat([searches("conventional", slow_elsewhere), *swept, quiet()]))
    table = table[table["graph"] == "town"]
    figure = adaptive.thresholds(table, [f"adaptive-{to_all}" for to_all in sweep], "town")
    curve = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == len(sweep))
    np.testing.assert_array_equal(curve.get_xdata(), list(sweep))
    conventional = next(line for line in figure.axes[0].lines if line.get_label() == "conventional")
    assert conventional.get_ydata()[0] == pytest.approx(np.mean(spread(10, 8)))
    assert "lowest mean at 40 µs; faster than conventional from 40 to 60 µs" in texts(figure)


def test_table_1_stands_beside_the_source():
    table = graphs.table_1([metadata()])
    assert table["Suzuki et al."].tolist() == ["1427876", "4584822", "3.2", "83666", "184384", "", ""]
    assert table["town"].tolist() == ["1000", "3200", "3.2", "83666", "184384", "ms", ""]
    floats = {"weight_type": "float32", "weight_unit": "s", "mean_weight": 31.2345, "sd_weight": 0.004}
    table = graphs.table_1([metadata() | floats])
    assert table["town"].tolist() == ["1000", "3200", "3.2", "31.23", "0.004", "s", "float32"]
    assert graphs.types_of({"weight_type": "uint32", "distance_type": "uint64"}) == "uint32, distances uint64"
    assert graphs.types_of({"weight_type": "int32", "distance_type": "int32"}) == "int32"
    assert graphs.types_of({}) == ""


def test_the_headline_says_over_how_many_sources_its_intervals_are():
    def said(*tables):
        return texts(summary.median_times(summary_of(*tables)))

    wide, few = searches("wide", spread(1, 12)), searches("few", [1.0, 2.0])
    root = searches("batch-warp", [1.0], repetitions=8, problem="dominators", graph="cfg")
    assert "intervals of the median over 12 sources. Log" in said(wide, few)
    less = searches("less", spread(1, 8))
    assert "over 8 to 12 sources or the repetitions of one search" in said(wide, less, root)
    assert "No intervals: fewer than 6 sources" in said(few)


@pytest.fixture
def square():
    """Four corners of a degree; the last cannot be reached from the first."""
    return Graph.from_arcs(
        "square",
        4,
        [0, 1, 1, 2, 3],
        [1, 0, 2, 1, 0],
        [60_000, 60_000, 120_000, 120_000, 5],
        lon=np.array([139.0, 140.0, 140.0, 139.0]),
        lat=np.array([35.0, 35.0, 36.0, 36.0]),
        metadata={"weight_unit": "ms", "attribution": "© OpenStreetMap contributors", "license": "ODbL 1.0"},
    )


def answer_of(distance, predecessor):
    arrays = {"distance": distance, "predecessor": predecessor}
    return {name: np.array(values, dtype=np.uint32) for name, values in arrays.items()}


def test_a_map_colours_each_road_once_by_the_distance_of_its_middle(square):
    nowhere = 2**32 - 1
    figure = maps.distance_map(square, answer_of([0, 60_000, 180_000, nowhere], [0, 0, 1, nowhere]))
    unreached, reached = (part for part in figure.axes[0].collections if isinstance(part, LineCollection))
    np.testing.assert_allclose(sorted(reached.get_array()), [0.5, 2.0])
    assert len(unreached.get_segments()) == 1
    assert "© OpenStreetMap contributors, ODbL 1.0" in texts(figure)
    assert "the furthest vertex is 3 min away" in texts(figure)
    assert figure.axes[0].get_aspect() == pytest.approx(1 / np.cos(np.radians(35.5)))


def test_the_colours_of_a_map_change_at_equal_steps_unless_few_roads_are_far():
    np.testing.assert_allclose(np.diff(maps.band_limits(np.linspace(0, 100, 999))), 10)
    skewed = np.concatenate([np.linspace(0, 10, 999), [1000]])
    limits = maps.band_limits(skewed)
    shares = np.histogram(skewed, limits)[0] / len(skewed)
    assert len(shares) == maps.BANDS
    np.testing.assert_allclose(shares, 0.1, atol=0.02)


def test_a_map_without_coordinates_or_a_proven_answer_says_so(square):
    bare = Graph.from_arcs("bare", 2, [0], [1], [1])
    with pytest.raises(UserError, match=r"bare has no coordinates.*report\.maps"):
        maps.distance_map(bare, answer_of([0, 1], [0, 0]))
    assert "proven correct" in texts(maps.distance_map(square, answer_of([], [])))


def test_svg_keeps_text_and_is_the_same_each_time_and_a_png_has_few_colours(tmp_path, square):
    for name in ("one.svg", "two.svg"):
        style.save(adaptive.updated_per_phase(phases("conventional", [1, 9, 0]), "town"), tmp_path / name)
    one = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert one == (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert re.search(r"<text[^>]*>Updated vertices</text>", one)
    assert not list(tmp_path.glob("*.part"))
    style.save(maps.distance_map(square, answer_of([0, 1, 2, 3], [0, 0, 1, 0])), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[25] == 3, "the colour type is a palette"


def test_a_missing_table_of_the_headline_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(headline_program, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match=r"^error: [^\n]*summary\.csv is missing[^\n]*$"):
        call(["headline"])
