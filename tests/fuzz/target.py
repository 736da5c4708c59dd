"""A target of the fuzzer: makes a mutant, feeds it to the project, and checks the outcome."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from relaxometer.core.errors import UserError

T = TypeVar("T")

MAX_MESSAGE = 1000
"""Longest message of a user error; it quotes at most 80 characters at a time, but paths are whole."""


class Target(NamedTuple):
    """One kind of mutants; `try_one` tries one in an empty folder, and any exception is a fault.

    `share` is the number of mutants of this target per round of all targets.
    """

    name: str
    try_one: Callable[[random.Random, Path], None]
    share: int


def outcome(function: Callable[..., T], *arguments: Any, **options: Any) -> T | None:
    """Call a function of the project; None if it refuses its input in one good line."""
    try:
        return function(*arguments, **options)
    except UserError as error:
        message = str(error)
        assert message.isprintable(), f"control characters in {message!r}"
        assert 0 < len(message) <= MAX_MESSAGE, f"{len(message)} characters in {message[:200]}..."
        return None
