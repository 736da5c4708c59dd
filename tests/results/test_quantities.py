"""Quantities of claims over phases, sizes and ranks, for cases with a known value."""

import json

import numpy as np
import pandas as pd
import pytest

from relaxometer.plan.models import DistributedRun
from relaxometer.results.claims import Claim, compare_claims
from relaxometer.results.evidence import Evidence
from relaxometer.results.processes import ASSUMED
from relaxometer.results.quantities import extreme, growth, quotients_over_ranks, range_of_best
from relaxometer.results.scaling import PARTS, rank_searches
from relaxometer.results.statistics import Estimate, Part
from synthetic_runs import metadata, phases, searches

TOO_FEW = "undecided: fewer than 6 samples"

NOTHING = searches("none", [1.0]).iloc[:0]


def judged(quantity, *, timings=NOTHING, counted=None, graphs=(), **given):
    """The line that a claim gets from these tables."""
    tables = {key: given.pop(key) for key in ("extract_min", "steps", "ranks") if key in given}
    claim = Claim.model_validate(
        {"id": "c", "source": "p", "where": "w", "text": "t", "graph": "town"}
        | {"quantity": quantity}
        | given
    )
    found = phases("none", [1]).iloc[:0] if counted is None else counted
    known = {one["name"]: one for one in (metadata(), *graphs)}
    return compare_claims([claim], Evidence(timings, found, known, **tables)).iloc[0]


@pytest.fixture
def counted():
    """Phases of two variants: `selection` is cheaper where few vertices change, dearer where many do."""
    updated = [10, 1000, 900, 100, 20, 0]
    slow = phases("conventional", updated).assign(time_ms=0.4)
    fast = phases("selection", updated)
    return pd.concat([slow, fast.assign(time_ms=(fast["updated"] > 500) * 0.8 + 0.1)])


@pytest.mark.parametrize(
    ("quantity", "given", "measured"),
    [
        ("share_below_peak", {"at": 0.1}, 4 / 6),
        ("share_below_peak", {"at": 0.01}, 2 / 6),
        ("share_of_late_phases", {"at": 20}, 2 / 3),
        ("share_of_late_phases_below_peak", {"at": 0.05}, 2 / 3),
        ("busy_phase_speedup", {"at": 100, "of": "selection", "over": "conventional"}, 0.4 / 0.9),
        ("small_phase_speedup", {"at": 100, "of": "selection", "over": "conventional"}, 4),
        ("small_phase_speedup", {"at": 1e6, "of": "selection", "over": "conventional"}, 0.4 / (2.2 / 6)),
    ],
)
def test_quantities_of_phases(counted, quantity, given, measured):
    assert judged(quantity, counted=counted, **given)["measured"] == pytest.approx(measured)


@pytest.mark.parametrize(
    ("over", "kind", "why"),
    [
        ("adaptive", "cuda", "no such phases of selection and adaptive on town"),
        ("conventional", "host", "emulated time"),
    ],
)
def test_a_speedup_of_phases_needs_both_in_real_time(counted, over, kind, why):
    line = judged(
        "small_phase_speedup", counted=counted.assign(device_kind=kind), at=100, of="selection", over=over
    )
    assert line["verdict"] == f"not measured: {why}"


def test_what_was_not_measured_is_named(over_ranks):
    line = judged("graph_property", key="share_above_degree_512", claimed=0.008)
    assert line["verdict"] == "not measured: the metadata of town have no share_above_degree_512"
    other = extract_min("extract_min_time", trials([20] * 8), of="cub", claimed=41.2)
    assert other["verdict"] == "not measured: ExtractMin by cub was not timed on a real device"
    for quantity in ("extract_min_time", "extract_min_best_threads"):
        line = extract_min(quantity, trials([20] * 8).assign(values=50), of="reduction-512", claimed=512)
        assert line["verdict"] == "not measured: ExtractMin on 100 values was not timed"
    given = {"graph": "", "of": "weak", "over": "cpu"}
    none = judged("ranks_speedup", **given)
    assert none["verdict"] == "not measured: no search over several ranks in this run"
    apart = over_ranks.assign(source=over_ranks["source"] + 100 * (over_ranks["series"] == "cpu"))
    line = judged("ranks_speedup", ranks=apart, **given)
    assert line["verdict"] == "not measured: the series weak and cpu share no source"
    few = judged("communication_growth", ranks=over_ranks, graph="", of="cpu")
    assert few["verdict"] == "not measured: cpu: fewer than two numbers of ranks above one"


def test_the_share_of_a_step():
    rows = phases("persistent-warp", [0, 0]).assign(mode=["prepare", "total"] * 2, time_ms=[3.0, 4.0] * 2)
    given = {"key": "prepare", "of": "persistent-warp", "claimed": 0.77}
    few = judged("step_share", steps=rows, **given)
    assert few["measured"] == pytest.approx(0.75)
    assert few["verdict"] == TOO_FEW
    more = pd.concat([rows.assign(source=rows["source"] + 10 * times) for times in range(3)])
    assert judged("step_share", steps=more, **given)["verdict"] == "same"
    none = judged("step_share", steps=rows, key="download", of="persistent-warp")
    assert none["verdict"] == "not measured: persistent-warp on town has no step download with a total"


