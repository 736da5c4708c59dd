"""Absent rivals are tried again; their files change only if that changes anything."""

import pytest

from relaxometer.rivals import installation as module
from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import Installed, read_absence, retry_absent, write_installation


@pytest.fixture
def folder(tmp_path):
    for name in ("here", "gone", "other"):
        found = Installed(["run"]) if name == "here" else "no network"
        write_installation(found, tmp_path / f"{name}.json")
    return tmp_path


def times(folder):
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_what_stays_absent_keeps_its_file(folder, monkeypatch):
    tried = []
    monkeypatch.setattr(module, "installation", lambda rival, **_: tried.append(rival) or "no network")
    before = times(folder)
    retry_absent(folder, {"here": "rival here", "gone": "rival gone"})
    assert tried == ["rival gone"], "neither what is installed nor what the configuration does not name"
    assert times(folder) == before


@pytest.mark.parametrize("found", [Installed(["run", "it"]), "no space left"])
def test_a_new_state_is_written(folder, monkeypatch, found):
    monkeypatch.setattr(module, "installation", lambda rival, **_: found)
    before = times(folder)
    retry_absent(folder, {"here": "rival here", "gone": "rival gone"})
    assert read_absence(folder / "gone.json") == (found if isinstance(found, str) else None)
    assert {name for name, time in times(folder).items() if time != before[name]} == {"gone"}


def test_a_damaged_file_is_left_to_the_rule_that_needs_it(folder, monkeypatch):
    (folder / "gone.json").write_text("{", encoding="utf-8")
    retry_absent(folder, {"gone": "rival gone"})
    assert (folder / "gone.json").read_text(encoding="utf-8") == "{"


def test_packages_are_installed_with_their_hashes(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(module, "_run", commands.append)
    monkeypatch.setattr(module.Path, "touch", lambda path: None)
    module._environment(find_rivals([])["scipy"])
    assert commands[-1][0] == "sh"
    assert {"--require-hashes", "--only-binary=:all:"} < {*commands[-1]}


def test_the_reason_has_the_line_that_pip_announces():
    said = [
        "ERROR: all requirements must have pinned versions. These do not:",
        "    numpy (from lock)",
        "end",
    ]
    assert (
        module._last_error(said)
        == "all requirements must have pinned versions. These do not: numpy (from lock)"
    )
    assert module._last_error(["ERROR: first", "ERROR: no such version", "  hint"]) == "no such version"
    assert module._last_error(["Traceback"]) == "no reason given"
