"""The file of a bundle: a ZIP archive with a manifest, in which no byte can change unnoticed.

docs/bundle.md has the schema. The archive's comment, which is the end of the file, holds the SHA-256 of all
bytes before it; the manifest holds that of each member.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from relaxometer.core.errors import UserError, escaped, quoted
from relaxometer.core.files import read_csv, replacing

MANIFEST = "manifest.json"
VERSION = 2
READABLE = "1 or 2"
COMMENT = re.compile(rb"relaxometer bundle ([12]) sha256 ([0-9a-f]{64})")
OTHER_COMMENT = re.compile(rb"bundle ([0-9]{1,9}) sha256 [0-9a-f]{64}$")
COMMENT_BYTES = len(b"relaxometer bundle 1 sha256 ") + 64

MAX_BYTES = 8 << 30
"""Most bytes of all members together, so that a small file cannot fill the memory."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**63)]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has control characters, which could change a terminal")
    return text


Text = Annotated[str, Field(max_length=1000), AfterValidator(_printable)]


class Part(BaseModel):
    """A part of the manifest; see docs/bundle.md."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Member(Part):
    """A member of the archive."""

    sha256: Sha256
    bytes: Count


class GraphOf(Part):
    """A graph or batch: its content, and the entry of the registry that it was made from."""

    content_sha256: Sha256
    batch: bool
    vertices: Count
    arcs: Count
    dataset: dict[str, Any]
    base: Text | None


class AnswerOf(Part):
    """The first answer of a run: its source, null where searches have none, and the member of each column.

    Or the member of its tree, as :mod:`relaxometer.results.tree_answers` has it, and the hashes of the
    columns that follow from it.
    """

    problem: Text
    graph: Text
    variant: Text
    source: Count | None
    columns: dict[Text, Text]
    tree: Text | None = None
    hashes: dict[Text, Sha256] = {}


class Manifest(Part):
    """``manifest.json``."""

    format: Literal["relaxometer-bundle"]
    version: Literal[1, 2]
    name: Text
    made: Text
    commit: Text
    members: dict[Text, Member]
    graphs: dict[Text, GraphOf]
    kernels: dict[Text, Text]
    lock_sha256: Sha256 | None
    answers: list[AnswerOf]
    left_out: list[Text]

    @model_validator(mode="after")
    def _says_of_every_answer_whether_it_is_a_tree(self) -> Manifest:
        """Check that answers have all keys of their version, since a key left out would have its default."""
        for number, answer in enumerate(self.answers):
            given = answer.model_fields_set & {"tree", "hashes"}
            if len(given) != (2 if self.version == 2 else 0):
                raise ValueError(f"answers.{number}: expected tree and hashes in version 2, and in no other")
            if bool(answer.hashes) != (answer.tree is not None):
                raise ValueError(f"answers.{number}: hashes belong to a tree")
        return self

    @model_validator(mode="after")
    def _bases_end(self) -> Manifest:
        """Check that graphs are extracted from others that are here, and none from itself."""
        for name in self.graphs:
            base, seen = self.graphs[name].base, {name}
            while base is not None:
                if base not in self.graphs or base in seen:
                    what = "is extracted from this graph" if base in seen else "is not in graphs"
                    raise ValueError(f"graphs.{name}.base: {base} {what}")
                seen.add(base)
                base = self.graphs[base].base
        return self


@dataclass(frozen=True)
class BundleFile:
    """A bundle whose bytes are those that were written.

    Parameters
    ----------
    path : Path
    sha256 : str
        Of the whole file up to its comment.
    manifest : Manifest
    members : dict of str to bytes
        Without the manifest.
    """

    path: Path
    sha256: str
    manifest: Manifest
    members: Mapping[str, bytes]

    def json(self, name: str) -> Any:
        """Return the content of a JSON member."""
        try:
            return json.loads(self._bytes(name))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.path}: {name} is not readable as JSON ({quoted(error)})") from None

    def table(self, name: str) -> pa.Table:
        """Return the content of a Parquet member."""
        try:
            file = pq.ParquetFile(io.BytesIO(self._bytes(name)))
            if (size := _bytes_of_rows(file)) > MAX_BYTES:
                raise ValueError(f"its rows take {size:,} bytes, more than {MAX_BYTES:,}")
            return file.read()
        except (pa.ArrowException, ValueError, OSError) as error:
            raise UserError(f"{self.path}: {name} is not readable as Parquet ({quoted(error)})") from None

    def frame(self, name: str) -> pd.DataFrame:
        """Return the content of a Parquet or CSV member for pandas."""
        if not name.endswith(".csv"):
            return self.table(name).to_pandas()
        try:
            return read_csv(io.BytesIO(self._bytes(name)), dtype={"version": str})
        except (ValueError, UnicodeError) as error:
            raise UserError(f"{self.path}: {name} is not readable as CSV ({quoted(error)})") from None

    def _bytes(self, name: str) -> bytes:
        if name not in self.members:
            raise UserError(f"{self.path}: no member {name}")
        return self.members[name]


def write(path: Path, manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    """Write a bundle, and return its SHA-256.

    Parameters
    ----------
    path : Path
    manifest : mapping
        As :class:`Manifest`, without ``members``.
    members : mapping of str to bytes
    """
    listed = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in sorted(members.items())
    }
    checked = Manifest.model_validate({**manifest, "members": listed})
    text = json.dumps(checked.model_dump(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return write_archive(path, text, members)


def write_archive(path: Path, manifest: str, members: Mapping[str, bytes]) -> str:
    """Write an archive with a manifest that is not checked, and return its SHA-256."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.comment = bytes(COMMENT_BYTES)
        for name, one in {MANIFEST: manifest.encode(), **dict(sorted(members.items()))}.items():
            # A fixed date, so that the same results make the same file.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, one)
    before = content.getvalue()[:-COMMENT_BYTES]
    sha256 = hashlib.sha256(before).hexdigest()
    with replacing(path) as temporary:
        temporary.write_bytes(before + f"relaxometer bundle {VERSION} sha256 {sha256}".encode())
    return sha256


