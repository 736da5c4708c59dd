"""The energy figure and the table of costs, of searches whose costs the test writes."""

import numpy as np
import pandas as pd
import pytest

from built import refusal
from relaxometer.cli.cost import text_of
from relaxometer.report.figures.cost import cost_table, energy_against_time
from relaxometer.results.cost import agreement, costs
from synthetic_runs import rival, searches, spread


def with_costs(table, energy_j, **more):
    """Add the columns of a run whose second process needs 2% more energy."""
    energies = np.where(table["round"] == 2, 1.02, 1.0) * energy_j
    columns = {
        **{"peak_bytes": 3 << 20, "leaked_bytes": 0, "copy_gb_s": 4000.0},
        **{"nvml_peak_bytes": 705 << 20, "nvml_before_bytes": 700 << 20, "kernel_bytes": 2 << 20},
        **{"idle_w": 100.0, "energy_j": energies, "gross_j": energies * 1.5, "throttled": "", "reached": 500},
        **{"energy_low_j": energies * 0.99, "energy_high_j": energies * 1.02},
    }
    return table.assign(**(columns | more))


@pytest.fixture
def timings():
    two = (1.0, 1.001)
    near_far = searches("near-far", spread(2.0), rounds=two)
    return pd.concat(
        [
            with_costs(searches("tiled", spread(1.0), rounds=two), 0.2),
            with_costs(near_far, 0.1, throttled="power cap", leaked_bytes=4096),
            rival("boost", spread(9.0)),
            with_costs(searches("emulated", spread(1.0), device_kind="host"), 5.0),
        ]
    )


def test_a_row_per_run_has_the_means_of_its_processes_each_with_its_idle_power(timings):
    rows = costs(timings).set_index("variant")
    assert list(rows.index) == ["tiled", "near-far"]
    tiled = rows.loc["tiled"]
    assert tiled["energy_j"] == pytest.approx(0.202)
    assert tiled["spread_j"] == pytest.approx(0.004)
    assert tiled["watts"] == pytest.approx(300)
    assert (tiled["rounds"], tiled["driver_bytes"]) == (2, 5 << 20)
    assert tiled["gross_spread_j"] / tiled["gross_j"] == pytest.approx(0.02 / 1.01)
    assert tiled["least_bytes"] == 500 * 16 + 1000 * 8
    assert tiled["copy_share"] == pytest.approx(16_000 / 1e-3 / 4e12, rel=0.02)
    assert rows.loc["near-far", "throttled"] == 48
    grown = np.where(timings["round"] == 2, 709 << 20, 705 << 20)
    pool = np.where(timings["round"] == 2, 3 << 20, 5 << 20)
    rows = costs(timings.assign(nvml_peak_bytes=grown, peak_bytes=pool)).set_index("variant")
    assert rows.loc["tiled", "later_bytes"] == 4 << 20
    # A search takes 2 ms and 0.6 J, with the idle power.
    table = with_costs(searches("tiled", spread(1.0), rounds=[1.0] * 3), 1.0)
    own = table["round"].map({1: 100.0, 2: 102.0, 3: 110.0})
    table = table.assign(idle_w=own, gross_j=0.6, energy_j=0.6 - own * 2e-3)
    (row,) = costs(table).to_dict("records")
    assert row["idle_w"] == pytest.approx(104.0)
    assert row["energy_j"] == pytest.approx(0.6 - 0.208)
    assert row["spread_j"] == pytest.approx(0.02)
    assert row["watts"] == pytest.approx(300.0)
    assert cost_table(table)["Idle by process [W]"].tolist() == ["100.0 to 110.0"]


def test_the_table_is_text_and_empty_where_nothing_is_known(timings):
    table = cost_table(timings.assign(copy_gb_s=np.nan))
    assert table["Energy [mJ]"].tolist() == ["202", "101"]
    assert table["Of copy rate"].tolist() == ["", ""]
    assert table["Leak [B]"].tolist() == ["0", "4,096"]
    assert table["Throttled searches"].tolist() == ["0", "48"]
    assert table["Between processes, with idle"].tolist() == ["2.0%", "2.0%"]
    assert table["Loaded outside pool [MiB]"].tolist() == ["2", "2"]
    assert table["Later outside pool [MiB]"].tolist() == ["0", "0"]
    assert cost_table(searches("old", spread(1.0))).empty
    without = timings.assign(energy_j=np.nan, gross_j=np.nan, idle_w=np.nan)
    assert cost_table(without)["Processes"].tolist() == ["2", "2"]
    assert cost_table(timings[timings["round"] == 1])["Processes"].tolist() == ["1", "1"]


def test_the_figure_has_a_point_per_variant_and_says_what_it_shows(timings):
    figure = energy_against_time(timings)
    (panel,) = figure.axes
    assert len(panel.lines) == 2
    texts = " ".join(text.get_text() for text in figure.texts)
    assert "needs the least energy in 0 of 1 races" in texts
    figure = energy_against_time(timings.assign(energy_j=np.nan))
    assert any("No energy was measured" in text.get_text() for text in [*figure.texts, *figure.axes[0].texts])


def test_sentences_say_how_well_runs_agree(timings, tmp_path):
    phast = searches("phast", spread(1.0), rounds=(1.0, 1.001))
    uneven = with_costs(phast, 0.3, nvml_peak_bytes=706 << 20, gross_j=7.0)
    uneven["energy_j"] = np.where(uneven["round"] == 2, 0.2, 0.3)
    table = pd.concat([timings, uneven])
    assert agreement(costs(table), 0.05) == [
        "energy between repeats in a process: 3 of 3 runs within 5.0%; worst 3.7%, sssp town phast",
        "energy between processes: 2 of 3 runs within 5.0%; worst 40.0%, sssp town phast",
        "energy with idle power between processes: 3 of 3 runs within 5.0%; worst 2.0%, sssp town tiled",
        "memory outside the pool: 2 of 3 runs change by at most 5.0% once loaded",
        "leaks: sssp town near-far",
    ]
    table.to_parquet(tmp_path / "timings.parquet")
    text = text_of(tmp_path, 0.5)
    assert text.count("| SSSP | town |") == 3
    assert "energy between processes: 3 of 3 runs" in text
    assert "| 0.016 |" in text
    (tmp_path / "graphs" / "town").mkdir(parents=True)
    (tmp_path / "graphs" / "town" / "graph.json").write_text('{"weight_type": "float64"}', encoding="utf-8")
    assert "| 0.02 |" in text_of(tmp_path, 0.5)
    lines = agreement(costs(timings), 0.046)
    assert "runs within 4.6%" in lines[0]
    assert "change by at most 4.6% once loaded" in lines[3]


def test_a_run_without_costs_is_named(tmp_path):
    searches("old", spread(1.0)).to_parquet(tmp_path / "timings.parquet")
    assert "no cost was measured on a GPU; see docs/cost.md" in refusal(text_of, tmp_path, 0.05)