def from_roots(**gpu_ms):
    """Times of one search on each graph: 10 ms on the CPU, and those of the GPU given."""
    tables = []
    for graph, ms in gpu_ms.items():
        tables.append(searches("tree", [ms] * 8, graph=graph))
        tables.append(searches("classic", [10.0] * 8, graph=graph, device_kind="cpu"))
    return pd.concat(tables)


def test_how_a_speedup_grows_with_the_graph():
    line = judged(
        "speedup_growth",
        timings=from_roots(town=1, city=4),
        graphs=[metadata("city")],
        key="city",
        of="tree",
        over="classic",
    )
    assert line["measured"] == pytest.approx(4)
    assert line["low"] < 4 < line["high"]
    absent = judged("speedup_growth", timings=from_roots(town=1), key="city", of="tree", over="classic")
    assert absent["verdict"] == "not measured: city is not in this run"
    timings = from_roots(town=5, city=4).assign(device_kind="cuda", device="NVIDIA X")
    given = {"graph": "city", "key": "town", "of": "tree", "over": "classic", "direction": "higher"}
    line = judged("speedup_over_size", timings=timings, graphs=[metadata("city")], **given)
    assert line["measured"] == pytest.approx(1.25)
    assert line["low"] < 1.25 < line["high"]


def test_the_size_with_the_best_rate():
    times = pd.concat(
        [searches("edge-bf", [ms] * 8, graph=graph) for graph, ms in (("town", 2), ("city", 1))]
    )
    given = {"graph": "", "of": "edge-bf", "claimed": 7}
    both = judged("best_rate_vertices", timings=times, graphs=[metadata("city", 7)], **given)
    assert (both["measured"], both["verdict"]) == (7, "same")
    alike = times.assign(time_ms=times["time_ms"].where(times["graph"] == "city", 1.01))
    tie = judged("best_rate_vertices", timings=alike, graphs=[metadata("city", 7)], **given)
    assert (tie["measured"], tie["low"], tie["high"], tie["verdict"]) == (7, 7, 1000, "undecided")
    sparse = pd.concat([times, searches("edge-bf", [9] * 8, graph="sparse")])
    graphs = [metadata("city", 7), metadata("sparse", 7)]
    both = judged("best_rate_vertices", timings=sparse, graphs=graphs, **given)
    assert (both["measured"], both["verdict"]) == (7, "same"), "the best of two graphs of a size"
    one = judged("best_rate_vertices", timings=times[times["graph"] == "town"], **given)
    assert one["verdict"] == "not measured: edge-bf was run on fewer than two graphs"


def trials(times_us, threads=512):
    rows = {"method": "reduction", "values": 100, "threads": threads, "device_kind": "cuda"}
    return pd.DataFrame({**rows, "device": "NVIDIA X", "time_ms": [time / 1e3 for time in times_us]})


def extract_min(quantity, table, **given):
    return judged(quantity, extract_min=table, graph="", at=100, **given)


@pytest.mark.parametrize(
    ("times_us", "verdict"),
    [
        ([19, 20, 20, 20, 20, 20, 21], "faster here"),
        ([41] * 7, "same"),
        ([45] * 7, "undecided"),
        ([80] * 7, "slower here"),
        ([10, 20, 90], TOO_FEW),
    ],
)
def test_the_time_of_an_extract_min(times_us, verdict):
    line = extract_min("extract_min_time", trials(times_us), of="reduction-512", claimed=41.2)
    assert line["measured"] == pytest.approx(np.median(times_us))
    assert line["verdict"] == verdict


@pytest.mark.parametrize(
    ("others_us", "interval", "verdict"), [(30, (512, 512), "same"), (20.4, (256, 512), "undecided")]
)
def test_the_best_number_of_threads_may_be_a_tie(others_us, interval, verdict):
    table = pd.concat([trials([20] * 8), trials([others_us] * 8, threads=256)])
    line = extract_min("extract_min_best_threads", table, claimed=512, tolerance=0.01)
    assert (line["measured"], line["low"], line["high"]) == (512, *interval)
    assert line["verdict"] == verdict


def of_series(series, ranks, times, *, first_source=0):
    rows = {"source": range(first_source, first_source + len(times)), "time_ms": times}
    rows |= {"computing_ms": [time / 2 for time in times], "communication_ms": [1.0 * ranks] * len(times)}
    return pd.DataFrame(rows).assign(series=series, ranks=ranks, device_kind="cuda", device="NVIDIA X")


@pytest.fixture
def over_ranks():
    """A GPU series of 16 sources, and a CPU series from the last four of them."""
    tables = [of_series("weak", ranks, [1.0] * 12 + [2.0] * 4) for ranks in (1, 2, 4)]
    tables += [of_series("cpu", ranks, [20.0 * ranks] * 4, first_source=12) for ranks in (1, 2)]
    return pd.concat(tables, ignore_index=True)


