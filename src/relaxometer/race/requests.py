"""The request that sources or query sets were drawn for, kept in their file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.validation import Section

KEY = b"drawn for"  # the key of the schema's metadata that holds a request as JSON

AMOUNTS = ("sources", "draws")
"""Numbers of a request that a file may exceed: a run takes the first ones, which are the same."""

Request = dict[str, Any]

Difference = tuple[str, Any, Any]
"""A key, the value that was recorded for it, and the one that is wanted; None for one that is missing."""


def request_for_sources(sources: int | list[int | str], seed: int) -> Request:
    """Return what determines the sources of a graph: number or list, and seed."""
    return {"seed": seed, "sources": sources}


def request_for_queries(specs: Mapping[str, Section], draws: int, seed: int) -> Request:
    """Return what determines the query sets of a graph: specs, files, number of sets for each, and seed."""
    # Values left out may get another default or more neighbours; those that are given count.
    given = [[name, spec.model_dump(mode="json", exclude_defaults=True)] for name, spec in specs.items()]
    named = (getattr(spec, "file", None) for spec in specs.values())
    contents = {name: _digest(Path(name)) for name in named if name}
    return {"seed": seed, "draws": draws, "queries": given, "contents": contents}


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file, None if it is not on this machine."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def with_request(table: pa.Table, request: Request) -> pa.Table:
    """Return a table that says what it was drawn for."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: json.dumps(request)})


def serves(path: Path, request: Request) -> bool:
    """Return whether a file was drawn for a request.

    A file without a request, or that cannot be read, is taken to serve: drawing it again may need files of
    another machine, and its next reader reports damage.
    """
    return difference(path, request) is None


def difference(path: Path, request: Request) -> Difference | None:
    """Return the first difference between the request that a file was drawn for and another; None if none."""
    try:
        said = (pq.read_schema(path).metadata or {}).get(KEY)
        found = json.loads(said) if said else None
    except (OSError, ValueError, pa.ArrowException):
        return None
    if not isinstance(found, dict):
        return None
    wanted = json.loads(json.dumps(request))
    for key in AMOUNTS:
        if isinstance(found.get(key), int) and isinstance(wanted.get(key), int):
            found[key] = min(found[key], wanted[key])
    for name, digest in wanted.get("contents", {}).items():
        if digest is None:
            wanted["contents"][name] = found.get("contents", {}).get(name)
    keys = (key for key in [*found, *wanted] if found.get(key) != wanted.get(key))
    return next(((key, found.get(key), wanted.get(key)) for key in keys), None)
