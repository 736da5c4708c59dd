"""Every claim of a published suite's papers has a verdict or a reason, and tables give what they can."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from relaxometer.results.claims import judge_again, load_claims, verdict
from relaxometer.results.evidence import Measured
from relaxometer.results.readable import number_text

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
    page = (RESULTS / suite / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in published["id"]), "a page shows all claims"
    unmeasured = published.loc[published["measured"].isna(), "verdict"]
    assert unmeasured.str.match(r"not measured: .+").all()


VERDICTS = (
    r"same(, by construction)?|exceeded|(less|higher|lower) than claimed|opposite|no (gain|loss) shown|"
    r"undecided(: .+)?|(faster|slower) here"
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
def test_claims_follow_from_their_files_and_the_committed_data(suite):
    """Texts and verdicts are those of ``resources/claims``, and times those of ``samples.parquet``."""
    claims = [one for paper in papers_of(suite) for one in load_claims(CLAIMS / f"{paper}.yaml")]
    again = judge_again(claims, RESULTS / suite).to_csv(index=False, float_format=number_text)
    assert again == (RESULTS / suite / "claims.csv").read_text(encoding="utf-8")
