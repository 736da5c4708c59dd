"""The registry of datasets: what ``resources/datasets.yaml`` and a config's own ``datasets`` may say.

Snakemake imports this module each time it parses the workflow, so it loads no reader and no numerics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    RootModel,
    field_validator,
    model_validator,
)

from relaxometer.errors import UserError
from relaxometer.validation import nearest, validated

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Url = Annotated[str, Field(pattern=r"^https?://[^/]+/.*[^/]$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Section(BaseModel):
    """A part of an entry; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoParameters(Section):
    """Parameters of a format that has none."""


class Box(Section):
    """A box of geographic coordinates, edges included.

    Parameters
    ----------
    south, west, north, east : float
        Degrees; south and west are negative on their halves of the globe.
    """

    south: float = Field(ge=-90, le=90)
    west: float = Field(ge=-180, le=180)
    north: float = Field(ge=-90, le=90)
    east: float = Field(ge=-180, le=180)

    @model_validator(mode="after")
    def _has_an_area(self) -> Box:
        if self.south >= self.north or self.west >= self.east:
            raise ValueError("south must be below north, and west below east")
        return self


class HighwayParameters(Section):
    """Parameters of the format ``highways``.

    Parameters
    ----------
    box : Box
        Where on the globe; the largest component inside it is taken.
    """

    box: Box


class PythonCfgParameters(Section):
    """Parameters of the format ``python-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Functions with fewer blocks are left out; most have one.
    modules : list of str, optional
        Top-level modules and packages of the standard library to take; all if left out.
    tests : bool
        Whether to take the library's own tests.
    """

    minimum_blocks: PositiveInt = 3
    modules: list[str] | None = None
    tests: bool = False


class CCfgParameters(Section):
    """Parameters of the format ``c-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Functions with fewer blocks are left out.
    options : list of str
        For clang, such as ``-O1`` or ``-DNAME``.
    """

    minimum_blocks: PositiveInt = 3
    options: list[str] = ["-O0"]


@dataclass(frozen=True)
class Format:
    """What a format asks of an entry.

    Parameters
    ----------
    needs : str, optional
        The one of ``file`` (by `path` or `urls`), ``seed`` and ``extracted_from`` that the format is made
        from; None if it brings its own data.
    reader : str
        Module of this package, and the function in it that makes the graph (`build.Reader`) or the batch
        (`build_batch.BatchReader`). It is imported only to be called, so that an edit of one reader rebuilds
        its own graphs alone.
    parameters : subclass of pydantic.BaseModel
        Shape of the entry's `parameters`.
    batch : bool
        Whether the reader makes a batch of small flow graphs instead of a graph.
    """

    reader: tuple[str, str]
    needs: str | None = None
    parameters: type[BaseModel] = NoParameters
    batch: bool = False


FORMATS = {
    "dimacs": Format(("dimacs", "build"), needs="file"),
    "highways": Format(("highways", "build"), parameters=HighwayParameters),
    "kanto-like": Format(("kanto", "build"), needs="seed"),
    "kanto-like-main": Format(("kanto", "build_main_roads"), needs="extracted_from"),
    "c-cfgs": Format(("c_cfgs", "build"), needs="file", parameters=CCfgParameters, batch=True),
    "python-cfgs": Format(("python_cfgs", "build"), parameters=PythonCfgParameters, batch=True),
}
"""The formats by name."""


