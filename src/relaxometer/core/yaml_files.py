"""Reads YAML files strictly: any mistake, such as a key given twice, is one line with its place."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import nearest

MAX_VALUES = 3_000_000
"""Limit of the values in a file after its aliases have been replaced, which a few lines could exceed."""

MAX_DEPTH = 1000
"""Characters of a line, and opening brackets, above which PyYAML reads a file: they bound its nesting."""

_UNUSUAL = re.compile(r"[^\n -~\u00a1-\u2027\u202a-\ud7ff\uff00-\uffef]")
"""Characters, such as tabs, that libyaml and PyYAML may treat differently."""


def read_yaml(path: Path) -> Any:
    """Return the contents of a YAML or JSON file, None if it is empty.

    UserError if the file cannot be read, is not UTF-8 or YAML, gives a key twice, or contains itself.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        advice = _others(path) if isinstance(error, FileNotFoundError) else ""
        raise UserError(f"{path}: not readable ({error.strerror}){advice}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = _place(path, raw[: error.start].decode("utf-8"))
        raise UserError(f"{where}: byte 0x{raw[error.start]:02x} is not UTF-8; save it as UTF-8") from None
    try:
        contents = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        contents = _read(path, text)
    _check(path, contents)
    return contents


def read_sections(path: Path) -> dict[str, Any]:
    """Return the keys and values of a file; UserError as :func:`read_yaml`, or if it holds anything else."""
    contents = read_yaml(path)
    if not isinstance(contents, dict | None):
        raise UserError(f"{path}: expected keys and values, found {quoted(contents)}")
    return contents or {}


def _others(path: Path) -> str:
    """Return the end of a message about a missing file: files that may have been meant."""
    names = sorted(file.stem for file in path.parent.glob("*.yaml"))
    if near := nearest(path.stem, names):
        return f"; did you mean {path.with_name(near)}.yaml?"
    return f"; {path.parent} has {', '.join(f'{name}.yaml' for name in names)}" if names else ""


def _read(path: Path, text: str) -> Any:
    if _suits_libyaml(text):
        with suppress(yaml.YAMLError, RecursionError):
            return yaml.load(text, _FastLoader)  # a safe loader
    try:
        return yaml.load(text, _Loader)  # a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else f"{path}"
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise UserError(f"{where}: invalid YAML: {problem:.160}") from None
    except yaml.reader.ReaderError as error:
        where = _place(path, text[: error.position])
        raise UserError(f"{where}: invalid YAML: {quoted(text[error.position])} is not allowed") from None
    except RecursionError:
        raise UserError(f"{path}: invalid YAML: lists and sections are nested too deeply") from None


def _suits_libyaml(text: str) -> bool:
    """Return whether libyaml reads it as PyYAML does, and not so deeply nested that its stack overflows."""
    is_flat = max(map(len, text.split("\n"))) < MAX_DEPTH and text.count("[") + text.count("{") < MAX_DEPTH
    return is_flat and not _UNUSUAL.search(text)


def _place(path: Path, before: str) -> str:
    """Return file, line and column of the character that follows `before`."""
    return f"{path}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; ValueError if it gives a key twice, so that the YAML reader says where."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _check(path: Path, contents: Any) -> None:
    """Refuse aliases that multiply each other or lead in a circle, and text that no file could hold."""
    values, rest = 0, [contents]
    while rest:
        value = rest.pop()
        values += 1
        if values > MAX_VALUES:
            raise UserError(f"{path}: more than {MAX_VALUES:,} values, or a section that contains itself")
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise UserError(f"{path}: {quoted(value)} contains a lone surrogate, half of a character")


class _Strict(yaml.constructor.SafeConstructor):
    """Refuses a key given twice, and names the place of a value of the wrong type."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[tuple[str, str], yaml.Node] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if first.setdefault((key.tag, key.value), key) is not key:
                line = first[key.tag, key.value].start_mark.line + 1
                problem = f"key {quoted(key.value)} is given twice, first in line {line}"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError):
            # For example a date in a 13th month, a number of 5,000 digits, or `!!bool perhaps`.
            problem = f"{quoted(node.value)} is not a valid {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None
        if type(value) is int and re.match("[-+]?0[0-9_]|.*:", node.value):
            # YAML 1.1 has octal and sexagesimal numbers, as in 010 and 1:30.
            problem = f"{quoted(node.value)} would be read as {value}; write {value}, or a text in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


class _Loader(_Strict, yaml.SafeLoader):
    """Reads any file, and says where and why it cannot."""


class _FastLoader(_Strict, yaml.CSafeLoader):
    """Takes a tenth of the time."""
