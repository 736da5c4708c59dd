"""Definitions of rivals and entries of configurations: flaws are one line; parameters are tuned."""

import math
from datetime import date

import pytest
import yaml

from built import refusal
from relaxometer.plan.models import RivalEntry
from relaxometer.plan.plan import Plan
from relaxometer.rivals.definition import OURS, RESERVED, Rival, find_rivals
from rival_runs import DEFINITION, SOURCES, deriving, make_rival, only, race
from tiny_workflow import ROOT

# Parameters

TUNED = """
class Tuned(Honest):
    @property
    def facts(self):
        return {f"seen_{name}": value for name, value in self.parameters.items()}

    def solve(self, source):
        assert not (self.parameters["delta"] == "9" and source >= 0), "no such delta"
        super().solve(source)
        time.sleep(abs(int(self.parameters["delta"]) - 3) / 50)

serve(Tuned)
"""
TUNE = {"delta": [1, 9, 3], "other": [True, 0.5]}
PARAMETERS = {name: {"default": 1, "about": "nothing"} for name in ("delta", "other")}


def test_the_best_combination_is_chosen_and_recorded_or_the_first_if_all_fail(tmp_path):
    """All parameters reach the adapter as words."""
    result = race(tmp_path, TUNED, tune=TUNE, parameters=PARAMETERS)
    assert only(result) == ("ok", "")
    found = result.context["parameters"]
    assert found["delta"] == 3
    words = {str(value).lower() if isinstance(value, bool) else str(value) for value in TUNE["other"]}
    assert {name: found[f"seen_{name}"] for name in ("delta", "threads")} == {"delta": "3", "threads": "1"}
    assert found["seen_other"] in words
    result = race(tmp_path, TUNED, tune={"delta": [9, 9.0]}, parameters=PARAMETERS)
    assert only(result) == ("error", "AssertionError: no such delta (adapter.py:14)")


def test_a_rival_is_tuned_on_other_sources_than_it_is_timed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    note = 'print(os.getpid(), source, file=open(os.environ["LOG"], "a"))'
    code = deriving("solve(self, source)", note, "super().solve(source)")
    race(tmp_path, code, tune={"delta": [1, 2]}, parameters=PARAMETERS, timing={"warmup": 0})
    searches = {}
    for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines():
        pid, source = line.split()
        searches.setdefault(pid, []).append(int(source))
    first, second, timed = searches.values()
    assert first == second
    assert len(first) == 4
    assert first[:2] == first[2:]
    assert not set(first) & set(SOURCES)
    assert timed[: len(SOURCES)] == list(SOURCES)
    assert set(timed) == set(SOURCES)  # some are searched again, untimed


# Definitions

ANSWERS = "distance and, if it has it, predecessor, or an empty list"

FLAWS = {
    "licence: missing, and has no default": {"licence": None},
    "license: unknown key (its value is 'MIT'); did you mean 'licence'?": {"licence": None, "license": "MIT"},
    "class: 'cpu' is invalid: should be 'cpu-1', 'cpu-all' or 'gpu'; did you mean 'cpu-1'?": {"class": "cpu"},
    "adapter.cpp is not a file": {"adapter": "adapter.cpp"},
    "problems.ssps: unknown problem; did you mean 'sssp'?": {"problems": {"ssps": {"answers": []}}},
    f"problems.sssp.answers: 'predecessor' is invalid; expected {ANSWERS}": {
        "problems": {"sssp": {"answers": ["predecessor"]}}
    },
    "problems.bfs.answers: 'level, level' names a column twice": {
        "problems": {"bfs": {"answers": ["level", "level"]}}
    },
    "problems.dominators.answers: 'dominator' is invalid; expected idom, or an empty list": {
        "problems": {"dominators": {"answers": ["dominator"], "takes": "either"}}
    },
    "problems.bfs.customizes: new weights are for sssp with answers; leave it out": {
        "problems": {"bfs": {"answers": ["level"], "customizes": True}}
    },
    "parameters.one: default: inf is invalid: should be a number below 2**63": {
        "parameters": {"one": {"default": math.inf, "about": ""}}
    },
    "parameters.tune: rename it; a configuration has another key tune": {
        "parameters": {"tune": {"default": 1, "about": ""}}
    },
}


@pytest.mark.parametrize("message", FLAWS)
def test_a_flaw_of_a_definition_is_one_line(tmp_path, message):
    said = refusal(changed_rival, tmp_path / "rival", FLAWS[message])
    assert said.startswith(f"{tmp_path}/rival/rival.yaml: ")
    assert message in said


