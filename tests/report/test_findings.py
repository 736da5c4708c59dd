"""The pages of docs/results state only what their data show."""

import json
import shutil
from pathlib import Path

import pytest

from relaxometer.core.errors import UserError
from relaxometer.problems.variants import kernel_hash
from relaxometer.report import findings
from relaxometer.report.findings import loose_numbers, render

RESULTS = Path(__file__).parents[2] / "docs/results"
SUITES = findings.suites(RESULTS)


def test_every_published_suite_has_a_template():
    published = {path.parent.name for path in RESULTS.glob("*/summary.csv")}
    assert set(SUITES) == published | {"authors"}
    assert len(SUITES) >= 8


@pytest.mark.parametrize("suite", SUITES)
def test_a_page_is_what_its_data_give_and_cites_every_fact_with_its_origin(suite, monkeypatch):
    facts = findings.Data(RESULTS / suite).rows("facts.csv")
    assert list(facts.columns) == findings.FACTS
    assert facts["id"].is_unique
    assert facts[["what", "value", "machine", "command"]].ne("").all(axis=None)
    cited, rows = set(), findings.Data.rows

    def noted(self, file, **where):
        cited.add(where.get("id"))
        return rows(self, file, **where)

    monkeypatch.setattr(findings.Data, "rows", noted)
    assert (RESULTS / suite / "README.md").read_text(encoding="utf-8") == render(RESULTS / suite)
    assert set(facts["id"]) - cited == set()


@pytest.fixture
def suite(tmp_path):
    """A suite of two runs, with a template that cites its data."""
    (tmp_path / "summary.csv").write_text(
        "problem,graph,variant,status,sources,median_ms,ci95_low_ms,ci95_high_ms,prepare_ms\n"
        "sssp,grid-10,fast,ok,32,1.2345,1.2,1.3,150\nsssp,grid-10,slow,ok,32,12,11,13,\n",
        encoding="utf-8",
    )
    (tmp_path / "facts.csv").write_text(
        "id,what,value,unit,machine,command,commit\nloss,what was lost,7,%,X,by hand,abc\n", encoding="utf-8"
    )
    (tmp_path / "context.json").write_text(
        json.dumps({"common": {"commit": "abc"}, "runs": []}), encoding="utf-8"
    )
    (tmp_path / "page.md").write_text(
        "# A suite\n\n"
        '`fast` takes {{ median("grid-10", "fast") | digits }} ms on grid-10, {{ fact("loss") }}% more.\n'
        '{{ times(["grid-10"], ["fast", "slow"]) }}\n',
        encoding="utf-8",
    )
    return tmp_path


def test_a_page_follows_from_its_data_and_is_written_once(suite):
    assert render(suite) == (
        "# A suite\n\n*Measured before pages recorded which kernels ran: they may have changed since.*\n\n"
        "`fast` takes 1.23 ms on grid-10, 7% more.\n"
        "| variant | grid-10 |\n| --- | ---: |\n| `fast` | **1.23** + 150 |\n| `slow` | 12.0 |\n"
    )
    assert findings.write(suite)
    assert not findings.write(suite)
    shutil.copy(suite / "README.md", suite / "kept")
    (suite / "README.md").write_text("altered", encoding="utf-8")
    assert findings.write(suite)
    assert (suite / "README.md").read_bytes() == (suite / "kept").read_bytes()


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (kernel_hash("sssp", "tiled"), ""),
        ("0123456789abcdef", "*Kernels have changed since these were measured: `fast`.*\n\n"),
    ],
)
def test_a_page_names_the_variants_whose_kernels_have_changed(suite, recorded, said):
    runs = [
        {"run": "sssp/grid-10/fast", "run.solver": "tiled", "kernels": recorded},
        {"run": "sssp/grid-10/boost", "run.solver": "boost"},
    ]
    (suite / "context.json").write_text(json.dumps({"common": {}, "runs": runs}), encoding="utf-8")
    (suite / "page.md").write_text("# A page\n\nProse.\n", encoding="utf-8")
    assert render(suite) == f"# A page\n\n{said}Prose.\n"


@pytest.mark.parametrize("prose", ["it takes 5 ms", "a gain of 18%"])
def test_a_number_written_into_the_template_is_refused(suite, prose):
    template = suite / "page.md"
    template.write_text(template.read_text(encoding="utf-8") + prose + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"page\.md: line 5: .* is typed into the prose; cite the data"):
        render(suite)


@pytest.mark.parametrize(
    "prose",
    [
        "on an H200 at 2^20 and SCALE 24, as in table 1, with 95% intervals",
        "`hybrid-2d` on kron-g500-s18, [figure 7](figures/adaptive/figure-7.svg), 64-bit",
        '{{ median("grid-10", "fast", column="sources") | digits(2) }}',
    ],
)
def test_digits_of_names_and_of_questions_are_no_numbers(prose):
    assert loose_numbers(prose) == []


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ('{{ fact("gain") }}', r"0 rows of facts\.csv have .*gain.*; expected one"),
        ('{{ median("grid-10", "absent") }}', r"0 rows of summary\.csv"),
        ('{{ table("tables/none.csv") }}', r"none\.csv is missing, and .*page\.md cites it"),
        ("{{ nothing() }}", r"page\.md: 'nothing' is undefined"),
        ("{% if %}", r"page\.md:1: "),
        ('{{ value("summary.csv", "colour", variant="fast") }}', r"page\.md: the data have no 'colour'"),
    ],
)
def test_a_question_without_an_answer_is_an_error_in_one_line(suite, asked, answer):
    (suite / "page.md").write_text(asked, encoding="utf-8")
    with pytest.raises(UserError, match=answer):
        render(suite)


def test_damaged_data_are_named_in_one_line(suite):
    (suite / "facts.csv").write_text('fact,value\n"gain,2\n', encoding="utf-8")
    (suite / "page.md").write_text('{{ fact("gain") }}', encoding="utf-8")
    said = r"facts\.csv: not readable as CSV .*; restore it from the repository"
    with pytest.raises(UserError, match=said):
        render(suite)
