"""Which files of a run are exported, and which stay."""

import pytest

from relaxometer.cli.publish import publish
from relaxometer.core.errors import UserError


@pytest.fixture
def results(tmp_path):
    """What a run over town leaves, beside the figure of a graph of an earlier run."""
    folder = tmp_path / "results"
    files = {
        "summary.csv": "problem,graph,variant\nsssp,town,adaptive\n",
        "claims.csv": "id\n",
        "context.json": "{}\n",
        "distributed.csv": "variant\n",
        "timings.parquet": "",
        "figures/adaptive/figure-7.svg": "7",
        "figures/adaptive/figure-4/town.svg": "4",
        "figures/common/map/town.png": "map",
        "figures/common/scaling-over-ranks.svg": "scaling",
        "tables/survey/bandwidth.csv": "Graph\n",
        "tables/common/ranking.csv": "Graph\n",
        "tables/common/ranking-emulated.csv": "Graph\n",
        "tables/common/winners-in-short.csv": "Graph\n",
        "tables/common/winners.csv": "Graph\n",
        "figures/adaptive/figure-4/village.svg": "old",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_tables_and_figures_of_the_run_are_copied(results, tmp_path):
    target = tmp_path / "docs/results/suite"
    written = publish(results, target)
    names = {str(path.relative_to(target)) for path in written}
    assert names == {
        *("summary.csv", "claims.csv", "context.json", "distributed.csv"),
        *("figures/common/scaling-over-ranks.svg", "tables/survey/bandwidth.csv"),
        "tables/common/winners.csv",
        *(
            "figures/adaptive/figure-7.svg",
            "figures/adaptive/figure-4/town.svg",
            "figures/common/map/town.png",
        ),
    }
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} == names


def test_an_earlier_export_is_replaced_and_the_findings_stay(results, tmp_path):
    target = tmp_path / "suite"
    (target / "figures").mkdir(parents=True)
    (target / "figures/figure-9.svg").write_text("gone", encoding="utf-8")
    (target / "README.md").write_text("findings", encoding="utf-8")
    publish(results, target)
    assert not (target / "figures/figure-9.svg").exists()
    assert (target / "README.md").read_text(encoding="utf-8") == "findings"


def test_an_unfinished_run_is_not_exported(results, tmp_path):
    (results / "claims.csv").unlink()
    with pytest.raises(UserError, match=r"claims\.csv is not there; run the workflow first"):
        publish(results, tmp_path / "suite")
    assert not (tmp_path / "suite").exists()