def changed_rival(folder, changes):
    """Write a rival whose definition lacks the keys that are changed to None."""
    make_rival(folder)
    content = {key: value for key, value in (DEFINITION | changes).items() if value is not None}
    (folder / "rival.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return Rival(folder)


def test_folders_of_rivals_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_rival(tmp_path / "good/mine")
    make_rival(tmp_path / "same/mine")
    make_rival(tmp_path / "taken/scipy")
    make_rival(tmp_path / "named/My_Rival")
    make_rival(tmp_path / "repeating" / ("my-" * 21).strip("-"))
    (tmp_path / "empty").mkdir()
    for folders, message in (
        (["missing"], "missing' is not a folder"),
        (["empty"], "empty' holds no folders of rivals; each is a folder with a rival.yaml"),
        (["good/mine"], "good/mine' holds no folders of rivals; name the folder above it"),
        (["good", "same"], "two are called 'mine': "),
        (["taken"], f"two are called 'scipy': {OURS / 'scipy'}"),
        (["n" * 300], "nnn...' is not a folder"),
        (["named"], "named/My_Rival: rename it; a rival's name has the form [a-z0-9][a-z0-9-]*"),
        (["repeating"], "rename it; a rival's name should not repeat '-my' more than 19 times at its end"),
    ):
        said = refusal(find_rivals, folders, "my.yaml")
        assert message in said
    assert find_rivals([str(tmp_path / "good")])["mine"].folder == tmp_path / "good/mine"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"mine": {"dleta": 3}}, "mine: unknown key or parameter of mine 'dleta'; did you mean 'delta'?"),
        (
            {"mine": {"tune": {"dleta": [3]}}},
            "mine.tune: unknown parameter of mine 'dleta'; did you mean 'delta'?",
        ),
        ({"mien": {}}, "mien: unknown rival for sssp 'mien'; did you mean 'mine'?"),
        (
            {"near-far": {"rival": "mine"}},
            "near-far: the name would be 'near-far', the name of sssp.variants.near-far; rename",
        ),
        ({"mine": {"threads": 2}}, "mine.threads: mine runs on one core; leave it out"),
        (
            {"mine": {"tune": {"delta": [*range(10)], "other": [*range(10)]}}},
            "mine.tune: 100 combinations of values, at most 64",
        ),
        (
            {"mine": {"delta": 3, "tune": {"delta": [1, 2]}}},
            "mine.tune.delta: sssp.rivals.mine.delta is given too; leave out one",
        ),
    ],
)
def test_a_flaw_of_an_entry_is_one_line(tmp_path, entry, message):
    make_rival(tmp_path / "rivals/mine", parameters=PARAMETERS)
    dataset = {"format": "dimacs", "path": "tiny.gr", "license": "CC0-1.0", "weight_unit": "metres"}
    config = {
        "rivals": [str(tmp_path / "rivals")],
        "datasets": {"tiny": dataset},
        "sssp": {"graphs": ["tiny"], "variants": {"near-far": {}}, "rivals": entry},
    }
    said = refusal(Plan, config, ROOT / "resources/datasets.yaml", "my.yaml")
    assert said.startswith(f"my.yaml: sssp.rivals.{message}")


UNFIT = [
    (1, [None, True, 2.5, 2**63, -(2**70), [1], date(2026, 1, 1)]),
    (0.5, ["1e3", math.nan, -math.inf, 2**63, {"a": 1}]),
    (True, [None, 1, "yes"]),
    ("text", [1, True, "a\nb", "\ud800", date(2026, 1, 1)]),
]


@pytest.mark.parametrize(("default", "values"), UNFIT)
def test_a_value_of_a_parameter_has_the_type_of_its_default(tmp_path, default, values):
    make_rival(tmp_path / "rivals/mine", parameters={"one": {"default": default, "about": ""}})
    config = {"rivals": [str(tmp_path / "rivals")], "sssp": {"graphs": ["town"]}}
    registry = tmp_path / "datasets.yaml"  # a short one, since it is read for each value
    registry.write_text("town: {format: chain, seed: 1, parameters: {vertices: 9}}\n", encoding="utf-8")
    for value in values:
        for place, entry in (("one", {"one": [default, value]}), ("tune.one", {"tune": {"one": [value]}})):
            config["sssp"]["rivals"] = {"mine": entry}
            said = refusal(Plan, config, registry, "my.yaml")
            assert said.startswith(f"my.yaml: sssp.rivals.mine.{place}: ")
            assert " is invalid: should be " in said
    for entry in ({"one": default}, {"one": [default]}, {"tune": {"one": [default]}}):
        config["sssp"]["rivals"] = {"mine": entry}
        Plan(config, registry, "my.yaml")


def test_no_parameter_is_called_as_a_key_of_an_entry():
    assert set(RivalEntry.model_fields) == RESERVED


def test_only_files_that_an_adapter_may_use_are_its_code(tmp_path):
    rival = make_rival(tmp_path)
    code = rival.code
    for name in (".adapter.py.swp", ".ipynb_checkpoints/adapter.py", "__pycache__/adapter.pyc"):
        path = rival.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a copy", encoding="utf-8")
    assert rival.code == code
    (rival.folder / "table.txt").write_text("data", encoding="utf-8")
    assert rival.code != code