class Dataset(Section):
    """A graph or a batch of graphs: where it comes from, under which terms, and what must come out.

    Parameters
    ----------
    format : str
        One of `FORMATS`.
    description : str
    urls : list of str
        Where the file can be had, tried in order; an entry may say `url` for a single one.
    path : str, optional
        A file on this machine instead of a download.
    sha256 : str, optional
        Of the file as downloaded. Without it, the first download fixes it.
    bytes : int, optional
        Size of that file.
    license, attribution : str, optional
    citation, homepage : str, optional
    weight_unit : str, optional
    vertices, arcs : int, optional
        Counts of the finished graph or of the whole batch, which it is checked against.
    seed : int, optional
        Of a generator.
    parameters : dict
        Whatever else the format asks for.
    extracted_from : str, optional
        Name of the dataset that this one is a part of.
    """

    format: str
    description: str = ""
    urls: list[Url] = []
    path: str | None = None
    sha256: Sha256 | None = None
    bytes: PositiveInt | None = None
    license: str | None = None
    attribution: str | None = None
    citation: str | None = None
    homepage: str | None = None
    weight_unit: str | None = None
    vertices: NonNegativeInt | None = None
    arcs: NonNegativeInt | None = None
    seed: NonNegativeInt | None = None
    parameters: dict[str, Any] = {}
    extracted_from: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_a_single_url(cls, entry: Any) -> Any:
        if isinstance(entry, Mapping) and "url" in entry:
            if "urls" in entry:
                raise ValueError("give `url` or `urls`, not both")
            rest = {key: value for key, value in entry.items() if key != "url"}
            return {**rest, "urls": [entry["url"]]}
        return entry

    @field_validator("format")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in FORMATS:
            near = nearest(name, list(FORMATS))
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"should be one of {', '.join(FORMATS)}{hint}")
        return name

    @model_validator(mode="after")
    def _has_what_its_format_needs(self) -> Dataset:
        given = {
            "file": bool(self.path or self.urls),
            "seed": self.seed is not None,
            "extracted_from": self.extracted_from is not None,
        }
        needed = FORMATS[self.format].needs
        words = {"file": "`path` or `urls`", "seed": "`seed`", "extracted_from": "`extracted_from`"}
        if needed and not given[needed]:
            raise ValueError(f"format {self.format!r} needs {words[needed]}")
        for key in given:
            if given[key] and key != needed:
                raise ValueError(f"format {self.format!r} takes no {words[key]}")
        if self.path and self.urls:
            raise ValueError("give `path` or `urls`, not both")
        return self

    @property
    def file_name(self) -> str | None:
        """Name of the file to download; None if nothing is downloaded."""
        return unquote(PurePosixPath(urlsplit(self.urls[0]).path).name) if self.urls else None

    @property
    def is_batch(self) -> bool:
        """Whether this is a batch of small flow graphs instead of a graph."""
        return FORMATS[self.format].batch

    @property
    def terms(self) -> str:
        """Licence and attribution in one line."""
        return "; ".join(filter(None, (self.license or "licence not stated", self.attribution)))


class Registry(RootModel[dict[Name, Dataset]]):
    """``resources/datasets.yaml``: datasets by name."""


class _OwnDatasets(BaseModel):
    """The part of a configuration that holds datasets, so that messages name keys as the config does."""

    datasets: dict[Name, Dataset]


def load_registry(path: Path, extra: Mapping[str, Any], *, origin: str = "config") -> dict[str, Dataset]:
    """Read the datasets of the project and add those of a configuration.

    Parameters
    ----------
    path : Path
        ``resources/datasets.yaml``.
    extra : mapping
        The configuration's own ``datasets`` section, in the same shape.
    origin : str, default="config"
        Which file `extra` came from, for messages.

    Returns
    -------
    dict of str to Dataset
        The project's own first.

    Raises
    ------
    UserError
        If an entry is wrong, a name is taken, a base graph is unknown, or two different files would be
        downloaded under one name.
    """
    own = validated(Registry, _read_yaml(path), str(path)).root
    added = validated(_OwnDatasets, {"datasets": extra}, origin).datasets
    taken = sorted(own.keys() & added.keys())
    if taken:
        raise UserError(f"{origin}: datasets.{taken[0]}: the name is taken in {path}; choose another")
    datasets = {**own, **added}
    where = {name: f"{path}: {name}" for name in own}
    where |= {name: f"{origin}: datasets.{name}" for name in added}
    _check_parameters(datasets, where)
    _check_bases(datasets, where)
    _check_file_names(datasets, where)
    return datasets


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; it is part of the project and lists the graphs") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{path}:{line}: no valid YAML: {error.problem}") from None


def _check_parameters(datasets: Mapping[str, Dataset], where: Mapping[str, str]) -> None:
    for name, dataset in datasets.items():
        shape = FORMATS[dataset.format].parameters
        validated(shape, dataset.parameters, f"{where[name]}.parameters")


def _check_bases(datasets: Mapping[str, Dataset], where: Mapping[str, str]) -> None:
    for name, dataset in datasets.items():
        base = dataset.extracted_from
        if base is not None and base not in datasets:
            near = nearest(base, list(datasets))
            hint = f"; did you mean {near!r}?" if near else ""
            raise UserError(f"{where[name]}.extracted_from: {base!r} is no dataset{hint}")


def _check_file_names(datasets: Mapping[str, Dataset], where: Mapping[str, str]) -> None:
    """Refuse two files under one name: downloads share a folder."""
    first: dict[str, tuple[str, Dataset]] = {}
    for name, dataset in datasets.items():
        if dataset.file_name is None:
            continue
        other, known = first.setdefault(dataset.file_name, (name, dataset))
        if (known.urls, known.sha256, known.bytes) != (dataset.urls, dataset.sha256, dataset.bytes):
            raise UserError(
                f"{where[name]}.urls: {dataset.file_name} is also the file of {other}, with other urls, "
                "sha256 or bytes; make both the same, or download one by hand and give its path"
            )
