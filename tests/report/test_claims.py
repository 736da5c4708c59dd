"""Verdicts over claims, for cases made so that each must come out."""

from pathlib import Path

import pandas as pd
import pytest

from relaxometer.core.errors import UserError
from relaxometer.results.claims import Claim, compare_claims, load_claims, verdict
from relaxometer.results.evidence import Evidence, Measured
from relaxometer.results.readable import readable_claims
from synthetic_runs import metadata, phases, quiet, searches, spread

CLAIMS = Path(__file__).parents[2] / "resources/claims"


def claim(quantity, **values):
    common = {"id": "c", "source": "adaptive", "where": "figure 7", "text": "A claim", "graph": "town"}
    return Claim.model_validate(common | {"quantity": quantity} | values)


def faster(**values):
    """The claim that adaptive is 18% faster than conventional."""
    given = {"of": "adaptive", "over": "conventional", "claimed": 1.18}
    return claim("speedup", **given | {"direction": "higher", "tolerance": 0.05} | values)


def judged(one, *timings, counted=(), swept=()):
    """The line that a claim gets from these tables; processes are known to agree within 0.2%."""
    nothing = [searches("none", [1.0]).iloc[:0]], [phases("none", [1]).iloc[:0]]
    known = (quiet(), quiet("cpu"))
    times = pd.concat([*(timings or nothing[0]), *(known if timings else ())])
    evidence = Evidence(times, pd.concat([*(counted or nothing[1])]), {"town": metadata()}, list(swept))
    return compare_claims([one], evidence).iloc[0]


def conventional_and(adaptive_ms, **options):
    means = {"conventional": 10, "adaptive": adaptive_ms}
    return [searches(name, spread(mean), **options) for name, mean in means.items()]


@pytest.mark.parametrize(("adaptive_ms", "verdict"), [(10 / 1.18, "same"), (10 / 1.24, "undecided")])
def test_a_speed_claim(adaptive_ms, verdict):
    line = judged(faster(), *conventional_and(adaptive_ms))
    assert line["verdict"] == verdict
    assert line["measured"] == pytest.approx(10 / adaptive_ms)
    assert line["low"] < line["measured"] < line["high"]
    assert line["ratio"] == pytest.approx(10 / adaptive_ms / 1.18)
    assert (line["device"], line["device_kind"]) == ("NVIDIA X", "cuda")


def test_a_claim_of_no_difference():
    equal = faster(claimed=1.0, direction="equal")
    verdicts = {10: "same", 9.8: "same", 5: "differs: adaptive is faster"}
    verdicts |= {20: "differs: conventional is faster", 9.525: "undecided"}
    assert {ms: judged(equal, *conventional_and(ms))["verdict"] for ms in verdicts} == verdicts


HIGHER = {"claimed": 1.2, "tolerance": 0.05, "direction": "higher"}  # range 1.14 to 1.26
LOWER = {"claimed": 0.5, "tolerance": 0.1, "direction": "lower"}  # range 0.45 to 0.55


@pytest.mark.parametrize(
    ("values", "ends", "verdict_"),
    [
        (HIGHER, (1.15, 1.25), "same"),
        (HIGHER, (1.27, 1.30), "exceeded"),
        (HIGHER, (1.05, 1.10), "less than claimed"),
        (HIGHER, (0.98, 1.03), "no gain shown"),
        (HIGHER, (0.90, 0.99), "opposite"),
        (HIGHER, (0.95, 1.20), "undecided"),
        (HIGHER, (float("nan"), float("nan")), "undecided: fewer than 6 samples"),
        (LOWER, (0.30, 0.40), "exceeded"),
        (LOWER, (0.60, 0.80), "less than claimed"),
        (LOWER, (0.90, 1.10), "no loss shown"),
        (LOWER, (1.10, 1.20), "opposite"),
        ({"direction": "higher"}, (1.01, 9.0), "same"),
        ({"direction": "higher"}, (0.99, 9.0), "no gain shown"),
        ({"direction": "higher"}, (0.8, 0.9), "opposite"),
        ({"claimed": 1.02, "tolerance": 0.1, "direction": "higher"}, (0.95, 1.0), "no gain shown"),
        ({"claimed": 1.02, "tolerance": 0.1, "direction": "higher"}, (0.95, 0.99), "opposite"),
    ],
)
def test_the_rule_of_verdicts(values, ends, verdict_):
    one = claim("speedup", of="adaptive", over="conventional", **values)
    assert verdict(one, Measured(sum(ends) / 2, interval=ends)) == verdict_


