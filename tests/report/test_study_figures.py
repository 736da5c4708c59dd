"""Figures and tables of throughput, all pairs, the choice of auto, and preparation, read back as drawn."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.figures import all_pairs, choice, preparation, throughput, traffic
from relaxometer.results.verdict import verdict
from relaxometer.studies.registry import STUDIES
from synthetic_runs import searches, spread, texts


def launches(times_ms, *, graph="town", device_kind="cuda", failed=()):
    """Rows of throughput: three launches of each number, the middle one as given."""
    rows = []
    for count, time_ms in times_ms.items():
        for repetition, factor in enumerate((0.5, 1, 3)):
            row = {"graph": graph, "searches": count, "repetition": repetition}
            row |= {"time_ms": time_ms * factor, "proven": count, "status": "ok", "reason": ""}
            if count in failed:
                row |= {"time_ms": np.nan, "proven": 0, "status": "oom", "reason": "9 GB"}
            rows.append(row | {"device_kind": device_kind, "device": "NVIDIA X"})
    return pd.DataFrame(rows)


TOWN = {1: 4.0, 100: 5.0, 1000: 40.0}
"""250, 20,000 and 25,000 searches per second."""


class TestThroughput:
    """Searches per second."""

    def test_the_curve_is_searches_over_the_median_of_launches(self):
        figure = throughput.throughput(launches(TOWN), searches("tiled", spread(2)), "town")
        curve, level = figure.axes[0].lines
        np.testing.assert_array_equal(curve.get_xdata(), [1, 100, 1000])
        np.testing.assert_allclose(curve.get_ydata(), [250, 20_000, 25_000])
        np.testing.assert_allclose(level.get_ydata(), 1e3 / np.median(spread(2)))

    def test_the_finding_holds_the_best_rate_against_the_best_single_search(self):
        timings = pd.concat([searches("tiled", [2.0] * 4), searches("near-far", [4.0] * 4)])
        shown = texts(throughput.throughput(launches(TOWN), timings, "town"))
        assert (
            "25,000 searches per second by many-sources with 1,000 at once; 3,303 of 3,303 answers proven"
            in shown
        )
        assert "50 times the rate of tiled, one after the other" in shown

    def test_lines_close_to_each_other_share_a_label(self):
        rates_ms = {"fast": 1.0, "near": 1.2, "far": 9.0}
        timings = pd.concat([searches(name, [time_ms] * 2) for name, time_ms in rates_ms.items()])
        shown = texts(throughput.throughput(launches(TOWN), timings, "town"))
        assert "fast, near, one after the other" in shown
        assert "far, one after the other" in shown

    def test_a_number_that_failed_is_no_point_and_has_a_line(self):
        table = launches(TOWN, failed={1000})
        timings = searches("tiled", [2.0])
        assert list(throughput.throughput(table, timings, "town").axes[0].lines[0].get_xdata()) == [1, 100]
        lines = throughput.throughput_table(table, timings).set_index(["Variant", "At once"])
        many = [("many-sources", count) for count in ("100", "1", "1,000")]
        assert lines.index.tolist() == [many[0], ("tiled", "1"), *many[1:]]
        assert lines["Searches per second"].tolist() == ["20,000", "500", "250", ""]
        assert lines["Status"].tolist() == ["ok", "ok", "ok", "oom"]
        assert lines["Proven"].tolist() == ["100%", "100%", "100%", "0%"]

    def test_one_failed_launch_of_several_is_named(self):
        table = pd.concat([launches({1: 1.0}), launches({1: 1.0}, failed={1})])
        shown = texts(throughput.throughput(table, searches("tiled", [2.0]), "town"))
        assert "Of each number of searches, a launch failed: 9 GB" in shown

    def test_many_sources_by_itself_is_a_single_search(self):
        table = throughput.throughput_table(launches({10: 5.0}), searches("many-sources", [4.0]))
        assert table[["At once", "Searches per second"]].values.tolist() == [["10", "2,000"], ["1", "250"]]

    def test_every_variant_has_its_curve_and_lines(self):
        fast = launches({1: 2.0, 100: 2.5}).assign(variant="phast-many")
        table = pd.concat([launches(TOWN).assign(variant="many-sources"), fast])
        figure = throughput.throughput(table, searches("tiled", spread(2)), "town")
        slow, quick, _ = figure.axes[0].lines
        np.testing.assert_allclose(slow.get_ydata(), [250, 20_000, 25_000])
        np.testing.assert_allclose(quick.get_ydata(), [500, 40_000])
        assert "40,000 searches per second by phast-many with 100 at once" in texts(figure)
        lines = throughput.throughput_table(table, searches("tiled", [4.0]))
        assert lines["Variant"].tolist()[:2] == ["phast-many", "many-sources"]

    def test_other_graphs_and_problems_are_left_out(self):
        timings = pd.concat([searches("a", [1.0], graph="city"), searches("b", [1.0]).assign(problem="bfs")])
        table = throughput.throughput_table(launches({10: 5.0}), timings)
        assert table["Variant"].tolist() == ["many-sources"]
        table = throughput.throughput_table(launches({10: 5.0}), timings, "bfs")
        assert table["Variant"].tolist() == ["many-sources", "b"]


CLASSES = {"routingkit": ("cpu-1", 1), "routingkit-cpp": ("cpu-all", 16)}
"""Class and threads of rivals; variants have none."""


def changes(times_ms, *, graph="town", failed=(), **kinds):
    """Rows of traffic: three rounds of each variant, the middle one as given: weights, first tree, others."""
    rows = []
    for variant, (update_ms, first_ms, tree_ms) in times_ms.items():
        for number, factor in enumerate((0.5, 1, 3)):
            row = {
                "graph": graph,
                "variant": variant,
                "round": number,
                "slowed": 7,
                "status": "ok",
                "reason": "",
                **dict(zip(("class", "threads"), CLASSES.get(variant, (None, np.nan)), strict=True)),
            }
            row |= {
                "update_ms": update_ms * factor,
                "first_ms": first_ms * factor,
                "tree_ms": tree_ms * factor,
            }
            row |= {
                "way": "customized" if variant == "phast" else "prepared anew",
                "searches": 8,
                "proven": 8,
            }
            if (variant, number) in failed:
                row |= {"update_ms": np.nan, "first_ms": np.nan, "tree_ms": np.nan, "proven": np.nan}
                row |= {"status": "oom", "reason": "9 GB", "way": None, "searches": np.nan}
            kind = kinds.get(variant.replace("-", "_"), "cuda")
            rows.append(row | {"device_kind": kind, "device": "EPYC" if kind == "cpu" else "NVIDIA X"})
    return pd.DataFrame(rows)


ROADS = {"phast": (1.0, 0.5, 0.25), "tiled": (2000.0, 1.0, 1.0), "dijkstra-cpu": (0.0, 40.0, 40.0)}


class TestTraffic:
    """Trees after a change of weights."""

    def test_a_line_is_the_time_per_tree_with_its_share_of_the_change(self):
        figure = traffic.traffic(changes(ROADS, dijkstra_cpu="cpu"), "town")
        lines = {line.get_label(): line for line in figure.axes[0].lines}
        assert lines.keys() == ROADS.keys()
        for name, (update_ms, first_ms, tree_ms) in ROADS.items():
            trees, per_tree = lines[name].get_data()
            assert (trees[0], trees[-1]) == (1, 10_000)
            assert per_tree[0] == pytest.approx(update_ms + first_ms)
            assert per_tree[-1] == pytest.approx((update_ms + first_ms + 9_999 * tree_ms) / 10_000)

    def test_the_finding_holds_the_first_tree_and_the_proofs(self):
        shown = texts(traffic.traffic(changes(ROADS, dijkstra_cpu="cpu"), "town"))
        assert "First tree after new weights: phast, 1.5 ms (1 ms for the weights)" in shown
        assert ". 72 answers proven" in shown
        assert "Further trees" not in shown
        other = ROADS | {"tiled": (2000.0, 1.0, 0.2)}
        assert "Further trees: tiled, 0.2 ms each" in texts(traffic.traffic(changes(other), "town"))

    def test_a_variant_with_a_failed_round_has_a_line_in_the_table_only(self):
        table = changes(ROADS, failed={("phast", 2)}, dijkstra_cpu="cpu")
        drawn = {line.get_label() for line in traffic.traffic(table, "town").axes[0].lines}
        assert drawn == {"tiled", "dijkstra-cpu"}
        lines = traffic.traffic_table(table).set_index("Variant")
        assert lines.index.tolist() == ["dijkstra-cpu", "tiled", "phast"]
        assert lines["Weights and first tree [ms]"].tolist() == ["40", "2,001", ""]
        assert lines["Status"].tolist() == ["ok", "ok", "oom"]
        assert lines["Proven"].tolist() == ["100%", "100%", "100%"]
        assert lines["Clock"].tolist() == ["CPU", "GPU", "GPU"]

    def test_rivals_show_their_class_and_threads(self):
        rivals = {"routingkit": (60.0, 20.0, 20.0), "routingkit-cpp": (9.0, 20.0, 20.0)}
        table = changes(ROADS | rivals, dijkstra_cpu="cpu", routingkit="cpu", routingkit_cpp="cpu")
        lines = traffic.traffic_table(table)
        assert dict(zip(lines["Variant"], lines["Class"], strict=True)) == {
            "phast": "",
            "routingkit-cpp": "cpu-all, threads: 16",
            "dijkstra-cpu": "",
            "routingkit": "cpu-1",
            "tiled": "",
        }
        figure = traffic.traffic(table, "town")
        assert {line.get_label() for line in figure.axes[0].lines} == set(lines["Variant"])

    def test_each_graph_has_its_own_lines(self):
        both = pd.concat([changes(ROADS), changes({"phast": (9.0, 1.0, 1.0)}, graph="city")])
        assert len(traffic.traffic(both, "city").axes[0].lines) == 1
        shown = traffic.traffic_table(both)
        assert shown["Graph"].tolist() == ["town"] * 3 + ["city"]
        assert shown["New weights"].tolist() == ["customized", "prepared anew", "prepared anew", "customized"]


def passes(*, device_kind="cuda", **options):
    """The passes of all pairs of 1,000 vertices: 0.2 s, and 0.5 with the proof."""
    rows = {
        **{"graph": "town", "proof": [False, True], "sources": 1000, "prepare_ms": [1500.0, 1600.0]},
        **{"time_ms": [200.0, 500.0], "proven": [0, 1000], "status": "ok", "reason": ""},
        **{"device_kind": device_kind, "device": "NVIDIA X"},
    }
    return pd.DataFrame(rows | options)


class TestVerdict:
    """Launches with wrong answers fail the run as single searches do."""

    def test_every_study_with_a_status_is_judged(self):
        for name, study in STUDIES.items():
            module, _, _ = study.measure.partition(":")
            module = importlib.import_module(module)
            tables = (getattr(module, one, None) for one in ("TABLE", "PASSES"))
            has_status = any(table is not None and "status" in table.names for table in tables)
            assert (study.describe is not None) == has_status, name

    @pytest.mark.parametrize(
        ("study", "table", "wrong", "said"),
        [
            (
                "throughput",
                launches(TOWN).assign(variant="many-sources"),
                4,
                "100 searches at once by many-sources on town",
            ),
            ("traffic", changes(ROADS), 1, "phast on town after change 1 of its weights"),
            ("all_pairs", passes(), 1, "all pairs of town, with the proof"),
            (
                "updates",
                pd.DataFrame({"graph": "flow", "change": ["removed", "added"], "arcs": 1000, "status": "ok"}),
                1,
                "dominators incremental on flow, arcs added: 1,000",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) and " " not in value else "",
    )
    def test_a_wrong_answer_of_a_study_is_named(self, tmp_path, study, table, wrong, said):
        summary, file = tmp_path / "summary.csv", tmp_path / "study.parquet"
        summary.write_text("problem,graph,variant,status,reason\n", encoding="utf-8")
        table = table.reset_index(drop=True).assign(reason="")
        table.to_parquet(file)
        assert "error" not in verdict(summary, {study: [file]})
        table.loc[wrong, ["status", "reason"]] = ["invalid", "rule tree"]
        table.to_parquet(file)
        head, line = verdict(summary, {study: [file]}).splitlines()
        assert head.startswith("error: 1 of ")
        assert line == f"{said}: invalid (rule tree)"

    @pytest.mark.parametrize(
        ("statuses", "head"),
        [
            (["ok"], "1 run measured, every answer proven correct"),
            (["ok", "ok"], "2 runs measured, every answer proven correct"),
            (["error"], "error: 1 of 1 measurement is not ok: "),
            (["error", "ok"], "error: 1 of 2 measurements is not ok: "),
            (["error", "error"], "error: 2 of 2 measurements are not ok: "),
        ],
    )
    def test_numbers_agree_with_their_nouns(self, tmp_path, statuses, head):
        summary = tmp_path / "summary.csv"
        rows = [f"sssp,town,tiled,{status}," for status in statuses]
        summary.write_text("\n".join(["problem,graph,variant,status,reason", *rows, ""]), encoding="utf-8")
        assert verdict(summary).startswith(head)

    def test_runs_without_an_answer_to_prove_are_named(self, tmp_path):
        summary = tmp_path / "summary.csv"
        rows = ["sssp,town,tiled,ok,", "sssp,town,silent,unproven,it gives no answer that could be proven"]
        summary.write_text("\n".join(["problem,graph,variant,status,reason", *rows, ""]), encoding="utf-8")
        (head,) = verdict(summary).splitlines()
        assert head.endswith("every answer proven correct; without an answer to prove: sssp silent on town")

    def test_what_a_broken_rule_demands_is_said_once(self, tmp_path):
        summary = tmp_path / "summary.csv"
        broken = "rule tree_levels broken 3 times, first at vertex 7; rule spanning broken once, first at 1"
        rows = [f'bfs,{graph},mine,invalid,"{broken}"' for graph in ("town", "city")]
        summary.write_text("\n".join(["problem,graph,variant,status,reason", *rows, ""]), encoding="utf-8")
        head, _, _, *notes = verdict(summary).splitlines()
        assert head.startswith("error: 2 of 2")
        assert notes == [
            "note: rule tree_levels of bfs: a vertex is exactly one level below its predecessor",
            "note: rule spanning of bfs: no arc leads from a reached vertex to an unreached one",
        ]

    def test_the_first_line_says_how_far_the_speed_changed(self, tmp_path):
        summary, known = tmp_path / "summary.csv", tmp_path / "context.json"
        summary.write_text("problem,graph,variant,status,reason\nsssp,town,tiled,ok,\n", encoding="utf-8")
        run = {"problem": "sssp", "graph": "town"}
        context = {"run": run, "device_kind": "cpu", "reference_ms": {"before": 1.0, "after": 1.5}}
        known.write_text(json.dumps(context), encoding="utf-8")
        head, warning = verdict(summary, contexts=[known]).splitlines()
        assert head.endswith("every answer proven correct; the machine's speed changed by up to 50%")
        assert warning.startswith("warning: sssp on town")


def components(**options):
    """A component of 990 vertices and one of 10."""
    rows = {
        **{"graph": "town", "component": [0, 1], "vertices": [10, 990], "sources": [10, 990]},
        **{"proven": [10, 990], "strong": True, "radius": [3.0, 500.0], "centre": [[991], [7, 8]]},
        **{"diameter": [4.0, 900.0], "periphery": [[992], [1, 2]], "farthest": [993.0, 2.0]},
    }
    return pd.DataFrame(rows | options)


def town_sources():
    """Eccentricities 500 to 900 in the large component, 3 and 4 in the other; one source is not proven."""
    large = pd.DataFrame({"component": 1, "eccentricity": np.linspace(500, 900, 990).round(), "proven": True})
    small = pd.DataFrame({"component": 0, "eccentricity": [3.0] * 5 + [4.0] * 5, "proven": True})
    refused = pd.DataFrame({"component": [1], "eccentricity": [np.nan], "proven": [False]})
    return pd.concat([large, small, refused], ignore_index=True)


TOWN_GRAPH = {"name": "town", "weight_unit": "metres"}


class TestAllPairs:
    """Eccentricities, radius and diameter."""

    def test_bars_are_the_shares_of_the_largest_component(self):
        figure = all_pairs.eccentricities(town_sources(), components(), passes(), TOWN_GRAPH)
        bars = figure.axes[0].patches
        assert sum(bar.get_height() for bar in bars) == pytest.approx(1)
        assert (bars[0].get_x(), bars[-1].get_x() + bars[-1].get_width()) == pytest.approx((500, 900))
        shown = texts(figure)
        assert "Radius 500 at vertex 7 and 1 more; diameter 900 from vertex 1 to 2" in shown
        assert "NVIDIA X; distances from 1,000 of 1,000 sources proven in 0.5 s, found in 0.2 s" in shown
        assert "[metres]" in shown
        assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [500, 900]

    def test_drawn_sources_give_bounds(self):
        found = components(sources=[0, 40], proven=[0, 40])
        shown = texts(all_pairs.eccentricities(town_sources(), found, passes(), TOWN_GRAPH))
        assert "Radius at most 500" in shown
        assert "diameter at least 900" in shown

    def test_without_a_vertex_that_reaches_all_there_is_no_radius(self):
        found = components(radius=[3.0, np.nan], centre=[[991], []], strong=[True, False])
        figure = all_pairs.eccentricities(town_sources(), found, passes(), TOWN_GRAPH)
        assert len(figure.axes[0].lines) == 1
        assert "Diameter 900 from vertex 1 to 2; some vertices do not reach all others" in texts(figure)
        line = all_pairs.components_table(found, [TOWN_GRAPH]).iloc[0]
        assert (line["Radius"], line["Centre"], line["All reach all"]) == ("", "", "no")

    def test_what_was_not_wholly_proven_is_never_100_percent(self):
        assert all_pairs.passes_table(passes(proven=999.0))["Proven"].tolist() == ["", "99%"]
        line = all_pairs.components_table(components(proven=[10, 989]), [TOWN_GRAPH]).iloc[0]
        assert line["Proven"] == "99%"

    def test_an_unknown_farthest_vertex_is_not_named(self):
        found = components(farthest=[np.nan, np.nan])
        shown = texts(all_pairs.eccentricities(town_sources(), found, passes(), TOWN_GRAPH))
        assert "diameter 900 from vertex 1 NVIDIA" in shown

    def test_emulated_times_are_not_shown_as_times(self):
        shown = texts(
            all_pairs.eccentricities(town_sources(), components(), passes(device_kind="host"), TOWN_GRAPH)
        )
        assert "not GPU times" in shown
        assert "found in" not in shown

    def test_a_skipped_graph_says_why(self):
        skipped = passes(status="skipped", reason="made for maps", time_ms=np.nan, proven=np.nan)
        empty = components().head(0)
        figure = all_pairs.eccentricities(town_sources().head(0), empty, skipped, TOWN_GRAPH)
        assert "Nothing was proven: made for maps" in texts(figure)
        assert all_pairs.components_table(empty, [TOWN_GRAPH]).columns.tolist() == all_pairs.COLUMNS
        table = all_pairs.passes_table(skipped)
        assert table[["Time [s]", "Proven", "Status"]].values.tolist() == [["", "", "skipped"]] * 2

    def test_tables_have_the_largest_component_first_and_both_times(self):
        table = all_pairs.components_table(components(), [TOWN_GRAPH])
        assert table["Vertices"].tolist() == ["990", "10"]
        assert table.iloc[0].to_dict() == {
            **{
                "Graph": "town",
                "Vertices": "990",
                "Sources": "990",
                "Proven": "100%",
                "All reach all": "yes",
            },
            **{
                "Radius": "500",
                "Centre": "7 and 1 more",
                "Diameter": "900",
                "From": "1 and 1 more",
                "To": "2",
            },
            **{"Exact": "yes", "Unit": "metres"},
        }
        times = all_pairs.passes_table(passes())
        assert times["Sources per second"].tolist() == ["5,000", "2,000"]
        assert times["Proven"].tolist() == ["", "100%"]
        assert times["Preparation [s]"].tolist() == ["1.5", "1.6"]


def auto(times_ms, chosen, *, count=100, **options):
    """Rows of auto: what it resolved is in columns of their own."""
    resolved = {
        "chosen": chosen,
        "because": "a map (mean degree 3, largest 8)",
        "searches": count,
        "expected": "tiled 90 ms, near-far 200 ms",
        "probed": f"{chosen} 1 ms",
        "probe_ms": 40.0,
    }
    columns = {f"parameter_{name}": value for name, value in resolved.items()}
    return searches("auto", times_ms, **options).assign(**columns)


class TestChoice:
    """The regret of auto."""

    TIMINGS = pd.concat(
        [
            auto([1.0, 2.0, 3.0], "tiled"),
            searches("tiled", [1.0, 2.0, 3.0]),
            searches("near-far", [4.0, 5.0, 6.0]),
            auto([6.0] * 3, "near-far", graph="city"),
            searches("tiled", [4.0] * 3, graph="city"),
            searches("near-far", [5.0] * 3, graph="city"),
            searches("wrong", [0.1] * 3, graph="city", status="invalid"),
            searches("emulated", [0.1] * 3, graph="city", device_kind="host"),
        ]
    )

    def test_regret_is_against_the_best_proven_variant_on_the_same_clock(self):
        table = choice.regrets(self.TIMINGS).set_index("graph")
        assert table["best"].to_dict() == {"town": "tiled", "city": "tiled"}
        assert table["regret"].to_dict() == {"town": 0, "city": 600.5 / 400.5 - 1}
        assert choice.in_short(table) == "auto is within 10% of the least total in 1 of 2 choices"

    @pytest.mark.parametrize(
        ("count", "best", "regret"),
        [(1, "tiled", 0), (1000, "phast", 2001 / 701 - 1)],
    )
    def test_preparation_and_the_searches_chosen_for_are_counted(self, count, best, regret):
        timings = pd.concat(
            [
                auto([2.0] * 3, "tiled", count=count, prepare_ms=1.0),
                searches("tiled", [2.0] * 3, prepare_ms=1.0),
                searches("phast", [0.2] * 3, prepare_ms=501.0),
            ]
        )
        table = choice.regrets(timings)
        assert table[["searches", "best"]].values.tolist() == [[count, best]]
        assert table["regret"].tolist() == [pytest.approx(regret)]

    @pytest.mark.parametrize(("auto_ms", "good"), [(1.09, 1), (1.11, 0), (0.9, 1)])
    def test_ten_percent_is_the_limit(self, auto_ms, good):
        table = choice.regrets(pd.concat([auto([auto_ms] * 3, "tiled"), searches("tiled", [1.0] * 3)]))
        assert choice.in_short(table) == f"auto is within 10% of the least total in {good} of 1 choices"

    def test_only_common_sources_are_compared(self):
        timings = pd.concat([auto([1.0, 1.0, 100.0], "tiled"), searches("tiled", [1.0, 1.0])])
        assert choice.regrets(timings)["regret"].tolist() == [0]

    def test_the_figure_has_few_searches_first(self):
        counts = [100, 1, 1000]
        ours = [auto([2.0] * 3, "tiled", count=count) for count in counts]
        ours = [one.assign(variant=f"auto-{count}") for one, count in zip(ours, counts, strict=True)]
        (axes,) = choice.regret_figure(pd.concat([*ours, searches("tiled", [2.0] * 3)])).axes
        shown = [text.get_text() for text in axes.get_yticklabels()]
        assert shown == ["town, 1,000", "town, 100", "town, 1"]  # from the bottom

    def test_the_table_says_what_why_and_at_what_cost(self):
        table = choice.regret_table(self.TIMINGS).set_index("Graph")
        assert table.loc["city"].to_dict() == {
            "Clock": "GPU",
            "Searches": "100",
            "Chosen": "near-far",
            "Why": "a map (mean degree 3, largest 8); expected tiled 90 ms, near-far 200 ms; "
            "probed near-far 1 ms per search",
            "auto [ms]": "6",
            "Preparation [ms]": "0.5",
            "Total [ms]": "600",
            "Best variant": "tiled",
            "Best [ms]": "4",
            "Best total [ms]": "400",
            "Regret": "50%",
            "Probe searches [ms]": "40",
        }
        assert table.index[-1] == "auto is within 10% of the least total in 1 of 2 choices"

    def test_the_figure_has_a_point_a_graph(self):
        figure = choice.regret_figure(self.TIMINGS)
        points = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == "None"]
        np.testing.assert_allclose(points, [600.5 / 400.5, 1])
        shown = texts(figure)
        assert "auto is within 10% of the least total in 1 of 2 choices" in shown
        assert "near-far, 600 ms; best: tiled, 400 ms" in shown
        assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["city, 100", "town, 100"]

    def test_a_regret_of_next_to_nothing_has_no_sign(self):
        timings = pd.concat([auto([0.999] * 3, "tiled"), searches("tiled", [1.0] * 3)])
        assert choice.regret_table(timings)["Regret"].iloc[0] == "0%"

    def test_emulated_runs_are_not_counted(self):
        timings = pd.concat(
            [auto([1.0], "tiled", device_kind="host"), searches("tiled", [1.0], device_kind="host")]
        )
        assert len(choice.regrets(timings)) == 1
        assert choice.in_short(choice.regrets(timings)) == choice.NO_CHOICES
        assert "emulated" in choice.regret_figure(timings).axes[0].get_xlabel()

    def test_alone_it_is_not_compared(self):
        timings = auto([1.0], "tiled")
        assert choice.regrets(timings).empty
        assert choice.NO_CHOICES in texts(choice.regret_figure(timings))
        assert choice.regret_table(timings)["Graph"].tolist() == [choice.in_short(choice.regrets(timings))]


class TestPreparation:
    """When preparation pays."""

    def test_searches_until_a_variant_has_caught_up(self):
        timings = pd.concat(
            [
                searches("sorted", [1.0] * 3).assign(prepare_ms=1000.0),
                searches("cut", [2.0] * 3).assign(prepare_ms=10.0, cold_ms=17.0),
                searches("plain", [5.0] * 3).assign(prepare_ms=0.5),
                searches("slow", [50.0] * 3).assign(prepare_ms=20.0),
                searches("cpu", [40.0] * 3, device_kind="cpu").assign(prepare_ms=0.0),
                searches("emulated", [0.1] * 3, device_kind="host").assign(prepare_ms=0.1),
                searches("wrong", [0.1] * 3, status="invalid").assign(prepare_ms=0.1),
            ]
        )
        table = preparation.payoff_table(timings).set_index("Variant")
        assert table.columns.tolist() == [name for name in preparation.COLUMNS if name != "Variant"]
        # cut: 9.5 ms owed at 3 ms a search; sorted: 999.5 at 4.
        assert table["Pays after [searches]"].to_dict() == {
            "emulated": "",
            "plain": preparation.FIRST,
            "cut": "4",
            "cpu": preparation.NEVER,
            "slow": preparation.NEVER,
            "sorted": "250",
        }
        assert table.loc["sorted", "Preparation and one search [ms]"] == "1,001"
        assert table.loc["cut", "Cold: to the first answer [ms]"] == "17"
        without = preparation.payoff_table(timings.drop(columns="cold_ms")).set_index("Variant")
        assert without.loc["cut", "Cold: to the first answer [ms]"] == ""
        assert without.loc["cut", "Preparation and one search [ms]"] == "12"
        assert table.loc["cpu", "Class"] == "1 core"

    @pytest.mark.parametrize(
        ("ours", "other", "searches_needed"),
        [
            ((10, 1), (0, 2), "10"),
            ((10.5, 1), (0, 2), "11"),
            ((10, 2), (0, 2), "never"),
            ((10, 1.99), (0, 2), "never"),
            ((0, 1), (0, 2), "1"),
        ],
    )
    def test_at_that_number_the_sums_are_equal_or_less(self, ours, other, searches_needed):
        assert preparation.pays_after(*ours, *other) == searches_needed

    def test_searches_until_a_cpu_has_been_overtaken(self):
        timings = pd.concat(
            [
                searches("sorted", [1.0] * 3).assign(prepare_ms=1000.0),
                searches("plain", [5.0] * 3).assign(prepare_ms=0.5),
                searches("slow", [50.0] * 3).assign(prepare_ms=20.0),
                searches("emulated", [0.1] * 3, device_kind="host").assign(prepare_ms=0.1),
                searches("dijkstra-cpu", [41.0] * 3, device_kind="cpu").assign(prepare_ms=0.0),
            ]
        )
        column = "Pays against CPU Dijkstra after [searches]"
        table = preparation.payoff_table(timings).set_index("Variant")
        # sorted: 1000 ms owed at 40 ms a search.
        shown = {"sorted": "25", "plain": "1", "slow": preparation.NEVER, "emulated": "", "dijkstra-cpu": ""}
        assert table[column].to_dict() == shown
        assert table.index[-1] == "emulated", "although its time is the least"
        without = preparation.payoff_table(timings[timings["variant"] != "dijkstra-cpu"])
        assert set(without[column]) == {""}

    def test_each_graph_has_its_own_first(self):
        timings = pd.concat(
            [
                searches("a", [1.0], graph=graph).assign(prepare_ms=prepare_ms)
                for graph, prepare_ms in (("town", 0.0), ("city", 9.0))
            ]
        )
        assert preparation.payoff_table(timings)["Pays after [searches]"].tolist() == [preparation.FIRST] * 2

    def test_without_any_proven_search_the_table_is_empty(self):
        timings = searches("wrong", [1.0], status="invalid").assign(prepare_ms=0.0)
        assert preparation.payoff_table(timings).empty
