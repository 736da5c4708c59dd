"""Which edits change the hash of which job."""

import shutil
from pathlib import Path

import pytest

from relaxometer import provenance


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
    provenance._used_by.cache_clear()


def hashes():
    clear()
    kernels = ("conventional", "selection", "adaptive", "dijkstra_cpu", "boost_dijkstra")
    return {kernel: provenance.code_hash("measure", f"sssp.{kernel}") for kernel in kernels}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("sssp/adaptive.cu", {"adaptive"}),
        ("sssp/conventional.cu", {"conventional", "adaptive"}),
        ("sssp/selection.py", {"selection", "adaptive"}),
        ("sssp/_phase_synchronous.cuh", {"conventional", "selection", "adaptive"}),
        ("sssp/_tally.cu", {"conventional", "selection", "adaptive"}),
        ("sssp/dijkstra_cpu.py", {"dijkstra_cpu"}),
        ("sssp/_heap.py", {"dijkstra_cpu"}),
        ("sssp/boost_dijkstra.cpp", {"boost_dijkstra"}),
        ("certify.cu", {"conventional", "selection", "adaptive", "dijkstra_cpu", "boost_dijkstra"}),
        ("gather.py", set()),
        ("figures/__init__.py", set()),
    ],
)
def test_an_edit_changes_the_jobs_that_use_the_file(package, file, changed):
    clear()
    before = hashes()
    path = package / file
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    after = hashes()
    assert {kernel for kernel in before if before[kernel] != after[kernel]} == changed


def test_an_unknown_module_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"relaxometer\.sssp\.nothing"):
        provenance.code_hash("sssp.nothing")


def test_kernels_outside_the_package_are_not_needed():
    files: set[Path] = set()
    provenance._collect(provenance._file_of(["sssp", "adaptive"]), files)
    names = {file.name for file in files}
    assert {"adaptive.cu", "conventional.cu", "selection.cu", "_phase_synchronous.cuh"} <= names
    assert "measure.py" not in names
