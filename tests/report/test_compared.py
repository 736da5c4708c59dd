"""A comparison on the terminal, in Markdown and as a table of the report."""

import pandas as pd
import pytest

from relaxometer.report import compared
from relaxometer.report.catalogue import PAGE, Inputs, exhibits
from relaxometer.report.terminal import COLUMNS
from relaxometer.results import compare
from relaxometer.results.recorded import Recorded
from synthetic_runs import quiet, searches, spread

LONG = "a-variant-with-a-name-that-is-longer-than-any-line-of-a-terminal-could-ever-hold-of-a-variant"


@pytest.fixture(scope="module")
def found():
    base = [quiet(), *(searches(name, spread(1234.5)) for name in ("slow", LONG, "broken"))]
    now = [quiet(), searches("slow", spread(1500)), searches(LONG, spread(1000))]
    now.append(searches("broken", spread(1), status="error"))
    return compare.compare(Recorded("a|b", pd.concat(base)), Recorded("now", pd.concat(now)))


def test_the_terminal_has_a_table_per_race_in_100_columns_and_markdown_folds_what_did_not_change(found):
    text = compared.terminal(found)
    lines = text.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    (slow,) = [line for line in lines if line.startswith("  slow")]
    assert slow.split()[1:4] == ["1,235", "1,501", "1.215"]
    assert slow.endswith(compare.SLOWER)
    assert any(line.startswith("SSSP on town ") for line in lines)
    assert any("…" in line and line.endswith(compare.FASTER) for line in lines)
    assert "  broken on town: error: rule broken" in lines
    assert " ".join(lines[-2:]).endswith(found.verdict[-20:])
    text = compared.markdown(found)
    assert text.startswith(f"**{found.verdict}**")
    head, folded = text.split("<details>")
    assert "| sssp | town | slow | 1,235 | 1,501 | 1.215 |" in head
    assert "quiet-0" not in head
    assert "quiet-0" in folded
    assert "12 others" in folded
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") - line.count("\\|") for line in rows} == {10}


def test_what_only_one_run_has_is_named_without_a_line_of_its_own():
    base = [quiet(), *(searches(f"gone-for-good-{number}", spread(1, 2)) for number in range(30))]
    now = [quiet(), searches("new|one", spread(1))]
    found = compare.compare(Recorded("base", pd.concat(base)), Recorded("now", pd.concat(now)))
    text = compared.terminal(found)
    lines = text.splitlines()
    assert "new, 1 run: SSSP on town: new|one" in lines
    assert any(line.startswith("only in base, 30 runs: SSSP on town: gone-for-good-0,") for line in lines)
    assert not any(line.startswith("  gone-") and compare.ONLY_BASE in line for line in lines)
    assert max(map(len, lines)) <= COLUMNS
    assert "gone-for-good-29" not in text, "the terminal names the first"
    markdown = compared.markdown(found)
    assert "gone-for-good-29" in markdown.partition("<details><summary>Not in both")[2]
    assert "- new, 1 run: SSSP on town: new\\|one" in markdown
    assert len(compared.rows(found)) == len(found.lines)


def test_the_report_has_the_table_as_a_page_if_a_base_is_configured(tmp_path, found):
    for name, factor in (("old", 1.0), ("results", 1.5)):
        (tmp_path / name).mkdir()
        table = pd.concat([quiet(), searches("slow", spread(factor))])
        table.to_parquet(tmp_path / name / "timings.parquet")
    exhibit = exhibits()["comparison"]
    inputs = Inputs({"timings": str(tmp_path / "results/timings.parquet")}, {"base": str(tmp_path / "old")})
    exhibit.save(inputs, {f"comparison{PAGE}": str(tmp_path / "page.html")})
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.index(">slower<") < page.index(">no difference shown<")
    assert "sortable" in page
