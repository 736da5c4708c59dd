"""Graphs that do not fit are refused before they are made."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import memory

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("scale", "free", "error"),
    [
        (26, 139 * GB, None),
        (29, 139 * GB, r"^graph kron:29 needs about \d+ GB on each of 2 ranks, .*kron:27 fits$"),
        (20, 1000, r"no scale fits$"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused_with_the_scale_that_fits(monkeypatch, scale, free, error):
    monkeypatch.setattr(memory, "_free_bytes", lambda ranks: free)
    ranks = SimpleNamespace(size=2, reduce=lambda numbers, operation: numbers)
    with pytest.raises(UserError, match=error) if error else nullcontext():
        memory.refuse_too_large(ranks, "2x1", Graph500Parameters(scale=scale), weighted=False)
