"""Every claim of a published suite's papers has a verdict or a reason, and tables give what they can."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from relaxometer.report.findings import Data
from relaxometer.results.claims import load_claims, verdict
from relaxometer.results.evidence import Measured

ROOT = Path(__file__).parents[2]
RESULTS, CLAIMS = ROOT / "docs/results", ROOT / "resources/claims"
SUITES = sorted(path.parent.name for path in RESULTS.glob("*/claims.csv"))


def papers_of(suite):
    """Return the papers of a suite, which are those of the default configuration unless it names some."""
    files = (ROOT / "config/config.yaml", ROOT / f"config/suites/{suite}.yaml")
    default, own = (yaml.safe_load(file.read_text(encoding="utf-8")).get("report", {}) for file in files)
    return (default | own)["papers"]


@pytest.mark.parametrize("suite", SUITES)
def test_the_claims_are_those_of_the_papers_and_none_lacks_a_verdict_or_a_reason(suite):
    published = pd.read_csv(RESULTS / suite / "claims.csv")
    files = [CLAIMS / f"{paper}.yaml" for paper in papers_of(suite)]
    assert published["id"].tolist() == [claim.id for file in files for claim in load_claims(file)]
    assert published["verdict"].notna().all()
    unmeasured = published.loc[published["measured"].isna(), "verdict"]
    assert unmeasured.str.match(r"not measured: .+").all()


VERDICTS = (
    r"same|exceeded|(less|higher|lower) than claimed|opposite|no (gain|loss) shown|undecided(: .+)?|"
    r"(faster|slower) here"
)


@pytest.mark.parametrize("suite", SUITES)
def test_verdicts_are_those_of_the_rule(suite):
    claims = {one.id: one for file in CLAIMS.glob("*.yaml") for one in load_claims(file)}
    judged = pd.read_csv(RESULTS / suite / "claims.csv").dropna(subset="measured")
    for line in judged.itertuples():
        # Verdicts on tables without samples stand for themselves.
        if not line.verdict.startswith("undecided: samples"):
            measured = Measured(line.measured, interval=(line.low, line.high))
            assert verdict(claims[line.id], measured) == line.verdict, line.id
    assert judged["verdict"].str.fullmatch(VERDICTS).all()


@pytest.mark.parametrize("suite", SUITES)
def test_every_verdict_of_a_page_has_an_id(suite):
    page = (RESULTS / suite / "README.md").read_text(encoding="utf-8")
    known = set(pd.read_csv(RESULTS / suite / "claims.csv")["id"])
    rows = [line for line in page.splitlines() if re.search(rf"\| ({VERDICTS}) \|$", line)]
    assert rows or not known
    assert all(line.split("`")[1] in known for line in rows)
    assert all(f"`{name}`" in page for name in known)


@pytest.fixture
def dominators():
    return Data(RESULTS / "dominators")


def gain(data, graph, variant):
    return data.ratio(graph, "lengauer-tarjan", variant)


def test_the_bend_is_that_of_the_published_times(dominators):
    for claim, variant in (("bend", "multiword"), ("bend-tree", "iterative-tree")):
        grown = gain(dominators, "flow-random-100k", variant) / gain(dominators, "flow-random-10k", variant)
        assert dominators.claim(f"dominators-{claim}") == pytest.approx(grown, rel=1e-5)


def test_the_share_of_preparing_is_that_of_the_published_steps(dominators):
    table = dominators.rows("tables/dominators/steps.csv").set_index("Step")
    (device,) = [column for column in table if column.startswith("NVIDIA ")]
    steps = table[device]
    share = steps["Preparing the graph"] / steps["Total"]
    assert dominators.claim("dominators-preparing-share") == pytest.approx(share, rel=3e-3)


@pytest.mark.parametrize("size", ["", "-large"])
def test_the_gains_of_edge_bf_agree_with_each_other(size):
    """Two of them need `edge-bf-plain`, which may not have run."""
    claims = Data(RESULTS / "edge-bf").rows("claims.csv").set_index("id")
    both, misuse = (claims.loc[f"edge-bf-{name}{size}"] for name in ("both-gain", "cache-misuse"))
    if np.isnan(misuse["measured"]):
        for one in (both, misuse):
            assert np.isnan(one["measured"])
            assert one["verdict"].startswith("not measured: edge-bf-plain ")
    else:
        quotient = both["measured"] / claims.loc[f"edge-bf-order-gain{size}", "measured"]
        assert misuse["measured"] == pytest.approx(quotient, rel=1e-4)


def test_extract_min_is_that_of_the_published_table():
    data = Data(RESULTS / "survey")
    table = data.rows("tables/survey/extract-min-times.csv").set_index("Method")
    reductions = table[table.index.str.startswith("reduction")]
    for exponent in range(1, 8):
        column = f"{10**exponent:,} values [µs]"
        assert (
            float(f"{data.claim(f'survey-extract-min-time-{10**exponent}'):.3g}")
            == table.loc["reduction, 512 threads", column]
        )
        best = data.claim(f"survey-extract-min-threads-{10**exponent}".removesuffix("-10000000"))
        assert table.loc[f"reduction, {best:.0f} threads", column] == reductions[column].min()


def test_communication_over_ranks_is_that_of_the_published_table():
    data = Data(RESULTS / "hybrid-bfs-2d")
    for claim, series in (("communication", "weak-cpu-and-gpu"), ("communication-peers", "weak-peers")):
        two, four = (
            data.value("distributed.csv", "communication_ms", variant=f"{series}-{ranks}") for ranks in (2, 4)
        )
        assert data.claim(f"hybrid-bfs-{claim}") == pytest.approx(np.log2(four / two), rel=1e-4)


def text_of(file):
    """Return all text of a figure on one line."""
    return " ".join(re.findall(r">([^<>\n]+)</text>", file.read_text(encoding="utf-8")))


def test_phases_of_adaptive_are_those_of_its_figure():
    data, folder = Data(RESULTS / "adaptive"), RESULTS / "adaptive/figures/adaptive/figure-5"
    said = text_of(folder / "kanto-like.svg")
    phases, sources, peak = (
        int(number.replace(",", ""))
        for number in re.search(r"([\d,]+) phases of ([\d,]+) sources; peak ([\d,]+)", said).groups()
    )
    assert data.claim("adaptive-phases") == pytest.approx(phases / sources)
    assert data.claim("adaptive-peak") == peak
    for claim, limit in (("small-phases", "10,000"), ("below-peak", "a tenth of the peak")):
        assert f"{data.claim(f'adaptive-{claim}'):.0%} at or under {limit}" in said


def test_gains_over_the_cpu_are_near_the_quotients_of_medians():
    gains = {"edge-bf": ("edge-bf", "dijkstra-cpu"), "hybrid-bfs": ("hybrid", "hybrid-cpu")}
    for suite, (ours, theirs) in gains.items():
        data = Data(RESULTS / suite)
        rows = data.rows("claims.csv", quantity="speedup_over_cpu").dropna(subset="measured")
        assert len(rows) == 4
        for line in rows.itertuples():
            # Fewer sources of the program on the CPU.
            assert line.measured == pytest.approx(data.ratio(line.graph, theirs, ours), rel=0.13)
