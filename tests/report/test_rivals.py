"""Rivals in the report: their look, names, tables and the performance profile."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relaxometer.plan.plan import Plan
from relaxometer.report.catalogue import Inputs, exhibits
from relaxometer.report.catalogue import targets as wanted
from relaxometer.report.figures import choice, profiles, summary, winners
from relaxometer.report.pages import NOTHING
from relaxometer.results.gather import unmade_runs
from synthetic_runs import rival, searches, spread, summary_of, texts

ROOT = Path(__file__).parents[2]
PROFILE = "results/figures/common/performance-profile.svg"


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


class TestMedianTimes:
    """The headline."""

    def test_rivals_are_drawn_open_and_named_and_those_not_shown_too(self):
        figure = summary.median_times(summary_of(RACE))
        (axes,) = figure.axes
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            *("dijkstra-cpu (1 core)", "networkit 11.2 (rival, 1 core)", "hybrid-cpu (all cores)"),
            *("graphblas 10.3 (rival, all cores)", "tiled"),
        ]
        points = [line for line in axes.lines if line.get_marker() not in ("|", "None")]
        is_open = {float(line.get_xdata()[0]): line.get_markerfacecolor() == "white" for line in points}
        assert is_open == {np.median(spread(mean)): mean in (30, 5) for mean in (40, 30, 11, 5, 2)}
        assert axes.get_xlabel() == "Median time of a search [ms]"
        shown = texts(summary.median_times(summary_of(RACE)))
        assert "Not shown: cugraph on town (absent), silent on town (unproven)" in shown
        assert "Own clock disputed, timed by ours: graphblas on town (disputed)" in shown
        assert "Open markers: rivals" in shown

    def test_the_race_of_cpu_programs_comes_before_the_emulated_kernels(self):
        host = searches("tiled", spread(0.1), device_kind="host")
        table = pd.concat([RACE[RACE["variant"] != "tiled"], host])
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
        ranked = ["tiled", "graphblas (rival)", "hybrid-cpu", "networkit (rival)", "dijkstra-cpu"]
        ranks = {name: str(rank) for rank, name in enumerate(ranked, start=1)}
        assert table["Rank"].to_dict() == ranks | {"cugraph (rival)": "", "silent (rival)": ""}
        assert table.loc[["tiled", "networkit (rival)"], "Device"].tolist() == ["X", "CPU X"]
        columns = ["Class", "Version", "Preparation [ms]", "Status", "Reason"]
        assert table.loc["networkit (rival)", columns].tolist() == ["1 core", "11.2", "2.5", "ok", ""]
        assert table.loc["hybrid-cpu", columns].tolist() == ["all cores", "", "0.5", "ok", ""]
        assert table.loc["graphblas (rival)", ["Status", "Reason"]].tolist() == ["disputed", "rule broken"]
        columns = ["Class", "Status", "Median [ms]", "Proven"]
        assert table.loc["cugraph (rival)", columns].tolist() == ["GPU", "absent", "", "not run"]
        assert table.loc["silent (rival)", ["Version", "Proven", "Median [ms]"]].tolist() == ["", "0%", ""]

    def test_a_reason_is_short_and_no_markup(self):
        said = "run `apt install x_` *now* |" + " on" * 99
        long = rival("ghost", [1.0], status="absent").assign(reason=said)
        reason = summary.ranked_table(summary_of(long), long)["Reason"].iloc[0]
        assert reason.startswith(r"run \`apt install x\_\` \*now\* \| on")
        assert len(reason) < 250
        assert reason.endswith(" …")

    def test_runs_that_were_not_made_are_not_counted_among_the_unproven(self):
        status = {"tiled": "ok", "spmv-ell": "skipped"}
        tables = [searches(name, [1.0], device_kind="host", status=of) for name, of in status.items()]
        lost = unmade_runs({("sssp", "town", "auto"): "no file"}, {}).to_pandas()
        every = pd.concat([*tables, lost[lost.columns[lost.notna().all()]]])
        table = summary.ranked_table(summary_of(every), every)
        proven = table.set_index("Variant")["Proven"].to_dict()
        assert proven == {"tiled": "100%", "spmv-ell": "not run", "auto": "not run"}
        section = summary.emulated_section(table)
        assert "1 of 1 of their runs were proven" in section
        assert "spmv-ell" not in section

    def test_memory_is_that_of_variants_on_a_gpu(self):
        gpu = [
            searches(name, spread(2)).assign(peak_bytes=n << 20)
            for name, n in {"tiled": 3, "phast": 7}.items()
        ]
        others = [
            searches(name, spread(2), device_kind=kind).assign(peak_bytes=9 << 20)
            for name, kind in {"near-far": "host", "dijkstra-cpu": "cpu"}.items()
        ]
        section = summary.memory_section(summary_of(pd.concat([*gpu, *others])))
        cells = re.findall(r"<t[hd]>([^<]*)</t[hd]>", section)
        assert cells == ["", "SSSP, town", "tiled", "3", "phast", "7"]
        assert summary.memory_section(summary_of(pd.concat(others))) == NOTHING

    def test_no_table_of_the_landing_page_is_empty(self):
        real = summary.races_and_emulated(summary.ranked_table(summary_of(RACE), RACE))
        assert real["ranking-emulated"]["Problem"].tolist() == ["No kernel was emulated."]
        host = searches("tiled", [1.0], device_kind="host")
        none = summary.races_and_emulated(summary.ranked_table(summary_of(host), host))
        assert none["ranking"]["Problem"].tolist() == ["Nothing ran in real time."]


class TestWinners:
    """Who wins where."""

    def only_row(self, table):
        (row,) = winners.winners_table(summary_of(table), table).to_dict("records")
        return row

    def test_a_row_has_both_sides_with_class_preparation_and_interval(self):
        ours = searches("tiled", spread(2), prepare_ms=80).assign(call_ms=99, answer="tree")
        theirs = rival("networkit", spread(6), version="11.2").assign(answer="distances")
        table = pd.concat([ours, theirs])
        row = self.only_row(table)
        assert [row[name] for name in winners.COLUMNS[:2]] == ["SSSP", "town"]
        assert [row[name] for name in winners.COLUMNS[3:10]] == [
            "tiled",
            "GPU",
            "tree",
            "2",
            "80",
            "82",
            "99",
        ]
        theirs = ["networkit 11.2", "1 core", "distances", "6", "0.5", "6.38", ""]
        assert [row[name] for name in winners.COLUMNS[10:17]] == theirs
        assert [row[name] for name in winners.COLUMNS[17:]] == ["3", "2.76 to 3.26", "12"]
        assert row["Faster"] == "ours, 3 times as fast"
        short = winners.in_short(winners.winners_table(summary_of(table), table))
        assert short[["Our best", "Best rival"]].to_numpy().tolist() == [
            ["tiled (GPU, tree)", "networkit 11.2 (1 core, distances)"]
        ]
        table = searches("tiled", [1.0])
        rows = winners.winners_table(summary_of(table), table)
        assert rows["Problem"].tolist() == [winners.NO_RIVAL]
        assert winners.in_short(rows)["Our best"].tolist() == [""]

    @pytest.mark.parametrize(
        ("rival_ms", "ratio", "said"),
        [(1, "0.5", "the rival, 2 times as fast"), (2, "1", "no difference shown")],
    )
    def test_losing_stands_where_winning_would(self, rival_ms, ratio, said):
        row = self.only_row(pd.concat([searches("tiled", spread(2)), rival("adds", spread(rival_ms))]))
        assert (row["Rival / ours"], row["Faster"]) == (ratio, said)

    OURS = searches("tiled", spread(1))
    EMULATED = searches("near-far", spread(1), device_kind="host")
    LATE, ABSENT = (rival(name, spread(2), status=name) for name in ("timeout", "absent"))

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ([EMULATED, rival("boost", spread(2))], "our variants were emulated only"),
            ([rival("boost", spread(2))], "no variant of ours was run"),
            ([OURS, LATE, ABSENT], "no rival finished (timeout: timeout, absent: absent)"),
            (
                [OURS.assign(status="invalid"), EMULATED, LATE],
                "no variant of ours finished (tiled: invalid) and no rival finished (timeout: timeout)",
            ),
        ],
        ids=["emulated", "none", "no-rival", "neither"],
    )
    def test_where_a_side_is_missing_the_table_says_why(self, table, said):
        row = self.only_row(pd.concat(table))
        assert row["Faster"] == f"not compared: {said}"
        assert row["Rival / ours"] == row["95% interval"] == row["Sources"] == ""

    def test_points_of_a_sweep_are_left_out(self, tmp_path):
        files = {"timings": f"{tmp_path}/timings.parquet", "summary": f"{tmp_path}/summary.csv"}
        ours = [searches("tiled", spread(2)), searches("tuned-4", spread(1))]
        table = pd.concat([*ours, rival("boost", spread(4))])
        table.to_parquet(files["timings"])
        summary_of(table).to_csv(files["summary"], index=False)
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

    def test_a_line_is_the_share_of_graphs_with_several_programs_within_a_factor(self):
        lines = self.lines(profiles.performance_profiles(self.TABLE))
        assert set(lines) == {"tiled", "near-far", "r-boost 1.2 (rival, 1 core)"}
        farthest = pytest.approx(11.5)
        assert lines["tiled"].get_xdata().tolist() == [1, 1, 3, farthest]
        assert lines["tiled"].get_ydata() == pytest.approx([0, 2 / 3, 1, 1])
        boost = lines["r-boost 1.2 (rival, 1 core)"]
        assert boost.get_xdata().tolist() == [1, 1, 4, 10, farthest]
        assert boost.get_ydata() == pytest.approx([0, 1 / 3, 2 / 3, 1, 1])
        assert all(line.get_drawstyle() == "steps-post" for line in lines.values())
        emulated = self.TABLE.assign(**{"class": "emulated", "device_kind": "host"})
        assert "2 graphs and two programs" in texts(profiles.performance_profiles(emulated))
        table = profile_table({"tiled": (1, 2, 9), "r-boost": (10, 8, None)})
        figure = profiles.performance_profiles(table)
        assert figure.axes[0].get_title(loc="left") == "SSSP: 2 graphs"
        assert "SSSP: lowest median most often: tiled, 2 of 2 graphs" in texts(figure)

    @pytest.mark.parametrize(
        ("graphs", "variants", "rivals", "drawn"),
        [
            (["usa-ny", "usa-bay"], {"tiled": {}}, {"scipy": {}}, True),
            (["usa-ny"], {"tiled": {}}, {"scipy": {}}, False),
            (["usa-ny", "usa-bay", "usa-col"], {"tiled": {}}, {}, False),
        ],
    )
    def test_it_is_wanted_for_two_graphs_and_two_programs(self, graphs, variants, rivals, drawn):
        sssp = {"graphs": graphs, "variants": variants, "rivals": rivals}
        config = {"sssp": sssp, "report": {"papers": []}}
        assert (PROFILE in wanted(Plan(config, ROOT / "resources/datasets.yaml"))) == drawn


def test_the_regret_of_auto_is_against_variants_only():
    resolved = {f"parameter_{name}": "tiled" for name in ("chosen", "because", "expected", "probed")}
    auto = searches("auto", [2.0] * 3).assign(**resolved, parameter_searches=1)
    table = pd.concat([auto, searches("tiled", [2.0] * 3), rival("boost", [1.0] * 3)])
    assert choice.regrets(table)["best"].tolist() == ["tiled"]
