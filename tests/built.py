"""Graphs built from an entry of the registry, what they hold, and the line that refuses an input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph


def built(
    form: str,
    *files: Path,
    seed: int | None = None,
    entry: dict[str, Any] | None = None,
    base: Graph | None = None,
    **parameters: Any,
) -> Graph:
    """Return the graph `small` of a format, its files and parameters; `entry` has further keys."""
    path = {"path": str(files[0])} if files else {}
    dataset = Dataset(format=form, seed=seed, parameters=parameters, **path, **(entry or {}))
    return build_graph("small", dataset, files=list(files), base=base)


def built_from(
    folder: Path, form: str, content: str | bytes, name: str = "small", **parameters: Any
) -> Graph:
    """Return the graph of a file of this content."""
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return built(form, file, **parameters)


def refusal(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the one line by which a call refuses its input."""
    with pytest.raises(UserError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message


def weights_by_ends(graph: Graph) -> dict[tuple[int, int], Any]:
    """Return the weights of arcs without parallel ones by tail and head."""
    ends = zip(graph.tails.tolist(), graph.targets.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


def weighted_arcs(graph: Graph) -> list[tuple[int, int, Any]]:
    """Return tails, heads and weights of the arcs in CSR order."""
    return list(zip(graph.tails.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))
