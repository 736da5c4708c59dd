"""The edits that change the hash of a job."""

import os
import shutil
from pathlib import Path

import pytest

from relaxometer.core import provenance
from relaxometer.problems.variants import solver_modules

PHASES = "problems/sssp/phase_synchronous/"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package to edit."""
    copy = tmp_path / "relaxometer"
    shutil.copytree(provenance.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(provenance, "PACKAGE", copy)
    yield copy
    clear()


def clear():
    provenance.code_hash.cache_clear()
    provenance._read.cache_clear()
    provenance._found.cache_clear()


def hashes():
    clear()
    kernels = ("conventional", "selection", "adaptive", "dijkstra_cpu")
    modules = solver_modules("sssp")
    names = {kernel: modules[kernel.replace("_", "-")].removeprefix("relaxometer.") for kernel in kernels}
    return {kernel: provenance.code_hash("race.variant", name) for kernel, name in names.items()}


def edit(path, change):
    """Rewrite a file by a function of its text."""
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        (PHASES + "adaptive.cu", {"adaptive"}),
        (PHASES + "conventional.cu", {"conventional", "adaptive"}),
        (PHASES + "selection.py", {"selection", "adaptive"}),
        (PHASES + "_phase_synchronous.cuh", {"conventional", "selection", "adaptive"}),
        ("problems/sssp/dijkstra/_heap.py", {"dijkstra_cpu"}),
        ("problems/sssp/certify.cu", {"conventional", "selection", "adaptive", "dijkstra_cpu"}),
        ("results/gather.py", set()),
    ],
)
def test_an_edit_changes_the_jobs_that_use_the_file(package, file, changed):
    clear()
    before = hashes()
    added = "UNUSED = 1\n" if file.endswith(".py") else "int unused;\n"
    edit(package / file, lambda text: text + added)
    after = hashes()
    assert {kernel for kernel in before if before[kernel] != after[kernel]} == changed


def test_an_edit_that_no_compiler_sees_changes_nothing(package):
    before = hashes()
    for file, change in (
        (
            "adaptive.cu",
            lambda text: "// A remark.\n/* Another\n   one. */\n" + text.replace(";\n", ";  // don't\n\n"),
        ),
        (
            "adaptive.py",
            lambda text: "# A remark.\n" + text.replace("\n\n", "\n\n\n").replace("(", "(  # a\n"),
        ),
        ("adaptive.py", lambda text: text.replace("    References\n", "    Literature\n")),
        ("adaptive.py", lambda text: text.replace("The paper used 330", "In the paper it was 330")),
    ):
        old = (package / PHASES / file).read_text(encoding="utf-8")
        edit(package / PHASES / file, change)
        assert (package / PHASES / file).read_text(encoding="utf-8") != old
    assert hashes() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#define F (x)\n", "#define F(x)\n"),
        ("#define A\nint x;\n", "#define A int x;\n"),
        ('char* s = "// a";\n', 'char* s = "// b";\n'),
        ("int x = 1'000; // don't\nint y;\n", "int x = 1'000; // don't\nint z;\n"),
        ('auto s = R"(a\n b)";\n', 'auto s = R"(a\nb)";\n'),
        ('#include "a.cuh"\n', '#include "b.cuh"\n'),
        ("a + +b;", "a ++ b;"),
    ],
)
def test_every_token_of_a_kernel_counts(before, after):
    assert provenance._kernel_content(before) != provenance._kernel_content(after)


def test_a_module_can_move(package):
    clear()
    before = hashes()
    (package / "problems/phases.py").rename(package / "graphs/phases.py")
    (package / "device/atomics.cuh").rename(package / "graphs/atomics.cuh")
    moves = (
        ("relaxometer.problems.phases ", "relaxometer.graphs.phases "),
        ('"device/atomics.cuh"', '"graphs/atomics.cuh"'),
    )
    for path in (path for path in package.rglob("*.*") if path.is_file()):
        for old, new in moves:
            edit(path, lambda text, old=old, new=new: text.replace(old, new))
    assert hashes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "import relaxometer.core.errors",
        "from relaxometer.core import errors",
        "from relaxometer.core.errors import UserError",
        "from .core.errors import UserError",
        "def later():\n    from relaxometer.core import errors",
        "import importlib\nerrors = importlib.import_module('relaxometer.core.errors')",
    ],
)
def test_every_form_of_import_is_followed(package, statement):
    (package / "importing.py").write_text(statement + "\n", encoding="utf-8")
    assert_counts(package / "core/errors.py", lambda text: text + "UNUSED = 1\n", "importing")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("int x;\n", lambda text: text + "int y;\n"),
        ('#include "a.h"\n', lambda text: text.replace("a.h", "b.h")),
    ],
)
def test_the_kernel_of_the_same_name_counts_however_it_is_named(package, text, change):
    """Also if it includes what only the compiler has."""
    (package / "mine.py").write_text("KERNEL = __file__[:-3] + '.cu'\n", encoding="utf-8")
    (package / "mine.cu").write_text(text, encoding="utf-8")
    assert_counts(package / "mine.cu", change, "mine")


def assert_counts(path, change, module):
    clear()
    before = provenance.code_hash(module)
    edit(path, change)
    clear()
    assert provenance.code_hash(module) != before


def test_an_unknown_module_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"relaxometer\.problems\.nothing"):
        provenance.code_hash("problems.nothing")


def test_data_files_count_by_their_content_and_large_ones_by_size_and_date(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, made = tmp_path / "town.gr", Path("results/made.gr")
    made.parent.mkdir()
    made.touch()
    assert provenance.data_hash([made, tmp_path / "missing.gr"]) == ""

    def hashed(text, date):
        file.write_text(text, encoding="utf-8")
        os.utime(file, (date, date))
        return provenance.data_hash([file])

    assert hashed("one", 1) == hashed("one", 2) != hashed("two", 2)
    monkeypatch.setattr(provenance, "HASHED", 2)
    assert hashed("one", 1) == hashed("two", 1) != hashed("two", 2)


def test_the_profiles_of_vehicles_count(package):
    profiles = package / "datasets/readers/osm_profiles.yaml"
    assert_counts(profiles, lambda text: text.replace("turn: 7.5", "turn: 7"), "datasets.readers.osm_pbf")
