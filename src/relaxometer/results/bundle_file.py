"""The file of a bundle: a ZIP archive with a manifest, in which no byte can change unnoticed.

docs/bundle.md has the schema. The archive's comment, which is the end of the file, holds the SHA-256 of all
bytes before it.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from relaxometer.core.errors import UserError, escaped
from relaxometer.core.files import reading, replacing

MANIFEST = "manifest.json"
VERSION = 3
END = re.compile(rb"relaxometer bundle ([0-9]) sha256 ([0-9a-f]{64})")
END_BYTES = len(b"relaxometer bundle 3 sha256 ") + 64


class Part(BaseModel):
    """A part of the manifest; see docs/bundle.md. Earlier versions have more keys, which are ignored."""

    model_config = ConfigDict(strict=True)


class GraphOf(Part):
    """A graph or batch: its content, and the entry of the registry that it was made from."""

    content_sha256: str
    batch: bool
    vertices: int
    arcs: int
    dataset: dict[str, Any]
    base: str | None


class AnswerOf(Part):
    """The first answer of a run: its source, null where searches have none, and its members.

    These are one for each column, or the one of its tree (:mod:`relaxometer.results.tree_answers`).
    """

    problem: str
    graph: str
    variant: str
    source: int | None
    columns: dict[str, str]
    tree: str | None = None


class Manifest(Part):
    """``manifest.json``."""

    format: Literal["relaxometer-bundle"]
    version: int = Field(ge=1, le=VERSION)
    name: str
    made: str
    commit: str
    graphs: dict[str, GraphOf]
    kernels: dict[str, str]
    answers: list[AnswerOf]
    left_out: list[str]


@dataclass(frozen=True)
class BundleFile:
    """A bundle whose bytes are those that were written; `advice` says what helps if a member is damaged.

    `sha256` is that of the whole file up to its comment, and `members` are without the manifest.
    """

    path: Path
    sha256: str
    manifest: Manifest
    members: Mapping[str, bytes]
    advice: str = "pack it again: make bundle"

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON member."""
        content = self.content(name)
        with reading(self.path / name, "JSON", advice=self.advice):
            found = json.loads(content)
            if not isinstance(found, dict):
                raise ValueError("it has no keys and values")
            return found

    def table(self, name: str) -> pa.Table:
        """Return the content of a Parquet member."""
        content = self.content(name)
        with reading(self.path / name, "Parquet", advice=self.advice):
            return pq.read_table(io.BytesIO(content))

    def content(self, name: str) -> bytes:
        """Return the bytes of a member; UserError if there is none."""
        if name not in self.members:
            raise UserError(f"{self.path}: no member {name}; {self.advice}")
        return self.members[name]


def write(path: Path, manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    """Write a bundle with a manifest as :class:`Manifest`, and return its SHA-256."""
    before = archive(manifest, members)
    sha256 = hashlib.sha256(before).hexdigest()
    with replacing(path) as temporary:
        temporary.write_bytes(before + f"relaxometer bundle {VERSION} sha256 {sha256}".encode())
    return sha256


def archive(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle before its end."""
    checked = Manifest.model_validate(manifest)
    text = json.dumps(checked.model_dump(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.comment = bytes(END_BYTES)
        for name, one in {MANIFEST: text.encode(), **dict(sorted(members.items()))}.items():
            # It has a fixed date, so that the same results make the same file.
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            is_packed = name.endswith(".parquet")
            file.writestr(entry, one, zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED)
    return content.getvalue()[:-END_BYTES]


def read(path: Path) -> BundleFile:
    """Read a bundle, and check every byte and the schema; UserError if it is not what was written."""
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; expected a bundle, which make bundle makes") from None
    except OSError as error:
        raise UserError(f"{path}: not readable ({error.strerror}); expected a bundle") from None
    before, end = content[:-END_BYTES], END.fullmatch(content[-END_BYTES:])
    if not end:
        raise UserError(f"{path}: not a bundle, or its end is damaged; make it with make bundle")
    version, sha256 = int(end[1]), hashlib.sha256(before).hexdigest()
    if sha256 != end[2].decode():
        raise UserError(f"{path}: changed since it was written: its SHA-256 is not the one at its end")
    if version > VERSION:
        what = f"not a bundle of version 1 to {VERSION}, but of version {version}"
        raise UserError(f"{path}: {what}; read it with the version of Relaxometer that packed it")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {name: file.read(name) for name in file.namelist()}
        manifest = Manifest.model_validate_json(members.pop(MANIFEST))
        if manifest.version != version:
            raise ValueError(f"it is of version {manifest.version}, its end of version {version}")
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UserError(f"{path}: {MANIFEST} violates the schema: {_in_a_line(error)}") from None
    return BundleFile(path, sha256, manifest, members)


def _in_a_line(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return escaped(str(error))
    first = error.errors(include_url=False)[0]
    return escaped(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