def test_the_rule_for_values_without_a_direction():
    verdicts = {("mean_time", 50): "faster here", ("mean_time", 150): "slower here"}
    verdicts |= {("step_time", 50): "faster here", ("mean_rate", 150): "faster here"}
    verdicts |= {("mean_phases", 150): "higher than claimed", ("mean_phases", 50): "lower than claimed"}
    verdicts |= {("mean_phases", 105): "same"}
    assert {one: verdict(claim(one[0], claimed=100), Measured(one[1])) for one in verdicts} == verdicts


@pytest.mark.parametrize(
    "one",
    [
        faster(),
        claim("mean_time", of="adaptive", claimed=107),
        claim("threshold_band", of="adaptive", over="conventional", claimed=800),
        claim("best_threshold", of="adaptive", claimed=350),
    ],
    ids=lambda one: one.quantity,
)
def test_emulated_time_never_gives_a_value(one):
    swept = searches("adaptive-5", spread(1), kernel="adaptive", to_all_us=5, device_kind="host")
    line = judged(one, *conventional_and(5, device_kind="host"), swept, swept=["adaptive-5"])
    assert line["verdict"] == "not measured: emulated time"
    assert pd.isna(line["measured"])
    assert pd.isna(line["ratio"])


@pytest.mark.parametrize(
    ("adaptive", "graph", "why"),
    [
        ({"device": "NVIDIA Y"}, "town", "the variants were timed on different devices"),
        ({"status": "invalid"}, "town", "adaptive on town was not proven correct and finished"),
        (None, "town", "adaptive on town was not run"),
        ({}, "metropolis", "metropolis is not in this run"),
    ],
)
def test_what_is_not_measured_has_a_reason(adaptive, graph, why):
    ours = [] if adaptive is None else [searches("adaptive", spread(5), **adaptive)]
    line = judged(faster(graph=graph), searches("conventional", spread(10)), *ours)
    assert line["verdict"] == f"not measured: {why}"


def test_a_gain_over_a_cpu_is_claimed_for_the_gpu():
    one = claim("speedup_over_cpu", of="edge-bf", over="dijkstra-cpu", claimed=40, direction="higher")
    fast = searches("edge-bf", spread(2.5))
    line = judged(one, fast, searches("dijkstra-cpu", spread(100), device_kind="cpu"))
    assert (line["verdict"], line["measured"]) == ("same", pytest.approx(40))
    assert (line["device"], line["device_kind"]) == ("NVIDIA X", "cuda")
    line = judged(one, fast, searches("dijkstra-cpu", spread(100)))
    assert line["verdict"] == "not measured: dijkstra-cpu was not timed on a CPU"


def test_spreads_are_compared_over_devices_and_common_sources():
    one = claim("spread_ratio", of="edge-bf", over="dijkstra-cpu", direction="higher")
    wide = searches("edge-bf", [*[1.0, 3.0] * 6, 500.0])
    narrow = searches("dijkstra-cpu", [90.0, 110.0] * 6, device_kind="cpu")
    line = judged(one, wide, narrow)
    assert line["measured"] == pytest.approx(0.5 / 0.1)
    assert line["verdict"] == "same"
    assert judged(one, wide, narrow[narrow["source"] < 2])["verdict"] == "undecided: fewer than 6 samples"
    one_source = searches("dijkstra-cpu", [90.0], device_kind="cpu")
    why = "not measured: edge-bf and dijkstra-cpu share too few sources on town"
    assert judged(one, wide, one_source)["verdict"] == why


