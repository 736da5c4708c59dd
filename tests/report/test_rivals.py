"""Rivals in the report: their look, names, tables and the performance profile."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from relaxometer.plan.plan import Plan
from relaxometer.report.catalogue import Inputs, exhibits
from relaxometer.report.catalogue import targets as wanted
from relaxometer.report.figures import (
    choice,
    preparation,
    profiles,
    summary,
    throughput,
    winners,
    work,
)
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import full_names, short_names
from relaxometer.report.papers import dominators, hybrid_bfs
from relaxometer.results.gather import summarise
from relaxometer.results.samples import with_class
from synthetic_runs import metadata, rival, searches, spread, texts

ROOT = Path(__file__).parents[2]
PROFILE = "results/figures/common/performance-profile.svg"


def summary_of(table, lost=()):
    """The lines of ``summary.csv``."""
    return summarise(pa.Table.from_pandas(table, preserve_index=False), lost)


RACE = pd.concat(
    [
        searches("tiled", spread(2), prepare_ms=80),
        searches("dijkstra-cpu", spread(40), device_kind="cpu"),
        searches("hybrid-cpu", spread(11), device_kind="cpu", kind="cpu-all"),
        rival("networkit", spread(30), version="11.2", prepare_ms=2.5),
        rival("graphblas", spread(5), kind="cpu-all", status="disputed", version="10.3"),
        rival("cugraph", spread(9), device_kind="host", kind="gpu", status="absent", version=None),
        rival("silent", spread(0.1), status="unproven", version="unknown"),
    ]
)


class TestNames:
    """Names tell rivals, versions and classes."""

    def test_names_tell_the_class_and_the_version(self):
        lines = with_class(summary_of(RACE))
        assert full_names(lines).tolist() == [
            "tiled",
            "dijkstra-cpu (1 core)",
            "hybrid-cpu (all cores)",
            "networkit 11.2 (rival, 1 core)",
            "graphblas 10.3 (rival, all cores)",
            "cugraph (rival, GPU)",
            "silent (rival, 1 core)",
        ]
        assert short_names(lines).tolist()[-4:] == [
            f"{name} (rival)" for name in ("networkit", "graphblas", "cugraph", "silent")
        ]

    def test_a_long_version_is_cut(self):
        (name,) = full_names(with_class(summary_of(rival("wasp", [1.0], version="4f" * 20))))
        assert name == f"wasp {'4f' * 9}4… (rival, 1 core)"

    def test_a_summary_without_classes_is_read_as_before(self):
        old = summary_of(RACE).drop(columns=["class", "rival", "version"])
        assert full_names(with_class(old)).tolist()[:3] == ["tiled", "dijkstra-cpu (CPU)", "hybrid-cpu (CPU)"]

    def test_a_lost_rival_stays_one(self):
        lost = {"problem": "sssp", "graph": "town", "variant": "boost", "reason": "no compiler"}
        lines = with_class(
            summary_of(RACE, [{**lost, "rival": True, "class": "cpu-1"}, {**lost, "variant": "x"}])
        )
        assert lines[["rival", "class", "status"]].values[-2:].tolist() == [
            [True, "cpu-1", "error"],
            [False, "", "error"],
        ]
        assert short_names(lines).tolist()[-2:] == ["boost (rival)", "x"]

    def test_versions_are_read_as_text(self, tmp_path):
        path = tmp_path / "summary.csv"
        summary_of(rival("networkit", [1.0], version="1.10")).to_csv(path, index=False)
        assert Inputs({"summary": str(path)}, {}).table("summary")["version"].tolist() == ["1.10"]


class TestMedianTimes:
    """The headline."""

    def test_rivals_are_drawn_open_and_named(self):
        figure = summary.median_times(summary_of(RACE))
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            "dijkstra-cpu (1 core)",
            "networkit 11.2 (rival, 1 core)",
            "hybrid-cpu (all cores)",
            "graphblas 10.3 (rival, all cores)",
            "tiled",
        ]
        points = [line for line in axes.lines if line.get_marker() not in ("|", "None")]
        is_open = {float(line.get_xdata()[0]): line.get_markerfacecolor() == "white" for line in points}
        assert is_open == {np.median(spread(mean)): mean in (30, 5) for mean in (40, 30, 11, 5, 2)}
        assert axes.get_xlabel() == "Median time of a search [ms]"

    def test_absent_unproven_and_disputed_rivals_are_named(self):
        shown = texts(summary.median_times(summary_of(RACE)))
        assert "Not shown: cugraph on town (absent), silent on town (unproven)" in shown
        assert "Own clock disputed, timed by ours: graphblas on town (disputed)" in shown
        assert "Open markers: rivals" in shown

    def test_graphs_of_one_reason_are_named_once(self):
        absent = [
            rival(name, [1.0], graph=graph, status="absent")
            for name, graphs in (("edsger", ("town", "city")), ("boost", ("city",)))
            for graph in graphs
        ]
        timed = [searches("tiled", [1.0]), searches("tiled", [1.0], graph="city")]
        shown = texts(summary.median_times(summary_of(pd.concat(timed + absent))))
        assert "edsger on all graphs (absent), boost on city (absent)" in shown

    def test_the_race_of_cpu_programs_comes_before_the_emulated_kernels(self):
        table = pd.concat(
            [RACE[RACE["variant"] != "tiled"], searches("tiled", spread(0.1), device_kind="host")]
        )
        figure = summary.median_times(summary_of(table))
        real, emulated = figure.axes
        assert real.get_title(loc="left") == "town (SSSP)"
        assert emulated.get_title(loc="left") == "town (SSSP), emulated kernels"
        assert [label.get_text() for label in emulated.get_yticklabels()] == ["tiled"]
        assert real.get_xlabel() == "Median time of a search [ms]"
        assert "these are not GPU times" in texts(figure)


class TestRanking:
    """The ranked table."""

    def test_rivals_are_ranked_with_variants_and_have_class_and_version(self):
        table = summary.ranked_table(summary_of(RACE), RACE).set_index("Variant")
        assert table["Rank"].to_dict() == {
            "tiled": "1",
            "graphblas (rival)": "2",
            "hybrid-cpu": "3",
            "networkit (rival)": "4",
            "dijkstra-cpu": "5",
            "cugraph (rival)": "",
            "silent (rival)": "",
        }
        columns = ["Class", "Version", "Preparation [ms]", "Status", "Reason"]
        assert table.loc["networkit (rival)", columns].tolist() == ["1 core", "11.2", "2.5", "ok", ""]
        assert table.loc["hybrid-cpu", columns].tolist() == ["all cores", "", "0.5", "ok", ""]
        assert table.loc["graphblas (rival)", ["Status", "Reason"]].tolist() == ["disputed", "rule broken"]
        columns = ["Class", "Status", "Median [ms]", "Proven"]
        assert table.loc["cugraph (rival)", columns].tolist() == ["GPU", "absent", "", "not run"]
        assert table.loc["silent (rival)", ["Version", "Proven", "Median [ms]"]].tolist() == ["", "0%", ""]

    def test_a_reason_is_short_and_no_markup(self):
        long = rival("ghost", [1.0], status="absent").assign(
            reason="run `apt install x_` *now* |" + " on" * 99
        )
        reason = summary.ranked_table(summary_of(long), long)["Reason"].iloc[0]
        assert reason.startswith(r"run \`apt install x\_\` \*now\* \| on")
        assert len(reason) < 170
        assert reason.endswith(" …")

    def test_emulated_kernels_have_a_table_of_their_own(self):
        emulated = pd.concat([RACE, searches("near-far", spread(0.1), device_kind="host")])
        parts = summary.races_and_emulated(summary.ranked_table(summary_of(emulated), emulated))
        assert parts["ranking-emulated"]["Variant"].tolist() == ["near-far"]
        assert "Rank" not in parts["ranking-emulated"]
        assert "near-far" not in set(parts["ranking"]["Variant"])
        assert "cugraph (rival)" in set(parts["ranking"]["Variant"]), "absent from a GPU, not emulated"

    def test_runs_that_were_not_made_are_not_counted_among_the_unproven(self):
        tables = [
            searches("tiled", [1.0], device_kind="host"),
            searches("spmv-ell", [1.0], device_kind="host", status="skipped"),
        ]
        lost = {"problem": "sssp", "graph": "town", "variant": "auto", "reason": "no file"}
        both = pd.concat(tables)
        table = summary.ranked_table(summary_of(both, [lost]), both)
        assert table.set_index("Variant")["Proven"].to_dict() == {
            "tiled": "100%",
            "spmv-ell": "not run",
            "auto": "not run",
        }
        section = summary.emulated_section(table)
        assert "1 of 1 of their runs were proven" in section
        assert "spmv-ell" not in section

    def test_no_table_of_the_landing_page_is_empty(self):
        real = summary.races_and_emulated(summary.ranked_table(summary_of(RACE), RACE))
        assert real["ranking-emulated"]["Problem"].tolist() == ["No kernel was emulated."]
        host = searches("tiled", [1.0], device_kind="host")
        none = summary.races_and_emulated(summary.ranked_table(summary_of(host), host))
        assert none["ranking"]["Problem"].tolist() == ["Nothing ran in real time."]

    def test_the_landing_page_shows_the_real_race_before_the_emulated_kernels(self):
        page = (ROOT / "workflow/report/workflow.rst").read_text(encoding="utf-8")
        shown = [page.index(f"/common/{name}") for name in SHOWN]
        assert shown == sorted(shown)
        views = {f"{view.name}.{view.suffix}" for one in exhibits().values() for view in one.views}
        assert views >= set(SHOWN)


SHOWN = ("lead.html", "winners-in-short.csv", "ranking.csv", "median-times.svg", "emulated.html")
"""Parts of the landing page in their order."""


class TestWinners:
    """Who wins where."""

    def only_row(self, table):
        (row,) = winners.winners_table(summary_of(table), table).to_dict("records")
        return row

    def test_a_row_has_both_sides_with_class_preparation_and_interval(self):
        table = pd.concat(
            [searches("tiled", spread(2), prepare_ms=80), rival("networkit", spread(6), version="11.2")]
        )
        assert self.only_row(table) == {
            "Problem": "SSSP",
            "Graph": "town",
            "Our best": "tiled",
            "Our class": "GPU",
            "Ours [ms]": "2",
            "Our preparation [ms]": "80",
            "Ours, cold [ms]": "82",
            "Best rival": "networkit 11.2",
            "Its class": "1 core",
            "Rival [ms]": "6",
            "Its preparation [ms]": "0.5",
            "Rival, cold [ms]": "6.38",
            "Rival / ours": "3",
            "95% interval": "2.76 to 3.26",
            "Sources": "12",
            "Faster": "ours, 3 times as fast",
        }

    @pytest.mark.parametrize(
        ("rival_ms", "ratio", "said"),
        [(1, "0.5", "the rival, 2 times as fast"), (2, "1", "no difference shown")],
    )
    def test_losing_stands_where_winning_would(self, rival_ms, ratio, said):
        row = self.only_row(pd.concat([searches("tiled", spread(2)), rival("adds", spread(rival_ms))]))
        assert (row["Rival / ours"], row["Faster"]) == (ratio, said)

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            (
                [searches("tiled", spread(1), device_kind="host"), rival("boost", spread(2))],
                "not compared: our variants were emulated only",
            ),
            ([rival("boost", spread(2))], "not compared: no variant of ours was run"),
            (
                [
                    searches("tiled", spread(1)),
                    rival("boost", spread(2), status="timeout"),
                    rival("adds", spread(2), status="absent"),
                ],
                "not compared: no rival finished (boost: timeout, adds: absent)",
            ),
            (
                [
                    searches("tiled", spread(1), status="invalid"),
                    searches("near-far", spread(1), device_kind="host"),
                    rival("boost", spread(2), status="error"),
                ],
                "not compared: no variant of ours finished (tiled: invalid) and "
                "no rival finished (boost: error)",
            ),
        ],
    )
    def test_where_a_side_is_missing_the_table_says_why(self, table, said):
        row = self.only_row(pd.concat(table))
        assert row["Faster"] == said
        assert row["Rival / ours"] == row["95% interval"] == row["Sources"] == ""

    def test_there_is_a_row_for_each_problem_and_graph_with_rivals(self):
        table = pd.concat(
            [
                searches("tiled", spread(1)),
                rival("boost", spread(2)),
                searches("tiled", spread(1), graph="alone"),
                searches("hybrid", spread(3), problem="bfs"),
                rival("boost", spread(2), problem="bfs"),
            ]
        )
        lost = {"problem": "dominators", "graph": "cfg", "variant": "llvm", "reason": "no opt", "rival": True}
        rows = winners.winners_table(summary_of(table, [lost]), table)
        assert rows[["Problem", "Graph"]].values.tolist() == [
            ["SSSP", "town"],
            ["BFS", "town"],
            ["dominators", "cfg"],
        ]
        assert rows["Faster"].iloc[-1].endswith("no rival finished (llvm: error)")

    def test_without_rivals_the_table_says_so(self):
        table = searches("tiled", [1.0])
        rows = winners.winners_table(summary_of(table), table)
        assert rows["Problem"].tolist() == [winners.NO_RIVAL]
        assert winners.in_short(rows)["Our best"].tolist() == [""]

    def test_the_short_table_has_classes_and_intervals_in_brackets(self):
        table = pd.concat([searches("tiled", spread(2)), rival("networkit", spread(6), version="11.2")])
        (row,) = winners.in_short(winners.winners_table(summary_of(table), table)).to_dict("records")
        assert (row["Our best"], row["Best rival"]) == ("tiled (GPU)", "networkit 11.2 (1 core)")
        assert row["Rival / ours"] == "3 (2.76 to 3.26)"

    def test_points_of_a_sweep_are_left_out(self, tmp_path):
        table = pd.concat(
            [searches("tiled", spread(2)), searches("tuned-4", spread(1)), rival("boost", spread(4))]
        )
        table.to_parquet(tmp_path / "timings.parquet")
        summary_of(table).to_csv(tmp_path / "summary.csv", index=False)
        files = {"timings": str(tmp_path / "timings.parquet"), "summary": str(tmp_path / "summary.csv")}
        drawn = exhibits()["winners"].draw(Inputs(files, {"swept": ["tuned-4"]}))
        assert drawn["winners"]["Our best"].tolist() == ["tiled"]


GRAPHS = ("town", "city", "island")


def profile_table(times):
    """Timings of variants and rivals by graph; None where a run has not finished."""
    return pd.concat(
        [
            (rival if name.startswith("r-") else searches)(
                name, [time_ms or 1.0] * 2, graph=graph, status="ok" if time_ms else "timeout"
            )
            for name, of_name in times.items()
            for graph, time_ms in zip(GRAPHS, of_name, strict=True)
        ]
    )


class TestProfile:
    """The performance profile."""

    TABLE = profile_table({"tiled": (1, 2, 9), "near-far": (2, 2, None), "r-boost": (10, 8, 3)})

    def lines(self, figure, panel=0):
        return {line.get_label(): line for line in figure.axes[panel].lines}

    def test_a_line_is_the_share_of_graphs_within_a_factor(self):
        lines = self.lines(profiles.performance_profiles(self.TABLE))
        assert set(lines) == {"tiled", "near-far", "r-boost 1.2 (rival, 1 core)"}
        farthest = pytest.approx(11.5)
        assert lines["tiled"].get_xdata().tolist() == [1, 1, 3, farthest]
        assert lines["tiled"].get_ydata() == pytest.approx([0, 2 / 3, 1, 1])
        boost = lines["r-boost 1.2 (rival, 1 core)"]
        assert boost.get_xdata().tolist() == [1, 1, 4, 10, farthest]
        assert boost.get_ydata() == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
        assert all(line.get_drawstyle() == "steps-post" for line in lines.values())

    def test_a_missing_run_is_within_no_factor(self):
        line = self.lines(profiles.performance_profiles(self.TABLE))["near-far"]
        assert line.get_xdata().tolist() == [1, 1, 2, pytest.approx(11.5)]
        assert line.get_ydata() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])

    def test_rivals_have_open_markers_and_the_best_comes_first(self):
        figure = profiles.performance_profiles(self.TABLE)
        names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert names == ["tiled", "near-far", "r-boost 1.2 (rival, 1 core)"]
        faces = {name: line.get_markerfacecolor() for name, line in self.lines(figure).items()}
        assert [name for name, face in faces.items() if face == "white"] == ["r-boost 1.2 (rival, 1 core)"]
        assert "SSSP: lowest median most often: tiled, 2 of 3 graphs" in texts(figure)

    def test_emulated_kernels_have_no_line_and_make_nobody_slow(self):
        emulated = [searches("phast", [0.001] * 2, graph=graph, device_kind="host") for graph in GRAPHS]
        figure = profiles.performance_profiles(pd.concat([self.TABLE, *emulated]))
        assert "phast" not in self.lines(figure)
        assert self.lines(figure)["tiled"].get_xdata()[0] == 1

    def test_each_problem_with_two_graphs_has_a_panel(self):
        bfs = self.TABLE[self.TABLE["graph"] != "island"].assign(problem="bfs")
        one = self.TABLE[self.TABLE["graph"] == "town"].assign(problem="dominators")
        figure = profiles.performance_profiles(pd.concat([self.TABLE, bfs, one]))
        assert [axes.get_title(loc="left") for axes in figure.axes] == ["SSSP: 3 graphs", "BFS: 2 graphs"]

    def test_query_sets_of_two_names_are_not_two_graphs(self):
        sets = [
            self.TABLE.assign(problem="routes", queries=name, queries_hash=name) for name in ("near", "far")
        ]
        figure = profiles.performance_profiles(pd.concat(sets))
        assert figure.axes[0].get_title(loc="left") == "routes: 6 pairs of a graph and query sets"

    def test_graphs_on_which_one_program_is_alone_do_not_count(self):
        table = profile_table({"tiled": (1, 2, 9), "r-boost": (10, 8, None)})
        figure = profiles.performance_profiles(table)
        assert figure.axes[0].get_title(loc="left") == "SSSP: 2 graphs"
        assert "SSSP: lowest median most often: tiled, 2 of 2 graphs" in texts(figure)

    def test_without_a_profile_the_figure_says_why(self):
        emulated = self.TABLE.assign(**{"class": "emulated", "device_kind": "host"})
        assert "2 graphs and two programs" in texts(profiles.performance_profiles(emulated))

    def test_lines_that_coincide_are_apart_on_paper_only(self):
        same = profile_table({"tiled": (1, 1, 1), "r-boost": (1, 1, 1)})
        lines = self.lines(profiles.performance_profiles(same)).values()
        ends = [line.get_transform().transform((1.5, 1.0))[1] for line in lines]
        assert 0.5 < abs(ends[0] - ends[1]) < 3
        assert {tuple(line.get_ydata()) for line in lines} == {(0, 1, 1)}

    @pytest.mark.parametrize(
        ("graphs", "variants", "rivals", "drawn"),
        [
            (["usa-ny", "usa-bay", "usa-col"], {"tiled": {}}, {"scipy": {}}, True),
            (["usa-ny", "usa-bay"], {"tiled": {}}, {"scipy": {}}, True),
            (["usa-ny"], {"tiled": {}}, {"scipy": {}}, False),
            (["usa-ny", "usa-bay", "usa-col"], {"tiled": {}}, {}, False),
            (["usa-ny", "usa-bay", "usa-col"], {"tiled": {}, "near-far": {}}, {}, True),
        ],
    )
    def test_it_is_wanted_for_two_graphs_and_two_programs(self, graphs, variants, rivals, drawn):
        config = {
            "sssp": {"graphs": graphs, "variants": variants, "rivals": rivals},
            "report": {"papers": []},
        }
        assert (PROFILE in wanted(Plan(config, ROOT / "resources/datasets.yaml"))) == drawn


class TestOtherFigures:
    """Rivals where variants are shown."""

    def test_a_rival_is_marked_in_the_tables_of_work_and_preparation(self):
        table = RACE.assign(relaxed_arcs=1000)
        prepared = preparation.payoff_table(table).set_index("Variant")
        assert prepared.loc["networkit (rival)", ["Class", "Preparation [ms]"]].tolist() == ["1 core", "2.5"]
        assert prepared.loc["hybrid-cpu", "Class"] == "all cores"
        done = work.work_table(table).set_index("Variant")
        assert done.loc["graphblas (rival)", ["Rank", "Class", "Status"]].tolist() == [
            "2",
            "all cores",
            "disputed",
        ]
        assert done.loc["cugraph (rival)", ["Rank", "Class", "Status"]].tolist() == ["", "GPU", "absent"]

    def test_the_regret_of_auto_is_against_variants_only(self):
        resolved = {f"parameter_{name}": "tiled" for name in ("chosen", "because", "expected", "probed")}
        auto = searches("auto", [2.0] * 3).assign(**resolved, parameter_probe_ms=1.0, parameter_searches=1)
        table = pd.concat([auto, searches("tiled", [2.0] * 3), rival("boost", [1.0] * 3)])
        assert choice.regrets(table)["best"].tolist() == ["tiled"]

    def test_a_rival_is_marked_among_rates_of_searches(self):
        launch = {
            "graph": "town",
            "searches": 9,
            "repetition": 0,
            "time_ms": 3.0,
            "proven": 9,
            "status": "ok",
        }
        launches = pd.DataFrame([{**launch, "reason": "", "device_kind": "cuda", "device": "NVIDIA X"}])
        table = throughput.throughput_table(
            launches, pd.concat([searches("tiled", [2.0]), rival("boost", [1.0])])
        )
        assert table["Variant"].tolist() == ["many-sources", "boost (rival)", "tiled"]
        figure = throughput.throughput(launches, rival("boost", [1.0]), "town")
        assert "the rate of boost (rival), one after the other" in texts(figure)

    def test_rivals_are_open_over_the_size_of_flow_graphs(self):
        table = pd.concat(
            [
                searches("semi-nca", [1.0], device_kind="cpu", problem="dominators"),
                rival("llvm-opt", [2.0], problem="dominators"),
            ]
        )
        axes = dominators.over_size(table, [metadata()]).axes[0]
        faces = {line.get_label(): line.get_markerfacecolor() for line in axes.lines}
        assert faces == {"semi-nca": look("semi-nca").colour, "llvm-opt (rival)": "white"}
        panel = dominators.throughput(table, [{"name": "town", "graphs": 10}]).axes[0]
        names = [label.get_text() for label in panel.get_yticklabels()]
        is_open = [dot.get_markerfacecolor() == "white" for dot in panel.lines]
        assert dict(zip(names, is_open, strict=True)) == {"llvm-opt (rival)": True, "semi-nca": False}
        best = dominators.winners(table)
        assert best["program"].tolist() == ["semi-nca (1 core)"]

    def test_rivals_are_open_over_the_scale_of_graph500(self):
        table = pd.concat(
            [
                searches("hybrid", [1.0] * 3, problem="bfs"),
                rival("gap", [2.0] * 3, problem="bfs", kind="cpu-all", status="disputed"),
            ]
        )
        axes = hybrid_bfs.rates_over_scale(table, [metadata()]).axes[0]
        lines = {container.get_label(): container.lines[0] for container in axes.containers}
        assert set(lines) == {"hybrid", "gap (rival)"}
        assert lines["gap (rival)"].get_markerfacecolor() == "white"
