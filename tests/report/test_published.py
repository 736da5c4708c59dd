"""Claims and tables of published suites follow from their samples; each claim has a verdict or a reason."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from relaxometer.plan.load import load_plan
from relaxometer.report.catalogue import swept
from relaxometer.report.figures.preparation import payoff_table
from relaxometer.report.figures.winners import winners_table
from relaxometer.report.figures.work import work_table
from relaxometer.report.papers import dominators
from relaxometer.results.claims import judge_again, load_claims
from relaxometer.results.published import SAMPLES, read_samples
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
def test_claims_follow_from_their_files_and_the_committed_data_and_none_lacks_a_verdict_or_a_reason(suite):
    """Texts and verdicts are those of ``resources/claims``, and times those of ``samples.parquet``."""
    claims = [one for paper in papers_of(suite) for one in load_claims(CLAIMS / f"{paper}.yaml")]
    again = judge_again(claims, RESULTS / suite).to_csv(index=False, float_format=number_text)
    assert again == (RESULTS / suite / "claims.csv").read_text(encoding="utf-8")
    published = pd.read_csv(RESULTS / suite / "claims.csv")
    assert published["verdict"].notna().all()
    page = (RESULTS / suite / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in published["id"]), "a page shows all claims"
    unmeasured = published.loc[published["measured"].isna(), "verdict"]
    assert unmeasured.str.match(r"not measured: .+").all()


UNKEPT = ["Relaxations per arc", "Examined per arc"]
"""Columns of counts that samples do not have."""


def of_problem(name):
    """The problem of a table, which its name begins with unless it is ``sssp``."""
    return name if (name := name.partition("-")[0]) in ("bfs", "dominators") else "sssp"


MADE = {
    "common/*preparation.csv": lambda _, searches, name: payoff_table(searches, of_problem(name)),
    "common/*-work.csv": lambda _, searches, name: work_table(searches, of_problem(name)),
    "common/winners.csv": lambda summary, searches, _: winners_table(summary, searches),
    "dominators/winners.csv": lambda _, searches, __: dominators.winners_table(searches),
}
TABLES = {
    file: made
    for pattern, made in MADE.items()
    for file in sorted(RESULTS.glob(f"*/tables/{pattern}"))
    if (file.parents[2] / SAMPLES).is_file()
}


@pytest.mark.parametrize("file", TABLES, ids=lambda file: str(file.relative_to(RESULTS)))
def test_a_published_table_follows_from_the_samples(file, tmp_path):
    folder = file.parents[2]
    published = pd.read_csv(file, dtype=str)
    plan = load_plan([ROOT / f"config/suites/{folder.name}.yaml"])
    searches = read_samples(folder / SAMPLES).to_pandas()
    searches = searches[~searches["variant"].isin(swept(plan))].assign(relaxed_arcs=0.0)
    again = TABLES[file](pd.read_csv(folder / "summary.csv"), searches, file.name)
    again.to_csv(tmp_path / "again.csv", index=False)
    columns = [name for name in published if name not in UNKEPT]
    again = pd.read_csv(tmp_path / "again.csv", dtype=str)
    pd.testing.assert_frame_equal(again[columns], published[columns])


def test_most_tables_are_covered():
    assert len(TABLES) >= 18


@pytest.mark.parametrize(
    "suite", ["adaptive", "auto", "dominators", "fast-sssp", "hybrid-bfs", "survey", "weights"]
)
def test_the_searches_that_a_page_counts_are_the_proven_samples(suite):
    facts = pd.read_csv(RESULTS / suite / "facts.csv", dtype=str, index_col="id")["value"]
    status = read_samples(RESULTS / suite / SAMPLES)["status"].to_pylist()
    told = facts["answers" if suite == "dominators" else "searches"]
    assert int(told.replace(",", "")) == status.count("ok")
