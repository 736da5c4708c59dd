"""Sections of YAML files, and one-line messages for mistakes: file, dotted key, value, nearest valid name."""

import difflib
import re
import reprlib
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from relaxometer.core.errors import MAX_QUOTED, UserError, quoted

Model = TypeVar("Model", bound=BaseModel)

NAME = "[a-z0-9][a-z0-9-]*"
MAX_NAME = 100
MAX_REPEATS = 19  # Snakemake takes a wildcard that ends in more repeats of one text for an endless recursion

_PERIODIC = re.compile(rf"(.+?)\1{{{MAX_REPEATS},}}$")


def repetition(name: str) -> str | None:
    """Return what is wrong with a name that repeats one text too often to be a wildcard."""
    found = _PERIODIC.search(name)
    return f"should not repeat {found[1]!r} more than {MAX_REPEATS} times at its end" if found else None


def _not_periodic(name: str) -> str:
    if flaw := repetition(name):
        raise ValueError(flaw)
    return name


Name = Annotated[str, Field(pattern=f"^{NAME}$", max_length=MAX_NAME), AfterValidator(_not_periodic)]
"""A name that serves as a folder and as a wildcard of the rules."""

REPEATED = "repeated"  # type of the error of a list that has a value twice


def _each_once(values: Any) -> Any:
    for value, count in Counter(values if isinstance(values, list) else []).items():
        if count > 1:
            raise PydanticCustomError(REPEATED, f"{shown(value)} is given {count} times")
    return values


UNKNOWN = "unknown_key"  # type of the error of a section with an unknown key
EachOnce = AfterValidator(_each_once)  # refuses a list that has a value twice

Seed = Annotated[int, Field(ge=0, lt=2**64)]

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


class Section(BaseModel):
    """A part of a file. Unknown keys are errors, and so is ``yes`` or ``"3"`` where an integer is meant."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_known_keys_of_their_types(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        if cls.model_config["extra"] == "forbid":
            for key in given:
                if isinstance(key, str) and key not in fields:
                    message = _unknown_key(key, given[key], list(fields))
                    raise PydanticCustomError(UNKNOWN, "{message}", {"message": message, "key": key})
        return {
            key: _typed(value, fields[key], key) if key in fields else value for key, value in given.items()
        }


def _typed(value: Any, field: FieldInfo, key: str) -> Any:
    """Return a field's value, ``1e-3`` as a number; ValueError if true or 1.0 is given for an option 1."""
    kinds = list(_branches(field.annotation))
    if float in kinds:
        return _number(value)
    if isinstance(value, list) and any(_is_tuple_of_floats(kind) for kind in kinds):
        return [_number(item) for item in value]
    if isinstance(value, bool | float):
        options = [option for kind in kinds if get_origin(kind) is Literal for option in get_args(kind)]
        same = [option for option in options if option == value]  # Python has 1 == 1.0 == True
        if same and type(value) not in map(type, same):
            raise ValueError(f"{key}: {shown(value)} is invalid; write {same[0]}")
    return value


def _number(value: Any) -> Any:
    """Return the number that YAML reads as text, 1e-3, and any other value as it is."""
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _is_tuple_of_floats(kind: Any) -> bool:
    return get_origin(kind) is tuple and any(float in _branches(item) for item in get_args(kind))