def test_ratios_over_ranks_are_from_common_sources_and_few_decide_nothing(over_ranks):
    found = quotients_over_ranks(over_ranks, "weak", "cpu", "time_ms")
    assert [(one.value, one.n) for one in found] == [(pytest.approx(10), 4), (pytest.approx(20), 4)]
    given = {"graph": "", "key": "least", "of": "weak", "over": "cpu", "direction": "higher"}
    assert judged("ranks_speedup", ranks=over_ranks, **given)["verdict"] == TOO_FEW
    more = pd.concat([over_ranks, of_series("cpu", 1, [20.0] * 4), of_series("cpu", 2, [20.0] * 4)])
    line = judged("ranks_speedup", ranks=more, **given)
    assert line["verdict"] == "same"
    assert line["low"] < line["measured"] < line["high"]


def known(value, n=16):
    """An estimate whose 95% interval reaches 8.7% to both sides."""
    return Estimate(float(np.log(value)), (Part(0.0, 15.0), ASSUMED, ASSUMED), n)


def test_the_interval_of_the_least_holds_all_that_may_be_the_least():
    value, (low, high) = extreme([known(2.0), known(2.02), known(9.0)], least=True)
    assert value == pytest.approx(2)
    assert low < known(2.0).interval()[0]
    assert known(2.0).interval()[1] < high < known(2.02).interval(0.999)[1]
    value, (low, high) = extreme([known(2.0), known(9.0, n=5)], least=False)
    assert value == pytest.approx(9)
    assert np.isnan([low, high]).all()
    assert range_of_best(256, {128: known(1.3), 512: known(1.05), 1024: known(1.01)}) == (256, 1024)
    assert range_of_best(256, {128: known(1.3), 512: known(1.3)}) == (256, 256)
    assert np.isnan(range_of_best(256, {128: known(1.3, n=5)})).all()


@pytest.mark.parametrize(
    ("quantity", "key", "measured"),
    [
        ("ranks_speedup", "least", 10),
        ("ranks_speedup", "most", 20),
        ("ranks_computing_ratio", "most", 20),
        ("communication_growth", "", 1),
    ],
)
def test_quantities_over_ranks(over_ranks, quantity, key, measured):
    line = judged(quantity, ranks=over_ranks, graph="", key=key, of="weak", over="cpu")
    assert line["measured"] == pytest.approx(measured)
    assert (line["device"], line["device_kind"]) == ("NVIDIA X", "cuda")


def test_how_the_share_of_computing_grows_over_ranks():
    rows = pd.concat([of_series("weak", ranks, [1.0] * 8) for ranks in (1, 2, 4)])
    falls = rows.assign(computing_ms=rows["computing_ms"] / rows["ranks"])
    given = {"graph": "", "of": "weak", "direction": "lower"}
    line = judged("computing_share_growth", ranks=falls, **given)
    assert (line["measured"], line["verdict"]) == (pytest.approx(1 / 4), "same")
    one = judged("computing_share_growth", ranks=falls[falls["ranks"] == 1], **given)
    assert one["verdict"] == "not measured: weak: fewer than two numbers of ranks"


def test_the_growth_of_communication_is_judged_by_its_interval():
    rows = [of_series("weak", ranks, [1.0] * 8) for ranks in (1, 2, 4)]
    given = {"graph": "", "of": "weak", "claimed": 1.0, "tolerance": 0.2}
    assert judged("communication_growth", ranks=pd.concat(rows), **given)["verdict"] == "same"
    flat = pd.concat(rows).assign(communication_ms=1.0)
    assert judged("communication_growth", ranks=flat, **given)["verdict"] == "lower than claimed"
    few = pd.concat([one[one["source"] < 5] for one in rows])
    assert judged("communication_growth", ranks=few, **given)["verdict"] == TOO_FEW
    value, (low, high) = growth({1: known(9.0), 2: known(3.0), 4: known(3.0)})
    assert value == 0
    assert low == pytest.approx(-high)
    assert high == pytest.approx(1.96 * 0.03 * 4**0.5 / np.log(2), rel=1e-3)


def test_searches_over_ranks_are_read_with_their_series(tmp_path):
    parts = {part: [0.5, 0.5] for part in PARTS}
    (tmp_path / "weak-2").mkdir()
    times = {"source": [3, 4], "time_ms": [1.0, 2.0], "status": ["ok", "invalid"], **parts}
    pd.DataFrame(times).to_parquet(tmp_path / "weak-2/times.parquet")
    context = {"device_kind": "cuda", "device": "NVIDIA X"}
    (tmp_path / "weak-2/run.json").write_text(json.dumps(context), encoding="utf-8")
    run = DistributedRun.model_construct(name="weak-2", series="weak", ranks=2)
    rows = rank_searches([run], tmp_path)
    assert rows[["series", "ranks", "source", "time_ms"]].to_numpy().tolist() == [["weak", 2, 3, 1.0]]
    assert rank_searches([], tmp_path).empty
