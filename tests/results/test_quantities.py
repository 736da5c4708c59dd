"""Quantities of claims over phases, sizes and ranks, for cases with a known value."""

import json

import pandas as pd
import pytest

from relaxometer.plan.models import DistributedRun
from relaxometer.results.claims import Claim, Evidence, compare_claims
from relaxometer.results.quantities import common_medians, growth
from relaxometer.results.scaling import PARTS, rank_searches
from synthetic_runs import metadata, phases, searches

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
        ("small_phase_speedup", {"at": 100, "of": "selection", "over": "conventional"}, 4),
        ("small_phase_speedup", {"at": 1e6, "of": "selection", "over": "conventional"}, 0.4 / (2.2 / 6)),
    ],
)
def test_quantities_of_phases(counted, quantity, given, measured):
    assert judged(quantity, counted=counted, **given)["measured"] == pytest.approx(measured)


def test_phases_of_one_variant_show_no_speedup(counted):
    line = judged("small_phase_speedup", counted=counted, at=100, of="selection", over="adaptive")
    assert line["verdict"] == "not measured: no such phases of selection and adaptive on town"


def test_emulated_phases_show_no_speedup(counted):
    emulated = counted.assign(device_kind="host")
    line = judged("small_phase_speedup", counted=emulated, at=100, of="selection", over="conventional")
    assert line["verdict"] == "not measured: emulated time"


def test_a_property_that_the_metadata_lack_is_named():
    line = judged("graph_property", key="share_above_degree_512", claimed=0.008)
    assert line["verdict"] == "not measured: the metadata of town have no share_above_degree_512"


def test_the_share_of_a_step():
    rows = phases("persistent-warp", [0, 0]).assign(mode=["prepare", "total"] * 2, time_ms=[3.0, 4.0] * 2)
    assert judged("step_share", steps=rows, key="prepare", of="persistent-warp")["measured"] == 0.75


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
    absent = judged("speedup_growth", timings=from_roots(town=1), key="city", of="tree", over="classic")
    assert absent["verdict"] == "not measured: city is not in this run"


def test_the_size_with_the_best_rate():
    times = pd.concat(
        [searches("edge-bf", [ms] * 8, graph=graph) for graph, ms in (("town", 2), ("city", 1))]
    )
    given = {"graph": "", "of": "edge-bf", "claimed": 7}
    both = judged("best_rate_vertices", timings=times, graphs=[metadata("city", 7)], **given)
    assert (both["measured"], both["verdict"]) == (7, "same")
    one = judged("best_rate_vertices", timings=times[times["graph"] == "town"], **given)
    assert one["verdict"] == "not measured: edge-bf was run on fewer than two graphs"


def test_the_time_of_an_extract_min():
    trials = pd.DataFrame(
        {
            "method": "reduction",
            "values": 100,
            "threads": 512,
            "device_kind": "cuda",
            "device": "NVIDIA X",
            "time_ms": [0.01, 0.02, 0.09],
        }
    )
    line = judged("extract_min_time", extract_min=trials, graph="", at=100, of="reduction-512", claimed=41.2)
    assert line["measured"] == pytest.approx(20)
    other = judged("extract_min_time", extract_min=trials, graph="", at=100, of="cub", claimed=41.2)
    assert other["verdict"] == "not measured: ExtractMin by cub was not timed on a real device"


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


def test_series_are_compared_from_their_common_sources(over_ranks):
    medians = common_medians(over_ranks, "weak", "cpu", "time_ms")
    assert medians.to_dict("index") == {1: {"of": 2.0, "over": 20.0}, 2: {"of": 2.0, "over": 40.0}}


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


def test_what_was_not_run_over_ranks_is_named(over_ranks):
    given = {"graph": "", "of": "weak", "over": "cpu"}
    none = judged("ranks_speedup", **given)
    assert none["verdict"] == "not measured: no search over several ranks in this run"
    apart = over_ranks.assign(source=over_ranks["source"] + 100 * (over_ranks["series"] == "cpu"))
    line = judged("ranks_speedup", ranks=apart, **given)
    assert line["verdict"] == "not measured: the series weak and cpu share no source"
    few = judged("communication_growth", ranks=over_ranks, graph="", of="cpu")
    assert few["verdict"] == "not measured: cpu: fewer than two numbers of ranks above one"


def test_a_time_that_does_not_grow():
    assert growth(pd.Series({1: 9.0, 2: 3.0, 4: 3.0})) == 0


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
