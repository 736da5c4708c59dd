"""From an entry of the registry to its graph, checked against what the entry promises."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.datasets.registry import FORMATS, Dataset
from relaxometer.errors import UserError
from relaxometer.graph import Graph

Reader = Callable[[str, Dataset, list[Path], Graph | None], Graph]
"""Makes a graph out of its name, its entry, the files that the entry names, and the graph it is a part of."""


def build_graph(name: str, dataset: Dataset, *, files: list[Path], base: Graph | None = None) -> Graph:
    """Read or generate the graph of a dataset.

    Parameters
    ----------
    name : str
        What the graph is called from here on.
    dataset : Dataset
    files : list of Path
        The downloaded or given file, for formats that need one.
    base : Graph, optional
        The graph named by ``dataset.extracted_from``.

    Returns
    -------
    Graph
        With metadata: origin, checksum, terms, weight unit, generator and seed, whether it is directed.

    Raises
    ------
    UserError
        If the entry is one of a batch, a file is missing or wrong, or the counts differ from those of the
        entry.
    """
    if dataset.is_batch:
        raise UserError(f"{name} is a batch of graphs, not a graph: it is built at results/batches/{name}/")
    reader: Reader = reader_of(dataset)
    graph = reader(name, dataset, files, base)
    metadata = {**graph.metadata, **origin_of(dataset), "directed": not is_symmetric(graph)}
    graph = replace(graph, name=name, metadata=metadata)
    check_counts(f"graph {name}", graph.n_vertices, graph.n_arcs, dataset)
    return graph


def reader_of(dataset: Dataset) -> Any:
    """Return the function that makes what the dataset's format is about."""
    module, function = FORMATS[dataset.format].reader
    return getattr(importlib.import_module(f"relaxometer.datasets.{module}"), function)


def identify(file: Path, dataset: Dataset) -> dict[str, str]:
    """Return name and SHA-256 of `file`, which must be the one that the entry names."""
    try:
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{file}: not readable ({error.strerror})") from None
    if dataset.sha256 and sha256 != dataset.sha256:
        raise UserError(
            f"{file}: not the file that the dataset names: sha256 is {sha256}, expected {dataset.sha256}"
        )
    return {"file": file.name, "file_sha256": sha256}


def origin_of(dataset: Dataset) -> dict[str, Any]:
    """Return what ``graph.json`` or ``batch.json`` says about the origin of a dataset."""
    known = {
        "format": dataset.format,
        "description": dataset.description,
        "origin": dataset.urls or dataset.homepage or dataset.path,
        "license": dataset.license,
        "attribution": dataset.attribution,
        "citation": dataset.citation,
        "weight_unit": dataset.weight_unit,
        "seed": dataset.seed,
        "parameters": dataset.parameters,
        "extracted_from": dataset.extracted_from,
    }
    return {key: value for key, value in known.items() if value not in (None, "", {})}


def is_symmetric(graph: Graph) -> bool:
    """Tell whether every arc has a counterpart of the same weight in the other direction."""
    sources, targets = graph.sources, graph.targets
    # CSR order is by source, then target; listing the reversed arcs in that order must give the same arcs.
    order = np.lexsort((sources, targets))
    return (
        np.array_equal(targets[order], sources)
        and np.array_equal(sources[order], targets)
        and np.array_equal(graph.weights[order], graph.weights)
    )


def check_counts(what: str, n_vertices: int, n_arcs: int, dataset: Dataset) -> None:
    """Refuse what was built if it has other counts than its entry promises.

    Parameters
    ----------
    what : str
        Kind and name of what was built, for the message.
    n_vertices, n_arcs : int
    dataset : Dataset
    """
    for unit, expected, found in (
        ("vertices", dataset.vertices, n_vertices),
        ("arcs", dataset.arcs, n_arcs),
    ):
        if expected is not None and found != expected:
            raise UserError(
                f"{what}: {found} {unit}, but its dataset promises {expected}; "
                f"the data has changed, or `{unit}` in the entry is wrong"
            )
