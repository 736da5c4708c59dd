"""The sizes of folders: a reader finds a file by its place, not in a long list."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "src/relaxometer"


@pytest.fixture(scope="module")
def files():
    """Paths of the files under version control."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a Git checkout")
    return [Path(name) for name in listed.stdout.splitlines()]


@pytest.mark.parametrize(
    ("folder", "suffix", "most"),
    [("workflow/scripts", ".py", 17), ("workflow/rules", ".smk", 10), (PACKAGE, ".py", 4)],
)
def test_a_folder_holds_few_files_of_a_kind(files, folder, suffix, most):
    assert 0 < sum(file.parent == Path(folder) and file.suffix == suffix for file in files) <= most


def test_no_folder_of_the_workflow_is_long(files):
    sizes = Counter(file.parent for file in files if file.parts[0] == "workflow")
    assert sizes
    assert {str(folder): size for folder, size in sizes.items() if size > 30} == {}
