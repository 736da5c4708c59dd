"""Readers of GraphML and of node-link JSON, by networkx."""

import io
import json
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import suggestion
from relaxometer.datasets.formats.edge_files import NetworkxParameters
from relaxometer.datasets.readers.edge_weights import weights_of
from relaxometer.datasets.readers.tables import USUAL
from relaxometer.datasets.readers.text import read_bytes
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

Entry = Dataset[NetworkxParameters]


def build_graphml(name: str, dataset: Entry, file: Path) -> Graph:
    """Make the graph of a GraphML file; see :data:`relaxometer.datasets.build.Reader`."""
    return _build(name, dataset, file, lambda nx, content: nx.read_graphml(io.BytesIO(content)))


def build_node_link(name: str, dataset: Entry, file: Path) -> Graph:
    """Make the graph of a node-link JSON file; see :data:`relaxometer.datasets.build.Reader`."""
    return _build(name, dataset, file, _of_json)


def _of_json(nx: Any, content: bytes) -> Any:
    data = json.loads(content)
    # Before networkx 3.4 the edges were called links.
    return nx.node_link_graph(data, edges="edges" if "edges" in data else "links")


def _build(name: str, dataset: Entry, path: Path, read: Any) -> Graph:
    try:
        import networkx as nx
    except ImportError:
        raise UserError(f"{path}: format {dataset.format!r} needs networkx: pip install networkx") from None
    content = read_bytes(path)
    try:
        graph = read(nx, content)
    except Exception as error:  # of damaged files, networkx raises whatever its lookups raise
        reason = quoted(f"{type(error).__name__}: {error}")
        raise UserError(f"{path}: networkx cannot read it as {dataset.format} ({reason})") from None
    nodes = list(graph)
    numbers = {node: number for number, node in enumerate(nodes)}
    edges = list(graph.edges(data=dataset.parameters.weight))
    tails, heads = (np.array([numbers[edge[end]] for edge in edges], np.int64) for end in (0, 1))
    values = _values(path, edges, dataset.parameters.weight)
    if values is None and edges and "weight" in dataset.parameters.model_fields_set:
        raise UserError(f"{path}: {no_edge_has(dataset.parameters.weight, graph)}")
    directed = graph.is_directed()
    weights = weights_of(path, dataset.parameters, tails, heads, values, directed=directed)
    options = {
        "undirected": not directed,
        "ids": _ids(path, nodes),
        "metadata": {"edges_in_file": len(edges)},
    }
    return typed_graph(name, len(nodes), tails, heads, weights, **options)


def no_edge_has(attribute: str, graph: Any) -> str:
    """Say that no edge of a networkx graph has an attribute, and which one may be meant."""
    known = sorted({str(name) for *_, data in graph.edges(data=True) for name in data})
    has = f"the edges have {quoted(', '.join(known))}" if known else "the edges have no attributes"
    return f"no edge has the attribute {quoted(attribute)}{suggestion(attribute, known, has)}"


def usable_weights(graph: Any) -> list[str]:
    """Return, in quotes, the attributes that are a number on every edge; usual names come first."""
    edges = [data for *_, data in graph.edges(data=True)]
    names = [name for name in edges[0] if all(_is_number(data.get(name)) for data in edges)]
    return [quoted(name) for name in sorted(names, key=lambda name: (name not in USUAL["weight"], str(name)))]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _values(path: Path, edges: list[Any], weight: str) -> Any:
    """Return the weights of all edges as float64; None if no edge has one."""
    given = [edge[2] for edge in edges]
    if all(one is None for one in given):
        return None
    for edge, one in zip(edges, given, strict=True):
        if type(one) not in (int, float) or abs(one) > 1e308:
            of = f"attribute {weight!r} of edge {quoted(edge[:2])} is {quoted(one)}"
            raise UserError(f"{path}: {of}; expected a number (`weight` names another attribute)")
    return np.array(given, np.float64)


def _ids(path: Path, nodes: list[Any]) -> pa.Array:
    """Return the nodes as numbers of 64 bits if all are, otherwise as texts."""
    if all(type(node) is int and -(2**63) <= node < 2**63 for node in nodes):
        return pa.array(nodes, pa.int64())
    texts = [str(node) for node in nodes]
    if len(set(texts)) < len(texts):
        raise UserError(
            f"{path}: two nodes have the same name, one as a number and one as a text; rename one"
        )
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise UserError(f"{path}: the name of a node is not UTF-8 ({error})") from None
