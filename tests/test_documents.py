"""What the documents link to is there, and is in the repository."""

import re
import subprocess
from pathlib import Path

import pytest

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