def read(path: Path) -> BundleFile:
    """Read a bundle, and check every byte, the manifest's schema, and the hash of every member.

    Raises
    ------
    UserError
        If the file is not a bundle, or differs from what was written.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder; expected a bundle, which make bundle makes") from None
    except OSError as error:
        raise UserError(f"{path}: not readable ({error.strerror}); expected a bundle") from None
    before, comment = content[:-COMMENT_BYTES], content[-COMMENT_BYTES:]
    written = COMMENT.fullmatch(comment)
    if not written:
        if other := OTHER_COMMENT.search(comment):
            raise _of_version(path, other[1].decode())
        raise UserError(
            f"{path}: not a bundle of version {READABLE}, or its end is damaged; make it with make bundle"
        )
    sha256 = hashlib.sha256(before).hexdigest()
    members, manifest = _unpacked(path, content, intact=sha256 == written[2].decode())
    if manifest.version != int(written[1]):
        what = f"{MANIFEST} is of version {manifest.version}, its end of version {written[1].decode()}"
        raise UserError(f"{path}: {what}; pack it again")
    return BundleFile(path, sha256, manifest, members)


def _unpacked(path: Path, content: bytes, *, intact: bool) -> tuple[dict[str, bytes], Manifest]:
    """Return the members and the manifest; of a damaged file, say which member it is, where that shows."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if sum(one.file_size for one in archive.infolist()) > MAX_BYTES:
                raise UserError(f"{path}: more than {MAX_BYTES >> 30} GiB when unpacked")
            members = {name: archive.read(name) for name in names}
        manifest = Manifest.model_validate_json(members.pop(MANIFEST))
    except UserError:
        raise
    except ValidationError as error:
        errors = error.errors(include_url=False)
        if other := [one["input"] for one in errors if one["loc"] == ("version",) and intact]:
            raise _of_version(path, quoted(other[0])) from None
        first = errors[0]
        # A rule over several keys, such as that of bases, names them itself.
        where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
        what = "changed since it was written" if not intact else "against the schema"
        raise UserError(f"{path}: {MANIFEST} is {what}: {escaped(where + first['msg'])}") from None
    except Exception as error:  # of a damaged archive, zipfile raises many kinds
        raise UserError(f"{path}: changed since it was written ({quoted(error)})") from None
    wrong = [name for name, one in manifest.members.items() if not _is(one, members.get(name))]
    wrong += sorted(members.keys() - manifest.members.keys())
    if wrong or len(names) != len(members) + 1:
        raise UserError(
            f"{path}: changed since it was written: "
            f"{escaped(', '.join(wrong[:5])) or 'a member occurs twice'}"
        )
    if not intact:
        raise UserError(
            f"{path}: changed since it was written: its SHA-256 is not the one that its end names"
        )
    return members, manifest


def _of_version(path: Path, version: str) -> UserError:
    what = f"not a bundle of version {READABLE}, but of version {version}"
    return UserError(f"{path}: {what}; read it with the version of Relaxometer that packed it")


def _is(member: Member, content: bytes | None) -> bool:
    if content is None or len(content) != member.bytes:
        return False
    return hashlib.sha256(content).hexdigest() == member.sha256


def _bytes_of_rows(file: pq.ParquetFile) -> int:
    """Return the bytes that the rows of a Parquet file take in memory, at least.

    A column of equal values takes none in the file, however many they are.
    """
    widths = (field.type.bit_width / 8 if _is_fixed(field.type) else 4 for field in file.schema_arrow)
    groups = (file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    return max(sum(groups), int(file.metadata.num_rows * sum(widths)))


def _is_fixed(kind: pa.DataType) -> bool:
    return pa.types.is_primitive(kind)
