"""The result of a run in Graph500's format: times, edges and rates of its searches.

References
----------
Graph500 specification 3, section 9 (computing and outputting performance information).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Samples = npt.NDArray[np.float64]

FORMAT = "{:20.17e}"


def searches(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the searches of a result: the first proven one from each source."""
    finished = runs[runs["status"] == "ok"].sort_values("repetition", kind="stable")
    return finished.drop_duplicates("source")


def traversed_edges(runs: pd.DataFrame, *, directed: bool) -> pd.Series:
    """Return the input edges in the part of the graph that each search of ``runs.parquet`` reached.

    Parallel edges and self-loops of the edge list count if the graph knows them. If not, an undirected edge
    is two arcs, and an arc of a directed graph is an edge.
    """
    stored = runs["reached_arcs"] if directed else runs["reached_arcs"] // 2
    known = runs["input_edges"] if "input_edges" in runs else pd.Series(np.nan, runs.index)
    return known.astype("float64").fillna(stored.astype("float64"))


def edges_per_second(runs: pd.DataFrame, *, directed: bool) -> pd.Series:
    """Return the traversed edges per second (TEPS) of each search; see :func:`traversed_edges`."""
    return traversed_edges(runs, directed=directed) / (runs["time_ms"] * 1e-3)


def statistics(samples: Samples) -> dict[str, float]:
    """Return the specified statistics of times or edges, shape (n_searches,), float64."""
    return _quartiles(samples) | {"mean": float(samples.mean()), "stddev": _deviation(samples)}


def rate_statistics(rates: Samples) -> dict[str, float]:
    """Return what the benchmark wants to know about rates: their mean is the harmonic one."""
    inverse = 1 / rates
    mean = inverse.mean()
    deviation = _deviation(inverse) / (mean**2 * np.sqrt(max(len(rates) - 1, 1)))
    return _quartiles(rates) | {"harmonic_mean": float(1 / mean), "harmonic_stddev": float(deviation)}


def _quartiles(samples: Samples) -> dict[str, float]:
    names = ("min", "firstquartile", "median", "thirdquartile", "max")
    return dict(zip(names, np.quantile(samples, [0, 0.25, 0.5, 0.75, 1]).tolist(), strict=True))


def _deviation(samples: Samples) -> float:
    return float(samples.std(ddof=1)) if len(samples) > 1 else 0.0


def official_output(runs: pd.DataFrame, graph: dict[str, Any]) -> str:
    """Return the result of a variant on a graph, as the specification's ``output`` prints it.

    `runs` is the variant's ``runs.parquet``, `graph` the content of ``graph.json``. The time of kernel 1, the
    construction of the graph, is not measured, and given as nan. Times of validation are those of the
    certificate.
    """
    chosen = searches(runs)
    directed = bool(graph.get("directed"))
    edges = graph.get("input_edges", graph["arcs"] if directed else graph["arcs"] // 2)
    lines = [
        f"SCALE: {(graph['vertices'] - 1).bit_length()}",
        f"edgefactor: {edges / graph['vertices']:g}",
        f"NBFS: {len(chosen)}",
        "construction_time: nan",
    ]
    if len(chosen):
        seconds = chosen["time_ms"].to_numpy(dtype=np.float64) * 1e-3
        counts = traversed_edges(chosen, directed=directed).to_numpy()
        for name, found in (
            ("time", statistics(seconds)),
            ("nedge", statistics(counts)),
            ("TEPS", rate_statistics(counts / seconds)),
        ):
            lines += [f"bfs_{key}_{name}: {FORMAT.format(value)}" for key, value in found.items()]
        if "certify_ms" in chosen:
            found = statistics(chosen["certify_ms"].to_numpy(dtype=np.float64) * 1e-3)
            lines += [f"bfs_{key}_validate: {FORMAT.format(value)}" for key, value in found.items()]
    return "\n".join(lines) + "\n"
