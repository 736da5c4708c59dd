"""What is the same in all runs stands once, the rest by run."""

import pytest

from relaxometer.report.provenance import provenance_page
from relaxometer.results.contexts import data_lines, machine_lines, merge_contexts


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


def test_a_single_run_is_named():
    assert merge_contexts([context("town")])["runs"] == [{"run": "sssp/town/adaptive"}]


def test_the_page_holds_both_and_escapes_the_configuration():
    page = provenance_page(merge_contexts([context("town")]), {"device": "<auto>"})
    assert "sssp/town/adaptive" in page
    assert "NVIDIA X" in page
    assert "&lt;auto&gt;" in page
    assert "http" not in page


def test_the_page_has_one_column_for_the_parameters_of_all_variants():
    runs = [
        context("town", parameters={"delta": 4, "leash": "none"}),
        context("village", parameters={"tasks": 9}),
    ]
    page = provenance_page(merge_contexts(runs), {})
    assert page.count("<th>parameters</th>") == 1
    assert "<td>delta 4, leash none</td>" in page
    assert "<td>tasks 9</td>" in page


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
