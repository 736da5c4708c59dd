"""A share of the fuzzer runs here; a seed repeats its mutants, and samples are accepted undamaged."""

import importlib
import random

import pytest

from fuzz import driver


def test_no_mutant_does_what_it_should_not():
    assert driver.fuzz(1000, seed=1, processes=2) == {}


def test_a_seed_repeats_its_mutants(tmp_path):
    targets = driver.schedule()
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
    for one in targets.TARGETS:
        folder = tmp_path / one.name
        folder.mkdir()
        one.try_one(random.Random(3), folder)
