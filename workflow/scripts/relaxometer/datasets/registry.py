"""The registry of datasets: what ``resources/datasets.yaml`` and a config's own ``datasets`` may say.

Snakemake imports this module each time it parses the workflow, so it loads no reader and no numerics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    RootModel,
    field_validator,
    model_validator,
)

from relaxometer.core.errors import UserError
from relaxometer.core.validation import nearest, validated

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Url = Annotated[str, Field(pattern=r"^https?://[^/]+/.*[^/]$")]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
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


WeightRange = tuple[NonNegativeInt, Annotated[int, Field(le=2**32 - 2)]]
"""The least and the largest weight."""


def _ordered(values: tuple[int, int]) -> tuple[int, int]:
    if values[0] > values[1]:
        raise ValueError("the first must not be above the second")
    return values


def _with_logarithms(values: tuple[int, int]) -> tuple[int, int]:
    if not 0 < values[0] < values[1]:
        raise ValueError("log-uniform weights need a range that begins above 0 and ends above that")
    return values


class Unit(Section):
    """Every weight is 1."""

    distribution: Literal["unit"] = "unit"


class LogUniform(Section):
    """Integer weights, drawn with probabilities in proportion to their inverse.

    Parameters
    ----------
    range : tuple of two int
        The least weight, and the one that all stay below.
    seed : int, default=1
    """

    distribution: Literal["log-uniform"]
    range: Annotated[WeightRange, AfterValidator(_with_logarithms)]
    seed: NonNegativeInt = 1


class LogNormal(Section):
    """Weights whose logarithms are normally distributed, rounded and at least 1.

    Parameters
    ----------
    mu, sigma : float
        Mean and standard deviation of the natural logarithm.
    seed : int, default=1
    """

    distribution: Literal["lognormal"]
    mu: float = Field(allow_inf_nan=False)
    sigma: PositiveFloat = Field(allow_inf_nan=False)
    seed: NonNegativeInt = 1


class Values(Section):
    """The values of the file itself.

    Parameters
    ----------
    scale : float, default=1
        They are multiplied by this and rounded to integers.
    """

    distribution: Literal["values"]
    scale: PositiveFloat = Field(1, allow_inf_nan=False)


class TopologyParameters(Section):
    """Parameters of the format ``topology``.

    Parameters
    ----------
    weights : Unit, LogUniform or LogNormal
    """

    weights: Unit | LogUniform | LogNormal = Field(Unit(), discriminator="distribution")


class MatrixParameters(Section):
    """Parameters of the format ``matrix-market``.

    Parameters
    ----------
    weights : Unit, LogUniform, LogNormal or Values
    banner : str, optional
        Field and symmetry of a file whose first line does not say them, such as ``pattern symmetric``.
    """

    weights: Unit | LogUniform | LogNormal | Values = Field(Unit(), discriminator="distribution")
    banner: str | None = Field(None, pattern="^(pattern|integer|real) (general|symmetric)$")


class EdgeListParameters(Section):
    """Parameters of the format ``edge-list``.

    Parameters
    ----------
    weights : Unit, LogUniform, LogNormal or Values
    directed : bool, default=False
        Whether a line is an arc rather than an edge.
    """

    weights: Unit | LogUniform | LogNormal | Values = Field(Unit(), discriminator="distribution")
    directed: bool = False


class Graph500EdgesParameters(Section):
    """Parameters of the format ``graph500-edges``.

    Parameters
    ----------
    scale : int
        The graph has two to the power of this vertices.
    weights : Unit, LogUniform, LogNormal or Values
        The values are those of the entry's file `edge_weights`.
    """

    scale: int = Field(ge=1, le=31)
    weights: Unit | LogUniform | LogNormal | Values = Field(Unit(), discriminator="distribution")


class OsmParameters(Section):
    """Parameters of the format ``osm-pbf``.

    Parameters
    ----------
    classes : {"arterial", "drive", "all"}
        Which highways: those from motorways to tertiary roads; also the smaller ones that cars may use; also
        tracks, paths and steps.
    oneway : {"ignore", "respect"}
        Whether one-way roads lead both ways, as for those who walk.
    metres_per_minute : float, default=80
        Speed on roads; the customary one of walkers in Japan.
    railways : bool, default=False
        Whether to add railways, and walks from their stops to the nearest junction.
    rail_km_per_hour : float, default=35
        Speed on them.
    box : Box, optional
        What lies outside is left out.
    polygon : list of (longitude, latitude), optional
        The same with a polygon.
    """

    classes: Literal["arterial", "drive", "all"] = "all"
    oneway: Literal["ignore", "respect"] = "ignore"
    metres_per_minute: PositiveFloat = Field(80, allow_inf_nan=False)
    railways: bool = False
    rail_km_per_hour: PositiveFloat = Field(35, allow_inf_nan=False)
    box: Box | None = None
    polygon: list[tuple[float, float]] | None = Field(None, min_length=3)


class RailwayParameters(Section):
    """Parameters of the format ``ksj-n02``.

    Parameters
    ----------
    km_per_hour : float, default=35
        Speed on all lines; weights are travel times in milliseconds.
    """

    km_per_hour: PositiveFloat = Field(35, allow_inf_nan=False)


VertexCount = Annotated[int, Field(ge=1, lt=2**32)]


def _check_ids(n_vertices: int) -> None:
    if n_vertices >= 2**32:
        raise ValueError(f"that makes up to {n_vertices} vertices; ids have 32 bits")


class Weights(Section):
    """Integer weights of a generated graph.

    Parameters
    ----------
    distribution : {"unit", "uniform", "log-uniform"}, default="uniform"
        All 1; every integer of the range alike; or every order of magnitude alike.
    range : tuple of two int, default=(1, 255)
        The least and the largest weight; a log-uniform weight stays below the largest.
    """

    distribution: Literal["unit", "uniform", "log-uniform"] = "uniform"
    range: Annotated[WeightRange, AfterValidator(_ordered)] = (1, 255)

    @model_validator(mode="after")
    def _has_logarithms(self) -> Weights:
        if self.distribution == "log-uniform":
            _with_logarithms(self.range)
        return self


class Graph500Parameters(Section):
    """Parameters of the format ``graph500``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    edge_factor : int, default=16
        Edges per vertex in the edge list, before self-loops are dropped and parallel edges merged.
    user_seeds : tuple of two int, default=(2, 3)
        The benchmark's own.
    weight_range : tuple of two int, default=(1, 255)
        The integers that the benchmark's weights, from 0 to 1, are spread over.
    keep_parallel : bool, default=False
        Whether parallel edges stay; otherwise they are merged to the lightest.
    """

    scale: int = Field(ge=1, le=31)
    edge_factor: PositiveInt = 16
    user_seeds: tuple[Seed, Seed] = (2, 3)
    weight_range: Annotated[WeightRange, AfterValidator(_ordered)] = (1, 255)
    keep_parallel: bool = False


class RmatParameters(Section):
    """Parameters of the format ``rmat``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    edge_factor : int, default=16
        Edges per vertex before self-loops are dropped and parallel arcs merged; 16 undirected edges make a
        mean degree of 32.
    a, b, c, d : float, default=0.57, 0.19, 0.19, 0.05
        Probabilities of the quadrants; their sum is 1.
    undirected : bool, default=True
    weights : Weights
    """

    scale: int = Field(ge=1, le=31)
    edge_factor: PositiveInt = 16
    a: float = Field(0.57, ge=0)
    b: float = Field(0.19, ge=0)
    c: float = Field(0.19, ge=0)
    d: float = Field(0.05, ge=0)
    undirected: bool = True
    weights: Weights = Weights()

    @model_validator(mode="after")
    def _has_four_quadrants(self) -> RmatParameters:
        total = self.a + self.b + self.c + self.d
        if abs(total - 1) > 1e-9:
            raise ValueError(f"a, b, c and d must add up to 1, not {total:g}")
        return self


class UniformRandomParameters(Section):
    """Parameters of the format ``uniform-random``.

    Parameters
    ----------
    vertices : int
    mean_degree : float
        Arcs per vertex before self-loops are dropped and parallel arcs merged.
    undirected : bool, default=True
    weights : Weights
    """

    vertices: VertexCount
    mean_degree: float = Field(ge=0)
    undirected: bool = True
    weights: Weights = Weights()


class GridParameters(Section):
    """Parameters of the format ``grid``.

    Parameters
    ----------
    rows, columns : int
    weights : Weights
    """

    rows: PositiveInt
    columns: PositiveInt
    weights: Weights = Weights()

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> GridParameters:
        _check_ids(self.rows * self.columns)
        return self


class ShapeParameters(Section):
    """Parameters of the formats ``chain``, ``star``, ``complete`` and ``binary-tree``.

    Parameters
    ----------
    vertices : int
    weights : Weights
    """

    vertices: VertexCount
    weights: Weights = Weights()


class RoadParameters(GridParameters):
    """Parameters of the format ``road-like``.

    Parameters
    ----------
    rows, columns : int
        Of the grid of junctions.
    mean_degree : float, default=2.7
        Arcs per junction.
    diagonals : float, default=0.06
        Share of the grid's cells with a diagonal.
    jitter : float, default=0.35
        How far a junction may be from its place in the grid, in cells.
    pieces : int, default=1
        Pieces that each road is cut into by further vertices of degree 2.
    weights : Weights
        Log-uniform from 10 to 970,000 by default: the weights of a real map in milliseconds.
    """

    mean_degree: float = Field(2.7, ge=0)
    diagonals: float = Field(0.06, ge=0, le=1)
    jitter: float = Field(0.35, ge=0, lt=0.5)
    pieces: PositiveInt = 1
    weights: Weights = Weights(distribution="log-uniform", range=(10, 970_000))

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> RoadParameters:
        # The grid and its diagonals offer at most three edges for each junction.
        _check_ids(self.rows * self.columns * (1 + 3 * (self.pieces - 1)))
        return self


class FlowRandomParameters(Section):
    """Parameters of the format ``flow-random``.

    Parameters
    ----------
    vertices : int
    branches, loops, gotos : float, default=0.5, 0.15, 0.01
        Arcs per vertex that lead forward, back, and anywhere: gotos enter loops past their heads.
    reach : int, default=40
        How far branches and loops lead, in vertices.
    """

    vertices: VertexCount
    branches: float = Field(0.5, ge=0)
    loops: float = Field(0.15, ge=0)
    gotos: float = Field(0.01, ge=0)
    reach: PositiveInt = 40


class LadderParameters(Section):
    """Parameters of the format ``ladder``.

    Parameters
    ----------
    rungs : int
    closed : bool, default=False
        Whether the rails lead both ways and the root to their far ends too, without rungs: a ring, round
        which local fixed points move by one vertex a round.
    """

    rungs: PositiveInt
    closed: bool = False

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> LadderParameters:
        _check_ids(1 + 2 * self.rungs)
        return self


class ListedArcsParameters(Section):
    """Parameters of the format ``listed-arcs``.

    Parameters
    ----------
    vertices : int
    arcs : list of (tail, head)
        Each of weight 1.
    """

    vertices: VertexCount
    arcs: list[tuple[NonNegativeInt, NonNegativeInt]]


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
    companion : str, optional
        Key of a second file that an entry may have.
    batch : bool
        Whether the reader makes a batch of small flow graphs instead of a graph.
    """

    reader: tuple[str, str]
    needs: str | None = None
    parameters: type[BaseModel] = NoParameters
    companion: str | None = None
    batch: bool = False


