"""What is the same in all runs stands once, the rest by run."""

import html
import re

import pytest

from relaxometer.report.provenance import provenance_page
from relaxometer.results.contexts import (
    data_lines,
    drift_lines,
    drift_warnings,
    machine_lines,
    merge_contexts,
)
from relaxometer.rivals.definition import find_rivals


def context(graph, **values):
    return {
        "device": "NVIDIA X",
        "device_kind": "cuda",
        "before": {"driver": "1.2", "sm_clock_mhz": "1980"},
        "machine": "Linux",
        "commit": "abc",
        "date": "2026-01-01",
        "run": {"problem": "sssp", "graph": graph, "variant": "adaptive", "solver": "adaptive"},
        **values,
    }


def test_shared_entries_stand_once():
    other = {"driver": "1.2", "sm_clock_mhz": "345"}
    merged = merge_contexts([context("town"), context("village", before=other)])
    assert merged["common"]["before.driver"] == "1.2"
    assert merged["common"]["run.solver"] == "adaptive"
    assert merged["runs"] == [
        {"run": "sssp/town/adaptive", "before.sm_clock_mhz": "1980"},
        {"run": "sssp/village/adaptive", "before.sm_clock_mhz": "345"},
    ]


def test_an_entry_that_one_run_lacks_is_not_shared():
    merged = merge_contexts([context("town", parameters={"to_all_us": 3}), context("village")])
    assert "parameters.to_all_us" not in merged["common"]
    assert merged["runs"][0]["parameters.to_all_us"] == 3


def test_only_what_changed_during_a_run_is_told_twice():
    after = {"driver": "1.2", "sm_clock_mhz": "1200"}
    common = merge_contexts([context("town", after=after)])["common"]
    assert {key: value for key, value in common.items() if key.startswith("after.")} == {
        "after.sm_clock_mhz": "1200"
    }


def test_the_page_holds_both_and_escapes_the_configuration():
    page = provenance_page(merge_contexts([context("town")]), {"device": "<auto>"}, drift_lines([]), {})
    assert "sssp/town/adaptive" in page
    assert "NVIDIA X" in page
    assert "&lt;auto&gt;" in page
    assert "http" not in page


def test_the_page_has_one_column_for_the_parameters_of_all_variants():
    runs = [
        context("town", parameters={"delta": 4, "leash": "none"}),
        context("village", parameters={"tasks": 9}),
    ]
    page = provenance_page(merge_contexts(runs), {}, drift_lines(runs), {})
    assert page.count("<th>parameters</th>") == 1
    assert "<td>delta 4, leash none</td>" in page
    assert "<td>tasks 9</td>" in page


def test_the_page_gives_units_and_few_digits():
    before = {"driver": "580.159", "sm_clock_mhz": "1980", "memory_bytes": 3 * 2**30, "l2_bytes": 2**20}
    values = {
        "began": "2026-11-25T23:01:59.819438+00:00",
        "cost": {"peak_bytes": 5 * 2**20, "rate": 0.123456},
    }
    runs = [context(name, before=before, **values) for name in ("town", "village")]
    runs[1]["reference_ms"] = {"before": 1.103392004, "after": None}
    page = provenance_page(merge_contexts(runs), {}, drift_lines([]), {})
    cells = re.findall(r"<td>(.*?)</td>\s*<td>(.*?)</td>", page)
    assert {("SM clock", "1980 MHz"), ("memory", "3,072 MiB"), ("L2", "1 MiB")} <= {*cells}
    assert {("driver", "580.159"), ("began", "2026-11-25 23:01:59 UTC"), ("peak", "5 MiB")} <= {*cells}
    assert ("rate", "0.1235") in cells
    assert "<h3>Device</h3>" in page
    assert "<td>before 1.103 ms, after not timed</td>" in page


def test_every_value_keeps_its_unit():
    cost = {
        **{"copy_gb_s": 4189.46, "leaked_bytes": 512, "powers_w": [131.774, 131.88], "sm_mhz": [1980, 1980]},
        **{"searches": 1240, "searches_s": [0.00414, 0.0041]},
    }
    values = {"start_ms": 12345.6, "first_search_ms": 0.00001234, "cost": cost}
    page = provenance_page(merge_contexts([context("town", **values)]), {}, drift_lines([]), {})
    cells = {*re.findall(r"<td>(.*?)</td>\s*<td>(.*?)</td>", page)}
    assert {("copy", "4189 GB/s"), ("leaked", "512 bytes"), ("powers", "131.8, 131.9 W")} <= cells
    assert {("start", "12,346 ms"), ("first search", "1.234e-05 ms"), ("SM", "1980, 1980 MHz")} <= cells
    assert {("searches", "1240"), ("searches", "0.00414, 0.0041 s")} <= cells


