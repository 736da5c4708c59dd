"""Makes the batch of a dataset and checks it against its entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import check_counts, identities_of, origin_of
from relaxometer.datasets.pins import advice_for_unpinned
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Batch

BatchReader = Callable[[str, Dataset[Any], list[Path]], Batch]
"""Makes a batch from its name, its entry and its data files."""


def build_batch(name: str, dataset: Dataset[Any], *, files: list[Path]) -> Batch:
    """Read or generate the batch of a dataset; its metadata name origin, checksum, terms and generator.

    Raises
    ------
    UserError
        If the entry is a single graph, a file is missing or wrong, a tool that the format needs is not
        installed, or the counts differ from the entry's.
    """
    if not dataset.is_batch:
        raise UserError(f"{name} is a graph, not a batch of graphs: it is built at results/graphs/{name}/")
    identities = identities_of(files, dataset)
    read: BatchReader = dataset.kind.load()
    with advice_for_unpinned(dataset, files):
        batch = read(name, dataset, files)
        check_counts(f"batch {name}", batch.n_vertices, batch.n_arcs, dataset)
    return replace(batch, name=name, metadata={**identities, **batch.metadata, **origin_of(dataset)})
