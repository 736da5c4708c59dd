"""Installation: the C++ program that docs/rivals.md works through, and absent rivals, which are tried again.

Their files change only if that changes anything.
"""

import re
from pathlib import Path

import pytest

from relaxometer.rivals import installation as installing
from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import (
    Installed,
    installation,
    read_absence,
    retry_absent,
    write_installation,
)
from rival_runs import make_rival, only, run_on
from sample_graphs import sample_graphs

THROWER = r"""
#include "rival.hpp"

struct Thrower : rival::Adapter {
    Thrower(const rival::Graph&, const rival::Job&)
    {
        std::string reason;
        for (int i = 0; i < 500; ++i) reason += "too\nlarge\r";
        throw rival::Skipped(reason);
    }
    void solve(int64_t) override {}
    void answer(rival::Answer&) override {}
};

int main(int count, char** arguments) { return rival::serve<Thrower>(count, arguments); }
"""

PAGE = Path(__file__).parents[2] / "docs/rivals.md"


def test_the_example_in_cpp_is_proven(tmp_path):
    blocks = re.findall(
        r"^`(my_rivals/heap/\S+)`:\n\n```\w+\n(.*?)^```$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    rival = find_rivals([str(tmp_path / "my_rivals")])["heap"]
    installed = installation(rival)
    assert isinstance(installed, Installed), installed
    for name in ("grid", "zero-weights", "parallel-arcs"):
        graph = sample_graphs()[name]
        result = run_on(graph, rival, installed, tmp_path / name)
        assert only(result) == ("ok", "")
        assert result.runs[0].call_ms > result.runs[0].cold_ms > 0


def test_an_exception_in_cpp_is_a_reason_of_one_line(tmp_path):
    (tmp_path / "adapter.cpp").write_text(THROWER, encoding="utf-8")
    rival = make_rival(tmp_path, adapter="adapter.cpp")
    installed = installation(rival)
    assert isinstance(installed, Installed), installed
    status, reason = only(run_on(sample_graphs()["grid"], rival, installed, tmp_path / "grid"))
    assert status == "skipped"
    assert reason == "too large " * 50


def test_the_first_missing_header_says_how_to_install_what_is_needed(tmp_path):
    (tmp_path / "adapter.cpp").write_text('#include "rival.hpp"\n#include <no/such.hpp>\n', encoding="utf-8")
    needs = {"header": "no/other.hpp", "how": "apt install libno-dev"}
    rival = make_rival(tmp_path, adapter="adapter.cpp", needs=needs)
    assert installation(rival) == "no no/such.hpp: apt install libno-dev"


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
    monkeypatch.setattr(installing, "installation", lambda rival, **_: tried.append(rival) or "no network")
    before = times(folder)
    retry_absent(folder, {"here": "rival here", "gone": "rival gone"})
    assert tried == ["rival gone"], "neither what is installed nor what the configuration does not name"
    assert times(folder) == before


@pytest.mark.parametrize("found", [Installed(["run", "it"]), "no space left"])
def test_a_new_state_is_written(folder, monkeypatch, found):
    monkeypatch.setattr(installing, "installation", lambda rival, **_: found)
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
    monkeypatch.setattr(installing, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(installing, "_run", commands.append)
    monkeypatch.setattr(Path, "touch", lambda path: None)
    installing._environment(find_rivals([])["scipy"])
    assert commands[-1][0] == "sh"
    assert {"--require-hashes", "--only-binary=:all:"} < {*commands[-1]}


def test_the_reason_has_the_line_that_pip_announces():
    said = [
        "ERROR: all requirements must have pinned versions. These do not:",
        "    numpy (from lock)",
        "end",
    ]
    assert (
        installing._last_error(said)
        == "all requirements must have pinned versions. These do not: numpy (from lock)"
    )
    assert installing._last_error(["ERROR: first", "ERROR: no such version", "  hint"]) == "no such version"
    assert installing._last_error(["Traceback"]) == "no reason given"
