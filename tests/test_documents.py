"""Links lead to tracked files; generated figures and tables are current."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pydantic import BaseModel

from relaxometer.cli import parameter_tables
from relaxometer.cli.command import COMMANDS
from relaxometer.cli.headline import headline
from relaxometer.core.errors import UserError
from relaxometer.report.figures import style
from relaxometer.report.figures.headline import times_and_preparation
from relaxometer.report.figures.summary import median_times
from relaxometer.report.findings import NAMES, NUMBER, Data
from relaxometer.results.published import SAMPLES

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?://)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINKED = re.compile(r"^\|.*\| \[[^]]*\]\(([^)#]+)[^)]*\) \|$")
"""A row of a table whose last cell links the page that its numbers are from."""


def tracked_files():
    """Return the files that git knows; skip where this is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {ROOT / name for name in listed.stdout.split("\0") if name}


def test_every_relative_link_leads_to_a_tracked_file():
    files = tracked_files()
    folders = {parent for file in files for parent in file.parents}
    pages = [file for file in files if file.suffix == ".md"]
    assert len(pages) > 5
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page, link in links
        if (page.parent / link).resolve() not in files | folders
    ]
    assert not broken


def test_documents_are_short():
    pages = [file for file in tracked_files() if file.suffix == ".md" and file.parent.name != "performance"]
    long = {
        str(file.relative_to(ROOT)): n for file in pages if (n := len(file.read_text().splitlines())) > 300
    }
    assert not long


def test_modules_commands_and_targets_named_in_documents_exist():
    package, rules = ROOT / "src/relaxometer", (ROOT / "Makefile").read_text(encoding="utf-8")
    rooms = "|".join(folder.name for folder in package.iterdir() if (folder / "__init__.py").is_file())
    named = {
        rf"`((?:{rooms})/[\w/.]+\.(?:py|cuh?|h))`": lambda name: (package / name).is_file(),
        r"`(?:\.venv/bin/)?relaxometer ([a-z][\w-]*)": COMMANDS.__contains__,
        r"`make ([a-z][\w-]*)": lambda name: f"\n{name}:" in rules,
    }
    pages = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
    ]
    wrong = [
        (page.name, name)
        for page in pages
        for pattern, exists in named.items()
        for name in re.findall(pattern, page.read_text(encoding="utf-8"))
        if not exists(name) and not name.endswith("my_paper.py")
    ]
    assert not wrong


def anchors(page):
    """Return the anchors that GitHub gives the headings of a page."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_anchor_is_a_heading():
    pages = [file for file in tracked_files() if file.suffix == ".md"]
    links = [(page, *link) for page in pages for link in ANCHOR.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 5
    broken = [
        f"{page.relative_to(ROOT)}: {link}#{anchor}"
        for page, link, anchor in links
        if anchor not in anchors((page.parent / link).resolve() if link else page)
    ]
    assert not broken


def test_the_headline_is_drawn_from_the_results_of_its_suite(tmp_path):
    rows = headline(ROOT / "docs/results/rivals")
    assert rows["prepare_ms"].notna().all()
    kept = text_of(ROOT / "docs/results/headline.svg")
    assert kept == drawn_text(times_and_preparation(rows), tmp_path)
    assert {"0.0955", "1,285", "preparation"} <= set(kept)


def text_of(file):
    """Return the texts of a figure."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", file.read_text(encoding="utf-8"))


def drawn_text(figure, folder):
    """Return the texts of a figure that was just drawn."""
    style.save(figure, folder / "drawn.svg")
    return text_of(folder / "drawn.svg")


WITHOUT_SEARCHES = [
    folder
    for folder in sorted((ROOT / "docs/results").iterdir())
    if (folder / "summary.csv").is_file() and not (folder / SAMPLES).is_file()
]


@pytest.mark.parametrize("suite", WITHOUT_SEARCHES, ids=lambda folder: folder.name)
def test_median_times_without_searches_are_drawn_from_the_summary(suite, tmp_path):
    drawn = drawn_text(median_times(Data(suite).rows("summary.csv")), tmp_path)
    assert text_of(suite / "figures/common/median-times.svg") == drawn


def numbers(text):
    """Return the numbers of a text that are not part of names."""
    return set(NUMBER.findall(NAMES.sub(" ", text)))


@pytest.mark.parametrize("page", ["README.md", "docs/results/README.md"])
def test_no_row_says_a_number_that_its_page_does_not_show(page):
    file = ROOT / page
    rows = [line for line in file.read_text(encoding="utf-8").splitlines() if LINKED.search(line)]
    assert len(rows) >= 8
    for row in rows:
        shown = (file.parent / LINKED.search(row)[1]).read_text(encoding="utf-8")
        assert (said := numbers(row)), row
        assert said <= numbers(shown), row


@pytest.mark.parametrize(
    ("page", "typed"), [("README.md", {"16", "3.11"}), ("docs/results/README.md", {"3", "1.47"})]
)
def test_other_numbers_are_few(page, typed):
    """Outside rows with a page, and commands with their output, only these numbers are typed."""
    prose, _, rest = (ROOT / page).read_text(encoding="utf-8").partition("```")
    prose += "".join(rest.split("```")[1::2])
    assert set().union(*(numbers(line) for line in prose.splitlines() if not LINKED.search(line))) == typed


def test_figures_of_authors_that_differ_have_a_reason():
    page = (ROOT / "docs/results/authors/README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    told = [row for row in rows if re.fullmatch(r"[\d.,]+", row[5])]
    assert len(told) > 25
    for *_, ratio, reason in (row if len(row) == 7 else [*row, ""] for row in told):
        assert reason or 1 / 1.5 <= float(ratio.replace(",", "")) <= 1.5, told


def test_the_spread_between_pages_is_that_of_their_summaries():
    tables = [pd.read_csv(file) for file in (ROOT / "docs/results").glob("*/summary.csv")]
    times = pd.concat(tables).query("variant == 'dijkstra-cpu'").groupby("graph")["median_ms"]
    largest = (times.max() / times.min()).max()
    page = " ".join((ROOT / "docs/results/README.md").read_text(encoding="utf-8").split())
    assert f"differs by up to {largest:.2f} times" in page


def test_the_tables_of_the_configuration_page_are_current():
    # A process of its own, without the kernels and problems that other tests add.
    command = [sys.executable, "-m", "relaxometer.cli.command", "parameter-tables", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_parameter_without_a_description_is_an_error():
    class Silent(BaseModel):
        """Nothing is said.

        Parameters
        ----------
        told : int
            Described.
        """

        told: int = 1
        untold: int = 2

    with pytest.raises(UserError, match=r"Silent: no description of untold$"):
        parameter_tables.entries(Silent)