def validated(model: type[Model], raw: Any, file: str, key: str = "") -> Model:
    """Return `raw`, read from `file`, as a `model`; UserError with :func:`explain`'s message if invalid."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise UserError(explain(error, file, raw, key)) from None


def check_keys(given: Mapping[str, Any], models: Iterable[type[BaseModel]], file: str, key: str) -> None:
    """Raise UserError unless each key of `given`, the section `key` of `file`, is a field of a model."""
    known = [field for model in models for field in model.model_fields]
    for name, value in given.items():
        if name not in known:
            raise UserError(f"{file}: {key}.{_key(name)}: {_unknown_key(name, value, known)}")


def explain(error: ValidationError, file: str, raw: Any, key: str = "") -> str:
    """Describe the first problem of `raw`: ``file: dotted.key: value is invalid: what it should be``."""
    problems = [_of_the_key(problem) for problem in error.errors(include_url=False)]
    keys = _path(problems[0], raw)
    # The branch of a union that got furthest is taken to be the one that was meant.
    inside = [problem for problem in problems if _path(problem, raw)[: len(keys)] == keys]
    first = max(inside, key=lambda problem: len(_path(problem, raw)))
    keys = _path(first, raw)
    value = shown(first["input"])
    if first["type"] == "invalid_key" or first["loc"][-1:] == ("[key]",):
        keys = keys[:-1] if keys and keys[-1] == first["input"] else keys
        value = f"key {value}"
    where = ": ".join(filter(None, (file, ".".join(filter(None, (key, *map(_key, keys)))))))
    if first["type"] == "missing":
        return f"{where}: missing, and has no default"
    if first["type"] == UNKNOWN:
        return f"{where}: {first['msg']}"
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):
        return f"{where}: {_reason(first)}"
    # A value that fits no branch of a union is reported once per branch; a repetition alone says enough.
    same = [problem for problem in problems if problem["input"] is first["input"]]
    same = [problem for problem in same if problem["type"] == REPEATED] or same
    reasons = dict.fromkeys(map(_reason, same))
    # Where a value may be a number or a list, a wrong number need not become a list.
    hinting = [problem for problem in same if problem["type"] != "list_type"] or same
    hints = dict.fromkeys(map(_hint, hinting))
    return f"{where}: {value} is invalid: {', or '.join(reasons)}{''.join(hints)}"


def nearest(name: str, known: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """Return the element of `known` closest to `name`, or None if none has a similarity of `cutoff`."""
    spellings = (name, name.lower())
    close = (difflib.get_close_matches(spelling, known, n=1, cutoff=cutoff) for spelling in spellings)
    return next((matches[0] for matches in close if matches), None)


def suggestion(name: str, known: Sequence[str], otherwise: str = "", *, cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown name: the nearest of `known`, else `otherwise`."""
    near = nearest(name, known, cutoff=cutoff)
    said = f"did you mean {near!r}?" if near else otherwise
    return f"; {said}" if said else ""


def _key(key: str | int) -> str:
    text = str(key)
    return text if re.fullmatch(rf"[\w+-]{{1,{MAX_QUOTED}}}", text) else quoted(text)


def shown(value: Any) -> str:
    """Return a value as messages show it, in one line of limited length."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    try:
        text = _short.repr(value)
    except ValueError:  # Python does not print such numbers
        return "a number of thousands of digits"
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 3]}..."


def _hint(problem: ErrorDetails) -> str:
    """Return the end of a message, which says how YAML has the type that is meant."""
    value, kind = problem["input"], problem["type"].removesuffix("_type")
    if kind == "bool":
        return "; write true or false"
    if kind == "list" and (value is None or value is False):
        return "; write [] for none"
    if kind == "list" and isinstance(value, str | int | float):
        is_short = shown(value).strip("'") == str(value).lower()
        return f"; write [{value}]" if is_short else ""
    if kind in ("string", "invalid_key") and value is not None and not isinstance(value, list | dict):
        return "; write it in quotes"
    if kind not in ("int", "float"):
        return ""
    if isinstance(value, bool):
        return "; YAML reads yes and on as true, no and off as false"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    if not number.is_integer() or abs(number) >= 1e15:
        return ""
    return f"; write {number:.0f}{' without quotes' * (value == f'{number:.0f}')}"


def _of_the_key(problem: ErrorDetails) -> ErrorDetails:
    """Attribute an unknown key, or a problem with the discriminator of a union, to the key itself."""
    if problem["type"] == UNKNOWN:
        key = problem["ctx"]["key"]
        return {**problem, "loc": (*problem["loc"], key), "input": problem["input"][key]}
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


def _unknown_key(name: str, value: Any, known: Sequence[str]) -> str:
    """Return the end of a message, which suggests or lists valid names."""
    text = f"unknown key (its value is {shown(value)})"
    return text + suggestion(name, known, f"known: {', '.join(known)}") if known else text


def _reason(problem: ErrorDetails) -> str:
    """Return pydantic's message without its opening."""
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "invalid_key":
        return "should be a string"
    message = re.sub(r"^[A-Z]\w* should", "should", message).replace(" after validation", "")
    message = re.sub(r"valid dictionary( or instance of \w+| or object to .*)?", "section with keys", message)
    if problem["type"] == "string_pattern_mismatch" and problem["ctx"]["pattern"] == f"^{NAME}$":
        return "should be lower-case letters, digits and hyphens, a hyphen not first"
    if problem["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        message = message.replace("False", "false")
        return message + (suggestion(problem["input"], known) if isinstance(problem["input"], str) else "")
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


def _branches(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation allows, without metadata and unions around them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _branches(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _branches(argument)
    else:
        yield annotation