FORMATS = {
    "dimacs": Format(("readers.dimacs", "build"), needs="file", companion="coordinates"),
    "edge-list": Format(("readers.text_edges", "build"), needs="file", parameters=EdgeListParameters),
    "graph500-edges": Format(
        ("readers.graph500_edges", "build"),
        needs="file",
        parameters=Graph500EdgesParameters,
        companion="edge_weights",
    ),
    "highways": Format(("readers.highways", "build"), parameters=HighwayParameters),
    "kanto-like": Format(("generators.kanto", "build"), needs="seed"),
    "kanto-like-main": Format(("generators.kanto", "build_main_roads"), needs="extracted_from"),
    "ksj-n02": Format(("readers.ksj_n02", "build"), needs="file", parameters=RailwayParameters),
    "matrix-market": Format(("readers.matrix_market", "build"), needs="file", parameters=MatrixParameters),
    "osm-pbf": Format(("readers.osm_pbf", "build"), needs="file", parameters=OsmParameters),
    "topology": Format(("readers.topology", "build"), needs="file", parameters=TopologyParameters),
    "graph500": Format(("generators.graph500_device", "build"), parameters=Graph500Parameters),
    "rmat": Format(("generators.rmat", "build"), needs="seed", parameters=RmatParameters),
    "uniform-random": Format(
        ("generators.uniform_random", "build"), needs="seed", parameters=UniformRandomParameters
    ),
    "grid": Format(("generators.shapes", "build_grid"), needs="seed", parameters=GridParameters),
    "chain": Format(("generators.shapes", "build_chain"), needs="seed", parameters=ShapeParameters),
    "star": Format(("generators.shapes", "build_star"), needs="seed", parameters=ShapeParameters),
    "complete": Format(("generators.shapes", "build_complete"), needs="seed", parameters=ShapeParameters),
    "binary-tree": Format(
        ("generators.shapes", "build_binary_tree"), needs="seed", parameters=ShapeParameters
    ),
    "road-like": Format(("generators.roads", "build"), needs="seed", parameters=RoadParameters),
    "flow-random": Format(
        ("generators.flow_graphs", "build_random"), needs="seed", parameters=FlowRandomParameters
    ),
    "ladder": Format(("generators.flow_graphs", "build_ladder"), parameters=LadderParameters),
    "listed-arcs": Format(("generators.flow_graphs", "build_listed"), parameters=ListedArcsParameters),
    "c-cfgs": Format(("readers.c_cfgs", "build"), needs="file", parameters=CCfgParameters, batch=True),
    "python-cfgs": Format(("readers.python_cfgs", "build"), parameters=PythonCfgParameters, batch=True),
}
"""The formats by name."""

