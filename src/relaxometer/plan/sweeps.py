"""Sweeps: a variant whose parameters are lists stands for one variant per combination of their values."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import MAX_NAME, repetition, shown

MAX_VARIANTS = 1000


@dataclass(frozen=True)
class Point:
    """One variant of an entry, whose parameters have no lists; its name fits the rules' wildcards.

    `place`, for messages, is the entry's key and the values that make this variant.
    """

    name: str
    parameters: dict[str, Any]
    place: str


def expand(variant: str, parameters: Mapping[str, Any], origin: str, key: str) -> Iterator[Point]:
    """Yield the variants that an entry stands for: a list in its parameters stands for several values.

    Messages name the configuration `origin` and the entry's `key`. UserError if a list is empty, there are
    too many combinations, or a value makes no name.
    """
    swept = {name: value for name, value in parameters.items() if isinstance(value, list)}
    for name, values in swept.items():
        if not values:
            raise UserError(f"{origin}: {key}.{name}: an empty list makes no variant; give it a value")
    count = math.prod(map(len, swept.values()))
    if count > MAX_VARIANTS:
        raise UserError(
            f"{origin}: {key}: {', '.join(swept)} have {count:,} combinations of values; "
            f"an entry may have {MAX_VARIANTS:,}"
        )
    for combination in itertools.product(*swept.values()):
        chosen = dict(zip(swept, combination, strict=True))
        name = "-".join([variant, *(_part(value, f"{origin}: {key}.{of}") for of, value in chosen.items())])
        if len(name) > MAX_NAME:
            raise UserError(
                f"{origin}: {key}: the name {name:.40}... has more than {MAX_NAME} characters; "
                "give these values separate entries, with shorter names"
            )
        if flaw := repetition(name):
            raise UserError(
                f"{origin}: {key}: the name {quoted(name)} {flaw}; give these values separate entries"
            )
        place = " and ".join(f"{of} = {shown(value)}" for of, value in chosen.items())
        yield Point(name, {**parameters, **chosen}, f"{key} with {place}" if place else key)


def _part(value: Any, where: str) -> str:
    """Return the part of a variant's name that a value makes: 12.5 makes 12p5, and 1.0e+20 makes 1e20."""
    try:
        text = str(value).lower()
    except ValueError:  # Python does not print integers of thousands of digits
        text = ""
    part = re.sub(r"[^a-z0-9]+", "-", text.replace(".", "p").replace("+", ""))
    # A sign is kept, so that -3 and 3 have two names.
    part = part.rstrip("-") if isinstance(value, int | float) else part.strip("-")
    if not part:
        raise UserError(f"{where}: no name can be made from {shown(value)}; give it a separate entry")
    return part
