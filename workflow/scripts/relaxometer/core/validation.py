"""One-line messages for invalid entries of a YAML file: file, dotted key, value and nearest valid name."""

from __future__ import annotations

import difflib
import re
import reprlib
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import ErrorDetails

from relaxometer.core.errors import UserError

Model = TypeVar("Model", bound=BaseModel)

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def validated(model: type[Model], raw: Any, file: str) -> Model:
    """Return `raw`, read from `file`, as a `model`; UserError with :func:`explain`'s message if invalid."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise UserError(explain(error, file, raw, model)) from None


def explain(error: ValidationError, file: str, raw: Any, model: type[BaseModel]) -> str:
    """Describe the first problem of `error` as ``file: dotted.key: value is invalid: what it should be``.

    With the expected `model` of the input `raw`, it suggests valid keys for an unknown one.
    """
    problems = [_of_the_tag(problem) for problem in error.errors(include_url=False)]
    first = problems[0]
    keys = _path(first, raw)
    where = ": ".join(filter(None, (file, ".".join(map(str, keys)))))
    if first["type"] == "missing":
        return f"{where}: missing, and has no default"
    value = _short.repr(first["input"])
    if first["type"] == "extra_forbidden":
        known = _known_keys(model, keys[:-1])
        return f"{where}: unknown key (its value is {value}){_suggestion(str(keys[-1]), known)}"
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):
        return f"{where}: {_reason(first)}"
    # A value that fits no branch of a union is reported once per branch.
    reasons = dict.fromkeys(_reason(problem) for problem in problems if _path(problem, raw) == keys)
    return f"{where}: {value} is invalid: {', or '.join(reasons)}"


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the element of `known` closest to `name`, or None if none is close."""
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return matches[0] if matches else None


def _of_the_tag(problem: ErrorDetails) -> ErrorDetails:
    """Attribute a problem with the discriminator of a union to the discriminator's own key."""
    if problem["type"] not in ("union_tag_invalid", "union_tag_not_found"):
        return problem
    tag = problem["ctx"]["discriminator"].strip("'")
    loc = (*problem["loc"], tag)
    if problem["type"] == "union_tag_not_found":
        return {**problem, "type": "missing", "loc": loc}
    expected = problem["ctx"]["expected_tags"]
    return {
        **problem,
        "type": "literal_error",
        "loc": loc,
        "input": problem["input"][tag],
        "msg": f"Input should be one of {expected}",
        "ctx": {"expected": expected},
    }


def _suggestion(name: str, known: Sequence[str]) -> str:
    """Return the end of a message, which suggests or lists valid names."""
    if not known:
        return ""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else f"; known: {', '.join(known)}"


def _reason(problem: ErrorDetails) -> str:
    """Return pydantic's message without its opening."""
    message = problem["msg"].removeprefix("Value error, ")
    message = re.sub(r"^[A-Z]\w* should", "should", message)
    message = re.sub(r"valid dictionary( or instance of \w+)?", "section with keys of its own", message)
    if problem["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        near = nearest(str(problem["input"]), known)
        return f"{message}; did you mean {near!r}?" if near else message
    return message


def _path(problem: ErrorDetails, raw: Any) -> list[str | int]:
    """Return the keys that lead to a problem in `raw`.

    Pydantic's location also holds names of union branches. A part of it is a key only if `raw` has that key
    there, or if its absence is the problem.
    """
    keys: list[str | int] = []
    here = raw
    for part in problem["loc"]:
        in_mapping = isinstance(here, Mapping) and part in here
        in_list = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if in_mapping or in_list:
            keys.append(part)
            here = here[part]
    if problem["type"] == "missing":
        keys.append(problem["loc"][-1])
    return keys


def _known_keys(model: type[BaseModel], keys: Sequence[str | int]) -> list[str]:
    """Return the names of the fields allowed below `keys` in a `model`."""
    kinds: list[Any] = list(_branches(model))
    for key in keys:
        kinds = [branch for kind in kinds for branch in _branches(_inside(kind, key))]
    return [field for kind in kinds if _is_model(kind) for field in kind.model_fields]


def _inside(kind: Any, key: str | int) -> Any:
    """Return the annotation of `key` in a value of type `kind`, or None if it has no such key."""
    if _is_model(kind):
        field = kind.model_fields.get(key)
        return field.annotation if field else None
    arguments = get_args(kind)
    return arguments[-1] if arguments else None


def _branches(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation allows, without metadata, unions and root models around them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _branches(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _branches(argument)
    elif _is_model(annotation) and issubclass(annotation, RootModel):
        yield from _branches(annotation.model_fields["root"].annotation)
    else:
        yield annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