_COMPANIONS = ("coordinates", "edge_weights")
"""The keys of second files."""


class SourceFile(Section):
    """A file: where it can be had, and what it must be.

    Parameters
    ----------
    urls : list of str
        Where it can be had, tried in order; an entry may say `url` for a single one.
    file : str, optional
        Its name among the downloads and in mirrors, where the end of the first URL does not serve.
    path : str, optional
        A file on this machine instead of a download.
    sha256 : str, optional
        Of the file as downloaded. Without it, the first download fixes it.
    bytes : int, optional
        Size of that file.
    """

    urls: list[Url] = []
    file: str | None = Field(None, pattern=r"^[^/]+$")
    path: str | None = None
    sha256: Sha256 | None = None
    bytes: PositiveInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_a_single_url(cls, entry: Any) -> Any:
        if isinstance(entry, Mapping) and "url" in entry:
            if "urls" in entry:
                raise ValueError("give `url` or `urls`, not both")
            rest = {key: value for key, value in entry.items() if key != "url"}
            return {**rest, "urls": [entry["url"]]}
        return entry

    @model_validator(mode="after")
    def _is_in_one_place(self) -> SourceFile:
        if self.path and self.urls:
            raise ValueError("give `path` or `urls`, not both")
        return self

    @property
    def file_name(self) -> str | None:
        """Name of the file to download; None if nothing is downloaded."""
        if not self.urls:
            return None
        return self.file or unquote(PurePosixPath(urlsplit(self.urls[0]).path).name)

    def as_download(self) -> dict[str, Any]:
        """Return what a download needs to know, as plain data."""
        return self.model_dump(include=set(SourceFile.model_fields))