def sweep_of(means):
    tables = [
        searches(f"adaptive-{to_all}", spread(mean), kernel="adaptive", to_all_us=to_all)
        for to_all, mean in means.items()
    ]
    return tables, [f"adaptive-{to_all}" for to_all in means]


def test_thresholds_of_a_sweep_have_a_longest_band_that_gains_and_a_best():
    tables, names = sweep_of({10: 8, 20: 12, 50: 8, 80: 7, 200: 9, 500: 12})
    band = {"of": "adaptive", "over": "conventional", "direction": "higher"}
    one = claim("threshold_band", claimed=800, against=0, **band)
    line = judged(one, searches("conventional", spread(10)), *tables, swept=names)
    assert line["measured"] == 150
    assert line["verdict"] == "less than claimed"
    none = judged(one, searches("conventional", spread(1)), *tables, swept=names)
    assert (none["measured"], none["verdict"]) == (0, "no gain shown")
    tables, names = sweep_of({10: 8, 20: 6, 50: 9})
    tuned = searches("adaptive", spread(1), to_all_us=33)
    one = claim("best_threshold", of="adaptive", claimed=350)
    line = judged(one, tuned, *tables, swept=names)
    assert (line["measured"], line["verdict"]) == (20, "lower than claimed")


@pytest.mark.parametrize(
    ("one", "measured", "verdict"),
    [
        (claim("mean_phases", claimed=230), 5, "lower than claimed"),
        (claim("peak_updated", claimed=5e5, direction="higher", against=5e5), 900_000, "exceeded"),
        (claim("share_of_phases", at=10_000, claimed=0.59, direction="higher", against=0.5), 0.6, "same"),
        (claim("share_of_phases", at=10, claimed=0.59, direction="higher", against=0.5), 0.2, "opposite"),
    ],
)
def test_counts_hold_on_any_device(one, measured, verdict):
    counted = [phases("conventional", [100, 10_000, 10_001, 900_000, 0], device_kind="host")]
    line = judged(one, counted=counted)
    assert line["measured"] == pytest.approx(measured)
    assert line["verdict"] == verdict
    assert line["device_kind"] == "host"


def test_a_property_of_a_graph():
    given = {"key": "mean_weight", "claimed": 83_666}
    line = judged(claim("graph_property", **given))
    assert (line["verdict"], line["ratio"], line["device"]) == ("same", 1, "")
    made = judged(claim("graph_property", by_construction=True, **given))
    assert made["verdict"] == "same, by construction"
    other = judged(claim("graph_property", by_construction=True, **given | {"claimed": 1}))
    assert other["verdict"] == "higher than claimed"


def test_a_claim_that_no_suite_measures_says_why():
    assert judged(claim("", unmeasured="it is lost"))["verdict"] == "not measured: it is lost"
    for wrong in ({}, {"unmeasured": "it is lost", "quantity": "mean_time"}):
        with pytest.raises(ValueError, match="either a quantity or a reason"):
            claim(wrong.get("quantity", ""), unmeasured=wrong.get("unmeasured", ""))


def test_a_wrong_quantity_names_the_known_ones(tmp_path):
    path = tmp_path / "claims.yaml"
    text = (CLAIMS / "adaptive.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("quantity: speedup", "quantity: sped_up", 1), encoding="utf-8")
    said = r"claims\.yaml: 8\.quantity: 'sped_up'.*known quantities are .*speedup"
    with pytest.raises(UserError, match=said):
        load_claims(path)


def test_the_readable_table_rounds_and_keeps_units():
    def readable(claimed, ms):
        one = claim("mean_time", of="conventional", claimed=claimed, unit="ms")
        return readable_claims(pd.DataFrame([judged(one, searches("conventional", [ms] * 8))])).iloc[0]

    line = readable(107, 20.12345)
    assert (line["Claimed"], line["Measured"], line["Ratio"]) == ("107 ms", "20.12 ms", "0.19")
    assert readable(9999.7, 31.0)[["Claimed", "Ratio"]].tolist() == ["10,000 ms", "0.0031"]
    assert readable(9999.7, 54_321.0)["95% interval"] == "53,899 to 54,747"
