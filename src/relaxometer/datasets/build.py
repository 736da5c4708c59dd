"""Makes the graph or the batch of a dataset and checks it against its entry."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.pins import advice_for_unpinned, pin_of, pinned
from relaxometer.datasets.registry import DataFile, Dataset
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import lengths_for

Reader = Callable[..., Graph | Batch]
"""Makes a graph from its name, its entry, and its data files or the graph that it is extracted from.

Of formats of batches, it makes a batch.
"""

Generator = Callable[[Any, int], Graph]
"""Makes a graph from the parameters of its format and a seed, for formats that need one."""


def build_graph(name: str, dataset: Dataset[Any], *, files: list[Path], base: Graph | None = None) -> Graph:
    """Check the files of a dataset, in the order of ``dataset.files``, and read or generate its graph.

    `base` is the graph named by ``dataset.extracted_from``. The metadata name origin, checksums, terms,
    weight unit, generator, seed and directedness. UserError if the entry is a batch, a file is missing or
    wrong, counts or unit differ from the entry's, or weights have no distances of its type.
    """
    identities = identities_of(files, dataset)
    graph = made_graph(name, dataset, files, base)
    if files:
        _say_doubts(files, graph.metadata)
    metadata = {**identities, **graph.metadata, "directed": not is_symmetric(graph)}
    return replace(graph, metadata=metadata)


def _say_doubts(files: list[Path], metadata: dict[str, Any]) -> None:
    """Say on stderr what the metadata call unknown or unused, in the words of an entry."""
    if "completeness" in metadata:
        why = "its format does not show its end; no sha256 is given"
        print(f"{files[0]}: may be incomplete: {why}", file=sys.stderr)
    if "values_in_file" in metadata:
        advice = "give `weights: {distribution: values}` to use them"
        print(f"{files[-1]}: has values, but weights are 1; {advice}", file=sys.stderr)


def made_graph(name: str, dataset: Dataset[Any], files: list[Path], base: Graph | None = None) -> Graph:
    """Read or generate a graph as :func:`build_graph`, from files that are not hashed."""
    if dataset.is_batch:
        raise UserError(f"{name} is a batch of graphs, not a graph: it is built at results/batches/{name}/")
    make = dataset.kind.load()
    with advice_for_unpinned(dataset, files):
        if dataset.kind.needs == "seed":
            graph = make(dataset.parameters, dataset.seed)
        else:
            graph = make(name, dataset, *([base] if dataset.kind.needs == "extracted_from" else files))
        check_counts(f"graph {name}", graph.n_vertices, graph.n_arcs, dataset)
    _check_unit(name, graph, dataset)
    metadata = {**graph.metadata, **origin_of(dataset)}
    distance_type = dataset.distances or graph.distance_type
    try:
        lengths_for(graph.weights.dtype.name, distance_type)
    except UserError as error:
        raise UserError(f"graph {name}: {error}") from None
    return replace(graph, name=name, metadata=metadata, distance_type=distance_type)


def _check_unit(name: str, graph: Graph, dataset: Dataset[Any]) -> None:
    """Refuse an entry's unit of weights that is not the one that the reader knows.

    A graph that is made from another one has the latter's unit only as a proposal.
    """
    known, given = graph.metadata.get("weight_unit"), dataset.weight_unit
    if dataset.extracted_from is None and known is not None and given not in (None, known):
        raise UserError(
            f"graph {name}: `weight_unit` of its dataset is {quoted(given)}, but its weights are in "
            f"{known!r}; give that, or leave it out"
        )


def build_batch(name: str, dataset: Dataset[Any], *, files: list[Path]) -> Batch:
    """Read or generate the batch of a dataset; its metadata name origin, checksum, terms and generator.

    UserError as of :func:`build_graph`, or if a tool that the format needs is not installed.
    """
    if not dataset.is_batch:
        raise UserError(f"{name} is a graph, not a batch of graphs: it is built at results/graphs/{name}/")
    identities = identities_of(files, dataset)
    read = dataset.kind.load()
    with advice_for_unpinned(dataset, files):
        batch: Batch = read(name, dataset, *files)
        check_counts(f"batch {name}", batch.n_vertices, batch.n_arcs, dataset)
    return replace(batch, name=name, metadata={**identities, **batch.metadata, **origin_of(dataset)})


def identities_of(files: list[Path], dataset: Dataset[Any]) -> dict[str, str]:
    """Return names and SHA-256s of the data files, which must match the entry."""
    found: dict[str, str] = {}
    roles = ["file", str(dataset.kind.companion)]
    for role, file, entry in zip(roles, files, dataset.files, strict=False):
        found |= identify(file, entry, role)
    return found


def identify(file: Path, entry: DataFile, role: str = "file") -> dict[str, str]:
    """Return name and SHA-256 of `file`, whose hash and size must match `entry`: `role` and `role`_sha256."""
    try:
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{file}: not readable ({error.strerror})") from None
    if entry.sha256 and sha256 != entry.sha256:
        raise UserError(
            f"{file}: not the file that the dataset names: sha256 is {sha256}, expected {entry.sha256}"
        )
    size = file.stat().st_size
    if entry.bytes not in (None, size):
        raise UserError(
            f"{file}: {size} bytes, but its dataset promises {entry.bytes}; the file is incomplete or "
            "another one, or `bytes` in the entry is wrong"
        )
    pin = pinned(file) if entry.urls and not entry.sha256 else None
    if pin and sha256 != pin:
        raise UserError(
            f"{file}: not the file that was read first: sha256 is {sha256}, expected {pin}; delete the file "
            f"to fetch it again, or {pin_of(file)} to accept it"
        )
    return {role: file.name, f"{role}_sha256": sha256}


def origin_of(dataset: Dataset[Any]) -> dict[str, Any]:
    """Return the metadata about a dataset's origin for ``graph.json`` or ``batch.json``."""
    known = {
        "format": dataset.format,
        **dataset.texts,
        "weight_unit": dataset.weight_unit,
        "seed": dataset.seed,
        # Defaults, too, since they may change with the version.
        "parameters": dataset.parameters.model_dump(mode="json", exclude_none=True),
        "extracted_from": dataset.extracted_from,
    }
    return {key: value for key, value in known.items() if value not in (None, "", {})}


def is_symmetric(graph: Graph) -> bool:
    """Return whether every arc has a reverse arc of the same weight.

    Metadata of generators that say so are trusted: checking billions of arcs takes minutes.
    """
    if graph.metadata.get("directed") is False:
        return True
    return bool(_is_symmetric(graph.offsets, graph.targets, graph.weights))


@njit(cache=True)
def _is_symmetric(offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> bool:
    # In CSR order, the tails of each head ascend, as the targets in the head's own row do.
    cursors = offsets[:-1].copy()
    for tail in range(len(cursors)):
        for i in range(offsets[tail], offsets[tail + 1]):
            head = targets[i]
            back = cursors[head]
            if back == offsets[head + 1] or targets[back] != tail or weights[back] != weights[i]:
                return False
            cursors[head] += 1
    return True


def check_counts(what: str, n_vertices: int, n_arcs: int, dataset: Dataset[Any]) -> None:
    """Refuse a graph or batch, named `what` in the message, whose counts differ from its entry."""
    counts = ("vertices", dataset.vertices, n_vertices), ("arcs", dataset.arcs, n_arcs)
    for unit, expected, found in counts:
        if expected is not None and found != expected:
            raise UserError(
                f"{what}: {found} {unit}, but its dataset promises {expected}; "
                f"the data has changed, or `{unit}` in the entry is wrong"
            )