def test_the_page_says_what_no_value_means():
    timing = {"rounds": None, "enough_s": None}
    one = context("town")
    one = {**one, "run": {**one["run"], "timing": timing}, "reference_ms": {"before": None, "after": None}}
    page = provenance_page(merge_contexts([one]), {}, drift_lines([]), {})
    cells = {*re.findall(r"<td>(.*?)</td>\s*<td>(.*?)</td>", page)}
    assert {("timing rounds", "default"), ("timing enough", "none")} <= cells
    assert {("before", "not timed"), ("after", "not timed")} <= cells


def reference(before, after, **values):
    return context("town", reference_ms={"before": before, "after": after}, **values)


def test_the_landing_page_says_how_far_the_speed_changed():
    lines = dict(machine_lines([reference(1.0, 1.84)]).itertuples(index=False, name=None))
    assert lines["Speed"] == "changed by up to 84% in a race"
    assert "Speed" not in set(machine_lines([reference(1.0, 1.04), context("town")])["what"])


def test_drift_is_between_the_references_of_a_race_on_one_clock():
    runs = [
        reference(1.0, 1.02),
        reference(1.04, None),
        reference(5.0, 5.5, device_kind="cpu"),
        reference(None, None, device_kind="host"),
        context("village"),
    ]
    found = drift_lines(runs)
    assert found.drop(columns="drift").to_numpy().tolist() == [
        ["sssp", "town", "gpu", 2, 1.0, 1.04],
        ["sssp", "town", "cpu", 1, 5.0, 5.5],
    ]
    assert found["drift"].tolist() == pytest.approx([0.04, 0.1])
    assert drift_warnings(runs) == [
        "warning: sssp on town: the cpu drifted by 10% during the race: fixed work took 5 to 5.5 ms"
    ]
    page = provenance_page(merge_contexts(runs), {}, found, {})
    assert "<td>10.0%</td>" in page
    assert drift_lines([context("town")]).empty
    assert "No run is in real time" in provenance_page(merge_contexts(runs), {}, drift_lines([]), {})


def test_a_round_that_was_not_measured_is_left_out():
    runs = [context("town"), context("town", not_measured="the first round: timeout", round=2)]
    assert merge_contexts(runs) == merge_contexts(runs[:1])


@pytest.mark.parametrize(
    ("last", "measured"), [("2026-01-01", "2026-01-01"), ("2026-01-02", "2026-01-01 to 2026-01-02")]
)
def test_the_first_page_names_device_driver_commit_and_dates(last, measured):
    lines = machine_lines([context("town"), context("village", date=last)])
    assert dict(lines.itertuples(index=False, name=None)) == {
        "Device": "NVIDIA X",
        "driver": "1.2",
        "Machine": "Linux",
        "Commit": "abc",
        "Measured": measured,
    }


def test_a_rival_that_is_absent_has_no_state_of_the_device():
    absent = {key: value for key, value in context("town").items() if key != "before"}
    lines = dict(machine_lines([absent, context("town")]).itertuples(index=False, name=None))
    assert lines["driver"] == "1.2"


def test_every_graph_says_whose_data_it_is():
    graph = {"name": "town", "attribution": "© OpenStreetMap contributors", "license": "ODbL 1.0"}
    (line,) = data_lines([graph]).to_dict("records")
    assert line == {
        "Graph": "town",
        "Content": "",
        "Data": "© OpenStreetMap contributors",
        "Terms": "ODbL 1.0",
    }


def test_rivals_that_ran_are_credited():
    told = find_rivals([])["routingkit"].credits
    runs = [context("town")]
    page = provenance_page(merge_contexts(runs), {}, drift_lines(runs), {"routingkit": told})
    for key in ("title", "url", "licence", "citation", "prepares"):
        assert html.escape(told[key].strip(), quote=False) in page
    assert "<h2>Rivals</h2>" not in provenance_page(merge_contexts(runs), {}, drift_lines(runs), {})
