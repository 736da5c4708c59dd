"""The registry of datasets: ``resources/datasets.yaml`` and the ``datasets`` section of a configuration.

Snakemake imports this module each time it parses the workflow, so it imports no reader and no numerics.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveInt,
    PrivateAttr,
    RootModel,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import Name, Section, Seed, explain, suggestion, validated
from relaxometer.datasets.file_names import checked_name, checked_url
from relaxometer.datasets.formats import Format, all_formats
from relaxometer.datasets.parameters import NoParameters


def _checked_sha256(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError("should be 64 hexadecimal digits in lower case, as sha256sum prints")
    return text


Url = Annotated[str, AfterValidator(checked_url)]
FileName = Annotated[str, AfterValidator(checked_name)]
Sha256 = Annotated[str, AfterValidator(_checked_sha256)]
Parameters = TypeVar("Parameters", bound=BaseModel)

_SUITESPARSE = "https://sparse.tamu.edu"
_DAVIS_HU = (
    "T. A. Davis and Y. Hu, The University of Florida Sparse Matrix Collection, ACM Transactions on "
    "Mathematical Software 38(1), 2011"
)

_COMPANIONS = ("coordinates", "edge_weights")
"""Keys of second files."""

_ABOUT = ("description", "license", "attribution", "citation", "homepage")
"""Keys that only pages show: the graph does not depend on them."""


class DataFile(Section):
    """A data file: its locations and its identity."""

    urls: list[Url] = Field([])
    """Locations, tried in order; an entry may say `url` for a single one."""
    file: FileName | None = None
    """Name of the file among the downloads and in mirrors; the end of the first URL if left out."""
    path: str | None = None
    """A file on this machine instead of a download; ``~`` is the home folder."""
    sha256: Sha256 | None = None
    """Checksum of the file as downloaded. If left out, the first readable download fixes it."""
    bytes: PositiveInt | None = None
    """Size of the file as downloaded."""

    @model_validator(mode="before")
    @classmethod
    def _accept_a_single_url(cls, entry: Any) -> Any:
        if isinstance(entry, Mapping) and "url" in entry:
            if "urls" in entry:
                raise ValueError("give `url` or `urls`, not both")
            rest = {key: value for key, value in entry.items() if key != "url"}
            return {**rest, "urls": [entry["url"]]}
        return entry

    @field_validator("path")
    @classmethod
    def _is_a_path(cls, path: str | None) -> str | None:
        if path and set(path) & set("{}"):
            raise ValueError("should have no braces, which Snakemake reads as wildcards; rename the file")
        if path and re.match("https?://", path):
            raise ValueError("should be a file on this machine; write `url` for a download")
        if path and not path.isprintable():
            raise ValueError("should have no control characters; rename the file")
        return os.path.expanduser(path) if path else path  # noqa: PTH111 (never raises)

    @model_validator(mode="after")
    def _is_in_one_place(self) -> DataFile:
        if self.path and self.urls:
            raise ValueError("give `path` or `urls`, not both")
        if self.file is not None and not self.urls:
            raise ValueError("`file` names a download; leave it out, or give `url`")
        return self

    @model_validator(mode="after")
    def _has_a_plain_name(self) -> DataFile:
        if self.file is None and self.urls:
            try:
                checked_name(str(self.file_name))
            except ValueError as error:
                raise ValueError(f"`url` ends in {quoted(self.file_name)}, which {error}") from None
        return self

    @property
    def file_name(self) -> str | None:
        """Name of the file to download; None if nothing is downloaded."""
        if not self.urls:
            return None
        return self.file or unquote(urlsplit(self.urls[0]).path.rpartition("/")[2])

    def as_download(self) -> dict[str, Any]:
        """Return the fields that a download needs, as plain data."""
        return self.model_dump(include=set(DataFile.model_fields))


def _is_somewhere(file: DataFile) -> DataFile:
    if not (file.path or file.urls):
        raise ValueError("needs `path` or `urls`")
    return file


CompanionFile = Annotated[DataFile, AfterValidator(_is_somewhere)]
"""A second file of a dataset."""


class Dataset(DataFile, Generic[Parameters]):
    """A graph or a batch of graphs: its origin, its terms of use, and its expected size."""

    format: str
    """Name of the format, which decides what else the entry needs. Instead of it and `urls`, `suitesparse:
    GROUP/NAME` names a matrix of the SuiteSparse Matrix Collection."""
    description: str = ""
    """One line for the report."""
    coordinates: CompanionFile | None = None
    """File with the coordinates of the vertices."""
    edge_weights: CompanionFile | None = None
    """File with one number per edge."""
    license: str | None = None
    attribution: str | None = None
    """Terms of use, shown with every download and in the report."""
    citation: str | None = None
    homepage: str | None = None
    """Paper and page to refer to."""
    weight_unit: str | None = None
    """Unit of the weights."""
    distances: Literal["uint64"] | None = None
    """Type of distances, for weights of type uint32 with sums beyond 2**32 - 2. By default the type of the
    weights."""
    vertices: NonNegativeInt | None = None
    arcs: NonNegativeInt | None = None
    """Expected counts of the finished graph, or of the whole batch; other counts are an error."""
    seed: Seed | None = None
    """Seed of a generator."""
    parameters: Parameters = Field({}, validate_default=True)
    """Parameters of the format; each format has its own."""
    extracted_from: Name | None = None
    """Name of the dataset that this one is made from."""
    _base: Dataset[Any] | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _accept_a_matrix_of_suitesparse(cls, entry: Any) -> Any:
        """Take `suitesparse: GROUP/NAME` for a format and a URL."""
        if not isinstance(entry, Mapping) or "suitesparse" not in entry:
            return entry
        name = entry["suitesparse"]
        if not (isinstance(name, str) and re.fullmatch(r"[\w+.-]*\w/\w[\w+.-]*", name, re.ASCII)):
            raise ValueError("`suitesparse` should be the group and the name of a matrix, like HB/1138_bus")
        own = {"format": "matrix-market", "urls": [f"{_SUITESPARSE}/MM/{name}.tar.gz"]}
        if taken := own.keys() & entry.keys():
            raise ValueError(f"`suitesparse` stands for format and URL; leave out `{min(taken)}`")
        rest = {key: value for key, value in entry.items() if key != "suitesparse"}
        return {"homepage": f"{_SUITESPARSE}/{name}", "citation": _DAVIS_HU, **own, **rest}

    @model_validator(mode="before")
    @classmethod
    def _has_parameters_in_their_section(cls, entry: Any) -> Any:
        """Refuse a parameter of the format among the keys, which have other names that look like it."""
        known = all_formats().get(str(entry.get("format"))) if isinstance(entry, Mapping) else None
        for key in known.parameters.model_fields.keys() - cls.model_fields.keys() if known else ():
            if key in entry:
                of = f"a parameter of format {entry['format']!r}"
                raise ValueError(f"`{key}` is {of}; write `parameters: {{ {key}: ... }}`")
        return entry

    @field_validator("format")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in all_formats():
            hint = suggestion(name, list(all_formats()))
            raise ValueError(f"should be one of {', '.join(all_formats())}{hint}")
        return name

    @field_validator("parameters", mode="before")
    @classmethod
    def _read_parameters(cls, given: Any, info: ValidationInfo) -> BaseModel:
        """Read the parameters into the model of the entry's format."""
        if "format" not in info.data:
            return NoParameters()  # the unknown format is the error to report
        if not isinstance(given, Mapping | BaseModel):
            raise ValueError("should be a section with keys")
        model = all_formats()[info.data["format"]].parameters
        try:
            return model.model_validate(given)
        except ValidationError as error:
            # An entry without parameters has no key that the message could name.
            where = "" if given else "parameters"
            raise ValueError(explain(error, where, given).removeprefix(": ")) from None

    @field_serializer("parameters")
    def _given_parameters(self, parameters: BaseModel) -> dict[str, Any]:
        return parameters.model_dump(exclude_unset=True)

    @model_validator(mode="after")
    def _has_what_its_format_needs(self) -> Dataset[Parameters]:
        given = {
            "file": bool(self.path or self.urls),
            "seed": self.seed is not None,
            "extracted_from": self.extracted_from is not None,
        }
        words = {"file": "`path` or `urls`", "seed": "`seed`", "extracted_from": "`extracted_from`"}
        needed = self.kind.needs
        if needed and not given[needed]:
            raise ValueError(f"format {self.format!r} needs {words[needed]}")
        for key in given:
            if given[key] and key != needed:
                raise ValueError(f"format {self.format!r} takes no {words[key]}")
        for key in ("sha256", "bytes"):
            if getattr(self, key) is not None and not (given["file"] or self.kind.finds_file):
                raise ValueError(f"format {self.format!r} takes no `{key}`: it reads no file")
        if self.distances and self.kind.batch:
            raise ValueError(f"format {self.format!r} takes no `distances`: a batch has no weights")
        for key in _COMPANIONS:
            if getattr(self, key) and key != self.kind.companion:
                raise ValueError(f"format {self.format!r} takes no `{key}`")
        return self

    @property
    def kind(self) -> Format:
        """The format that the entry names."""
        return all_formats()[self.format]

    @property
    def files(self) -> list[DataFile]:
        """The data files of the graph, the entry's own first."""
        own = [self] if self.path or self.urls else []
        return [*own, *filter(None, (getattr(self, key) for key in _COMPANIONS))]

    def as_built(self) -> dict[str, Any]:
        """Return what the graph or batch depends on, as plain data: all but the keys of :meth:`about`."""
        return self.model_dump(exclude=set(_ABOUT))

    def about(self) -> dict[str, str | None]:
        """Return the keys that only pages show."""
        return self.model_dump(include=set(_ABOUT))

    @property
    def texts(self) -> dict[str, str | list[str] | None]:
        """Texts that pages show instead of those in the metadata, which may be older than the entry.

        An empty one removes that of the metadata. Some formats keep texts of the graph that they are made
        from; these count only in an entry from :func:`load_registry`, which knows that graph.
        """
        own = {
            "description": self.description,
            "origin": self.urls or self.homepage or self.path,
            "license": self.license,
            "attribution": self.attribution,
            "citation": self.citation,
        }
        of_base = self._base.texts if self._base else {}
        kept = {key: of_base[key] for key in self.kind.keeps_texts if key in of_base}
        return own | kept | {key: text for key, text in own.items() if text}

    @property
    def paths(self) -> dict[str, str]:
        """The files on this machine, by the key that names each."""
        companions = {f"{key}.path": getattr(self, key) for key in _COMPANIONS}
        given = {"path": self, **companions}
        return {key: file.path for key, file in given.items() if file and file.path}

    @property
    def has_coordinates(self) -> bool:
        """True if the vertices of the graph have coordinates.

        Those of the graph that it is made from count only in an entry from :func:`load_registry`, which knows
        that graph.
        """
        own = self.kind.has_coordinates or self.coordinates is not None
        kept = self.kind.keeps_coordinates and self._base is not None and self._base.has_coordinates
        return own or kept

    @property
    def is_batch(self) -> bool:
        """True for a batch of small flow graphs, False for a graph."""
        return self.kind.batch

    @property
    def terms(self) -> str:
        """Licence and attribution in one line."""
        return "; ".join(filter(None, (self.license or "licence not stated", self.attribution)))


