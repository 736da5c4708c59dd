"""What is the same in all runs stands once, the rest by run."""

import html
import re

import pytest

from relaxometer.report.provenance import provenance_page
from relaxometer.results import contexts
from relaxometer.results.contexts import drift_lines, merge_contexts
from relaxometer.rivals.definition import find_rivals


def context(graph, **values):
    common = {"device": "NVIDIA X", "device_kind": "cuda", "machine": "Linux", "commit": "abc"}
    common |= {"date": "2026-01-01", "before": {"driver": "1.2", "sm_clock_mhz": "1980"}}
    run = {"problem": "sssp", "graph": graph, "variant": "adaptive", "solver": "adaptive"}
    return {**common, "run": run, **values}


def test_shared_entries_stand_once():
    other = {"driver": "1.2", "sm_clock_mhz": "345"}
    merged = merge_contexts([context("town"), context("village", before=other)])
    assert merged["common"]["before.driver"] == "1.2"
    assert merged["common"]["run.solver"] == "adaptive"
    clocks = {"town": "1980", "village": "345"}
    runs = [{"run": f"sssp/{of}/adaptive", "before.sm_clock_mhz": clock} for of, clock in clocks.items()]
    assert merged["runs"] == runs


def test_the_page_gives_units_and_few_digits():
    before = {"driver": "580.159", "sm_clock_mhz": "1980", "memory_bytes": 3 * 2**30, "l2_bytes": 2**20}
    values = {"began": "2026-11-25T23:01:59.819438+00:00"}
    values |= {"cost": {"peak_bytes": 5 * 2**20, "rate": 0.123456}}
    runs = [context(name, before=before, **values) for name in ("town", "village")]
    runs[1]["reference_ms"] = {"before": 1.103392004, "after": None}
    page = provenance_page(merge_contexts(runs), {"device": "<auto>"}, drift_lines([]), {})
    assert "sssp/town/adaptive" in page
    assert "&lt;auto&gt;" in page
    assert "http" not in page
    cells = re.findall(r"<td>(.*?)</td>\s*<td>(.*?)</td>", page)
    assert {("SM clock", "1980 MHz"), ("memory", "3,072 MiB"), ("L2", "1 MiB")} <= {*cells}
    assert {("driver", "580.159"), ("began", "2026-11-25 23:01:59 UTC"), ("peak", "5 MiB")} <= {*cells}
    assert ("rate", "0.1235") in cells
    assert "<h3>Device</h3>" in page
    assert "<td>before 1.103 ms, after not timed</td>" in page


def reference(before, after, **values):
    return context("town", reference_ms={"before": before, "after": after}, **values)


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
    warning = "the cpu drifted by 10% during the race: fixed work took 5 to 5.5 ms"
    assert contexts.drift_warnings(runs) == [f"warning: sssp on town: {warning}"]
    page = provenance_page(merge_contexts(runs), {}, found, {})
    assert "<td>10.0%</td>" in page
    assert drift_lines([context("town")]).empty
    assert "No run is in real time" in provenance_page(merge_contexts(runs), {}, drift_lines([]), {})


@pytest.mark.parametrize(
    ("last", "measured"), [("2026-01-01", "2026-01-01"), ("2026-01-02", "2026-01-01 to 2026-01-02")]
)
def test_the_first_page_names_device_driver_commit_and_dates(last, measured):
    lines = contexts.machine_lines([context("town"), context("village", date=last)])
    machine = {"Device": "NVIDIA X", "driver": "1.2", "Machine": "Linux", "Commit": "abc"}
    assert dict(lines.itertuples(index=False, name=None)) == {**machine, "Measured": measured}


def test_data_and_rivals_are_credited():
    graph = {"name": "town", "attribution": "© OpenStreetMap contributors", "license": "ODbL 1.0"}
    (line,) = contexts.data_lines([graph]).to_dict("records")
    data = {"Data": "© OpenStreetMap contributors", "Terms": "ODbL 1.0"}
    assert line == {"Graph": "town", "Content": "", **data}
    told = find_rivals([])["routingkit"].credits
    runs = [context("town")]
    page = provenance_page(merge_contexts(runs), {}, drift_lines(runs), {"routingkit": told})
    for key in ("title", "url", "licence", "citation", "prepares"):
        assert html.escape(told[key].strip(), quote=False) in page
    assert "<h2>Rivals</h2>" not in provenance_page(merge_contexts(runs), {}, drift_lines(runs), {})
