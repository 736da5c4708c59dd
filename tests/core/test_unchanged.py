"""What a run depends on: any change of it is seen."""

import os
import sys
from pathlib import Path

import pytest

from relaxometer.core import unchanged

COMMAND = ["--cores", "all", "--", "all"]
FILES = ("Snakefile", "src/package/kernel.cu", "config/config.yaml", "my.yaml", "own/a/b.gr", "out.csv")


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record of a run that has read and made files in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["snakemake", *COMMAND])
    for file in FILES:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("old", encoding="utf-8")
    Path(".snakemake").mkdir()
    sources = unchanged.Sources()
    sources.add(["my.yaml", "own"])
    sources.record(["out.csv", "gone.csv"], "the race\n", rivals=[])
    return unchanged.recorded(COMMAND)


def test_without_a_change_the_text_of_the_run_is_known(record):
    assert record["text"] == "the race\n"
    assert unchanged.is_unchanged(record)
    assert unchanged.recorded([*COMMAND, "--forceall"]) is None
    unchanged.forget()
    assert unchanged.recorded(COMMAND) is None


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("change", ["replaced", "touched", "deleted"])
def test_every_file_counts(record, file, change):
    path = Path(file)
    facts = path.stat()
    if change == "touched":
        os.utime(path, (0, 0))
    else:
        path.unlink()
    if change == "replaced":  # by one of the same size and date
        Path("another").write_text("new", encoding="utf-8")
        path.write_text("new", encoding="utf-8")
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert not unchanged.is_unchanged(record)


@pytest.mark.parametrize("new", ["src/package/other.cuh", "own/c.gr", "gone.csv", "workflow/rules/new.smk"])
def test_new_files_count(record, new):
    Path(new).parent.mkdir(parents=True, exist_ok=True)
    Path(new).touch()
    assert not unchanged.is_unchanged(record)


def test_compiled_code_does_not_count(record):
    Path("src/package/__pycache__").mkdir()
    Path("src/package/__pycache__/kernel.pyc").touch()
    assert unchanged.is_unchanged(record)


@pytest.mark.parametrize("name", ["CXX", "RELAXOMETER_CACHE", "PATH", "CUDA_VISIBLE_DEVICES"])
def test_variables_count(record, monkeypatch, name):
    monkeypatch.setenv(name, "another")
    assert not unchanged.is_unchanged(record)


def test_a_change_during_the_run_counts(record, monkeypatch):
    sources = unchanged.Sources()
    sources.add(["my.yaml"])
    Path("src/package/kernel.cu").write_text("edited", encoding="utf-8")
    sources.record([], "")
    assert not unchanged.is_unchanged(unchanged.recorded(COMMAND))


def test_a_damaged_record_is_none(record):
    for text in ("", "[]", "{}", '{"arguments": 1}'):
        unchanged.RECORD.write_text(text, encoding="utf-8")
        assert unchanged.recorded(COMMAND) is None
