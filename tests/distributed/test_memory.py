"""Graphs that do not fit are refused before they are made."""

from types import SimpleNamespace

import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import memory

GB = 1_000_000_000


def refuse(monkeypatch, scale: int, free: int) -> None:
    monkeypatch.setattr(memory, "_free_bytes", lambda ranks: free)
    ranks = SimpleNamespace(size=2, reduce=lambda numbers, operation: numbers)
    memory.refuse_too_large(ranks, "2x1", Graph500Parameters(scale=scale), weighted=False)


def test_a_graph_that_fits_is_not_refused(monkeypatch):
    refuse(monkeypatch, 26, 139 * GB)


def test_one_line_names_the_scale_that_fits(monkeypatch):
    with pytest.raises(
        UserError, match=r"^graph kron:29 needs about \d+ GB on each of 2 ranks, .*kron:27 fits$"
    ):
        refuse(monkeypatch, 29, 139 * GB)


def test_nothing_fits_into_no_memory(monkeypatch):
    with pytest.raises(UserError, match=r"no scale fits$"):
        refuse(monkeypatch, 20, 1000)
