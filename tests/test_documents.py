"""What the documents link to is there, and is in the repository."""

import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from draw_headline import headline
from relaxometer.problems import problem as problems
from relaxometer.problems.variants import load_solver, solver_names
from relaxometer.report.figures import style, summary

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


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


def test_the_headline_is_drawn_from_the_results_of_its_suite(tmp_path):
    lines = pd.read_csv(ROOT / "docs/results/fast-sssp/summary.csv")
    style.save(summary.median_times(headline(lines)), tmp_path / "headline.svg")
    drawn, kept = (
        re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text(encoding="utf-8"))
        for path in (tmp_path / "headline.svg", ROOT / "docs/results/headline.svg")
    )
    assert kept == drawn
    assert len(kept) > 30


@pytest.mark.parametrize("problem", problems.problem_names())
def test_the_configuration_page_has_every_kernel_with_its_parameters(problem):
    lines = (ROOT / "config/README.md").read_text(encoding="utf-8").splitlines()
    for kernel in solver_names(problem):
        rows = [line for line in lines if line.startswith("|") and f"`{kernel}`" in line.split("|")[1]]
        assert rows, kernel
        names = load_solver(problem, kernel).Parameters.model_fields
        assert [name for name in names if not any(f"`{name}`" in row for row in rows)] == [], kernel