class CompanionFile(SourceFile):
    """A second file of a dataset."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> CompanionFile:
        if not (self.path or self.urls):
            raise ValueError("needs `path` or `urls`")
        return self


class Dataset(SourceFile):
    """A graph or a batch of graphs: where it comes from, under which terms, and what must come out.

    Parameters
    ----------
    format : str
        One of `FORMATS`.
    description : str
    urls, file, path, sha256, bytes
        Its file; see :class:`SourceFile`.
    coordinates : CompanionFile, optional
        The file that places the vertices.
    edge_weights : CompanionFile, optional
        The file of a number for every edge.
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
    coordinates: CompanionFile | None = None
    edge_weights: CompanionFile | None = None
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
        for key in _COMPANIONS:
            if getattr(self, key) and key != FORMATS[self.format].companion:
                raise ValueError(f"format {self.format!r} takes no `{key}`")
        return self

    @property
    def files(self) -> list[SourceFile]:
        """The files that the graph is made from, the entry's own first."""
        own = [self] if self.path or self.urls else []
        return [*own, *filter(None, (getattr(self, key) for key in _COMPANIONS))]

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
    first: dict[str, tuple[str, SourceFile]] = {}
    for name, file in ((name, file) for name, dataset in datasets.items() for file in dataset.files):
        if file.file_name is None:
            continue
        other, known = first.setdefault(file.file_name, (name, file))
        if (known.urls, known.sha256, known.bytes) != (file.urls, file.sha256, file.bytes):
            raise UserError(
                f"{where[name]}.urls: {file.file_name} is also the file of {other}, with other urls, "
                "sha256 or bytes; make both the same, or download one by hand and give its path"
            )
