"""What tells one problem from another where variants are run and their answers proven."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAMES = ("sssp", "bfs", "dominators")
"""The problems; each is a package of that name, with a `PROBLEM` and a module for each variant."""

WITH_BATCHES = ("dominators",)
"""The problems that are also asked of whole batches of graphs."""


@dataclass(frozen=True)
class Problem:
    """How answers to a problem are kept and proven.

    Parameters
    ----------
    columns : tuple of str
        Names of an answer's columns, each uint32 with a row a vertex. The first one is 2**32 - 1 where a
        vertex was not reached.
    rules : tuple of str
        The rules of a certificate.
    certifier : callable
        Makes what proves answers on one resident graph. Its ``check(source, **columns)`` returns a
        :class:`relaxometer.problems.sssp.certify.Certificate`.
    """

    columns: tuple[str, ...]
    rules: tuple[str, ...]
    certifier: Callable[[Any], Any]


def load_problem(name: str) -> Problem:
    """Return the `PROBLEM` of the package `name`."""
    problem: Problem = importlib.import_module(f"relaxometer.problems.{name}").PROBLEM
    return problem