class Registry(RootModel[dict[Name, Dataset]]):  # type: ignore[type-arg]
    """``resources/datasets.yaml``: datasets by name."""


class _OwnDatasets(BaseModel):
    """The ``datasets`` section of a configuration, so that messages name keys as the configuration does."""

    datasets: dict[Name, Dataset]  # type: ignore[type-arg]


def load_registry(path: Path, extra: Mapping[str, Any], *, origin: str = "config") -> dict[str, Dataset[Any]]:
    """Read ``resources/datasets.yaml`` at `path`, and `extra`, the ``datasets`` section of a configuration.

    `origin` is the file that `extra` came from, for messages. The project's datasets come first. UserError if
    an entry is wrong, a name is taken, a base graph is unknown, or two different files would be downloaded
    under one name.
    """
    from relaxometer.core.yaml_files import read_yaml  # a file of one's own needs no YAML

    own = validated(Registry, read_yaml(path) or {}, str(path)).root
    added = validated(_OwnDatasets, {"datasets": extra}, origin).datasets
    taken = sorted(own.keys() & added.keys())
    if taken:
        raise UserError(f"{origin}: datasets.{taken[0]}: the name is taken in {path}; choose another")
    datasets = {**own, **added}
    where = {name: f"{path}: {name}" for name in own}
    where |= {name: f"{origin}: datasets.{name}" for name in added}
    _check_bases(datasets, where)
    _check_file_names(datasets, where)
    for dataset in datasets.values():
        if dataset.extracted_from is not None:
            dataset._base = datasets[dataset.extracted_from]
    return datasets


