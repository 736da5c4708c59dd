"""The fuzzer notices every kind of fault, its samples are accepted undamaged, and a share of it runs here."""

import importlib
import random

import pytest

from fuzz import driver, target
from fuzz.planted import PLANTED


def test_no_mutant_does_what_it_should_not():
    assert driver.fuzz(1000, seed=1, processes=2, modules=driver.MODULES) == {}


def test_planted_faults_are_noticed(monkeypatch):
    monkeypatch.setenv("FUZZ_LIMIT_S", "1")
    faults = driver.fuzz(len(PLANTED), seed=1, processes=1, modules=["fuzz.planted"])
    targets = driver.schedule(["fuzz.planted"])
    found = {targets[number % len(targets)].name: text for number, text in faults.items()}
    starts = {
        "traceback": "KeyError: ",
        "crash": "died of SIGSEGV",
        "hang": "Hang: more than 1 s",
        "memory": "MemoryError: ",
        "terminal": "AssertionError: control characters in",
        "exit_": "SystemExit: 3",
    }
    assert found.keys() == starts.keys()
    assert all(found[name].startswith(start) for name, start in starts.items())


def test_a_seed_repeats_its_mutants(tmp_path):
    targets = driver.schedule(driver.MODULES)
    number = next(i for i, one in enumerate(targets) if one.name == "dimacs")
    for folder in ("once", "twice"):
        driver.try_mutant(targets, 5, number, tmp_path / folder)
    (once,), (twice,) = (list((tmp_path / folder).iterdir()) for folder in ("once", "twice"))
    assert once.read_bytes() == twice.read_bytes()


@pytest.mark.parametrize("module", driver.MODULES)
def test_samples_are_accepted_undamaged(module, tmp_path, monkeypatch):
    """Otherwise every mutant would be refused for the same reason, and nothing would be tried."""
    targets = importlib.import_module(module)

    def accepted(function, *arguments, **options):
        return function(*arguments, **options)

    for name, unchanged in (
        ("outcome", accepted),
        ("damaged", lambda rng, content: content),
        ("tree_damaged", lambda rng, tree: tree),
    ):
        monkeypatch.setattr(targets, name, unchanged, raising=False)
    monkeypatch.chdir(tmp_path)
    for one in getattr(targets, "TARGETS", []):
        if one.name != "graph500 edges":
            folder = tmp_path / one.name
            folder.mkdir()
            one.try_one(random.Random(3), folder)


def test_messages_of_a_thousand_characters_are_faults():
    def refuse(text):
        raise target.UserError(text)

    assert target.outcome(refuse, "short") is None
    with pytest.raises(AssertionError, match="1001 characters"):
        target.outcome(refuse, "x" * 1001)
