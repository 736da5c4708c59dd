"""Reader of the world's highways in the package scgraph-data (OpenStreetMap content)."""

import importlib.util
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from relaxometer.core.environment import how_to_install
from relaxometer.core.errors import UserError
from relaxometer.datasets.build import identify
from relaxometer.datasets.formats.maps import HighwayParameters
from relaxometer.datasets.parameters import FLOATS
from relaxometer.datasets.readers.contraction import travel_times, unit_of_times
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

_MODULE = "scgraph_data.world_highways"
_PACKAGE = "scgraph-data"

METRES_PER_KM = 1000


def build(name: str, dataset: Dataset[HighwayParameters]) -> Graph:
    """Make the graph inside the entry's box; see :data:`relaxometer.datasets.build.Reader`."""
    identity = identify(_data_file(), dataset)
    graph = read_highways(name, dataset.parameters)
    graph.metadata.update(identity)
    return graph


def _data_file() -> Path:
    """Return the file of the installed package that holds the graph."""
    # The lookup imports the parent package, so that must be installed.
    spec = importlib.util.find_spec(_MODULE) if importlib.util.find_spec("scgraph_data") else None
    if spec is None or spec.origin is None:
        how = how_to_install(_PACKAGE)
        raise UserError(f"the package scgraph-data, which holds the world's highways, is missing{how}")
    return Path(spec.origin)


def read_highways(name: str, parameters: HighwayParameters) -> Graph:
    """Return the largest connected part of the highways inside a box; integer weights are at least 1.

    UserError if the package is missing or has another form, or the box is empty.
    """
    adjacency, positions = _world(_data_file())
    graph = highways_inside(name, adjacency, positions, parameters)
    graph.metadata["package"] = f"{_PACKAGE} {version(_PACKAGE)}"
    return graph


class _Adjacency:
    """Neighbours and their distances by vertex, parsed when asked for: most of the world is outside a box."""

    def __init__(self, rows: str) -> None:
        self._rows = rows.removeprefix("{").removesuffix("}").split("}, {")

    def __getitem__(self, vertex: int) -> Mapping[int, float]:
        pairs = (pair.split(": ") for pair in self._rows[vertex].split(", ") if pair)
        return {int(neighbour): float(km) for neighbour, km in pairs}


def _world(file: Path) -> tuple[_Adjacency, list[list[float]]]:
    """Return the neighbours and the positions of all vertices.

    They are two literals in the source of a module, which is read as text: to import it takes a minute the
    first time, since Python compiles 36 MB.
    """
    lists = dict(re.findall(r"^(graph|nodes) ?= ?\[(.*)\]$", file.read_text(encoding="utf-8"), re.MULTILINE))
    try:
        return _Adjacency(lists["graph"]), json.loads(f"[{lists['nodes']}]")
    except (KeyError, ValueError):
        how = how_to_install(_PACKAGE)
        raise UserError(f"{file}: its form is unknown; expected {_PACKAGE} 2{how}") from None


def highways_inside(
    name: str,
    adjacency: _Adjacency | Sequence[Mapping[int, float]],
    positions: Sequence[Sequence[float]],
    parameters: HighwayParameters,
) -> Graph:
    """Return the largest component of the vertices inside the box of `parameters`.

    `adjacency` has for every vertex its neighbours and their distances in kilometres, `positions` latitude
    and longitude.
    """
    box, weight_type = parameters.box, parameters.weights.type
    lat, lon = np.array(positions, dtype=np.float64).T
    inside = (lat >= box.south) & (lat <= box.north) & (lon >= box.west) & (lon <= box.east)
    kept = np.flatnonzero(inside).tolist()
    if not kept:
        raise UserError(f"graph {name}: no highway lies inside the box {box}; widen it")
    rows = [adjacency[vertex] for vertex in kept]
    degrees = [len(row) for row in rows]
    heads = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int64, count=sum(degrees))
    lengths = itertools.chain.from_iterable(row.values() for row in rows)
    km = np.fromiter(lengths, dtype=np.float64, count=sum(degrees))
    # At this speed a time is a length. The data is rounded to metres as well: some lengths would be zero.
    length_speed = 1 if weight_type in FLOATS else 1000
    speed = parameters.km_per_hour / 3.6 if parameters.km_per_hour else length_speed
    weights = travel_times(km * METRES_PER_KM, speed, weight_type)
    tails = np.repeat(np.arange(len(kept)), degrees)
    new_id = np.cumsum(inside) - 1
    stay = inside[heads]
    return Graph.from_arcs(
        name,
        len(kept),
        tails[stay],
        new_id[heads[stay]],
        weights[stay],
        lon=lon[kept],
        lat=lat[kept],
        weight_type=weight_type,
        metadata=unit_of_times(weight_type) if parameters.km_per_hour else {"weight_unit": "m"},
    ).largest_component()