def _check_bases(datasets: Mapping[str, Dataset[Any]], where: Mapping[str, str]) -> None:
    """Check that every graph is made from a graph that exists without it, and of a format that suits."""
    for name, dataset in datasets.items():
        base, chain = dataset.extracted_from, [name]
        while base is not None:
            key = f"{where[chain[-1]]}.extracted_from"
            if base not in datasets:
                raise UserError(f"{key}: unknown dataset {base!r}{suggestion(base, list(datasets))}")
            if datasets[base].is_batch:
                raise UserError(f"{key}: {base!r} is a batch; expected a graph")
            if base in chain:
                raise UserError(f"{key}: {' from '.join([*chain, base])} is circular; expected another graph")
            chain.append(base)
            base = datasets[base].extracted_from
        base, expected = dataset.extracted_from, dataset.kind.base
        if base is not None and expected not in (None, datasets[base].format):
            raise UserError(
                f"{where[name]}.extracted_from: {base!r} has format {datasets[base].format!r}; format "
                f"{dataset.format!r} is made from a graph of format {expected!r}"
            )


def _check_file_names(datasets: Mapping[str, Dataset[Any]], where: Mapping[str, str]) -> None:
    """Refuse two files of one name, because all downloads share a folder."""
    first: dict[str, tuple[str, DataFile]] = {}
    for name, file in ((name, file) for name, dataset in datasets.items() for file in dataset.files):
        if file.file_name is None:
            continue
        other, known = first.setdefault(file.file_name, (name, file))
        if (known.urls, known.sha256, known.bytes) != (file.urls, file.sha256, file.bytes):
            raise UserError(
                f"{where[name]}.urls: {file.file_name} is also the file of {other}, with different urls, "
                "sha256 or bytes; make them equal, or download one by hand and give its path"
            )
