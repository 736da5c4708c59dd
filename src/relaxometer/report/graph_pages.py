"""HTML pages of a graph and of a batch of flow graphs: figures, and numbers compared with the papers'."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relaxometer.graphs.batch import SIZE_LIMITS
from relaxometer.graphs.degrees import BLOCK_OF_128, WARP
from relaxometer.report.figures.graphs import TABLE_1, percent, types_of
from relaxometer.report.pages import image, table
from relaxometer.report.templates import render

Row = tuple[str, ...]

SHOWN_ABOVE = {
    *("name", "description", "directed", "vertices", "arcs", "graphs", "mean_degree", "max_degree"),
    *("mean_weight", "sd_weight", "min_weight", "median_weight", "max_weight"),
    *("weight_unit", "weight_type", "distance_type", "components", "largest_component", "isolated"),
    *("isolated_vertices", "arcs_per_vertex", "largest_graph", "share_with_loops", "share_irreducible"),
}
"""Keys that have their own lines; the others say how the graph was made."""

FIRST = ("origin", "license", "attribution", "citation", "format", "parameters", "seed")

SWEEP_NOTE = (
    "The hop diameter is the largest distance in arcs, in either direction, between two vertices of the "
    "largest component. Three breadth-first searches bound it: from the vertex of largest degree; from a "
    "vertex that this one finds last; and from the middle of the longest path of the second. The second's "
    "depth is the lower bound; twice the smaller depth of the other two is the upper bound."
)

DEGREES = (
    "Share of the vertices by degree; outgoing and incoming arcs are shown separately if they may differ."
)
WEIGHTS = "For each weight, the share of the arcs with at most this weight."
HOPS = (
    "Distance of each road, in arcs, from the black star, one end of the path that bounds the hop diameter. "
    "Grey roads are in other components. Roads are drawn as straight lines between vertices."
)
SIZES = (
    "Left: for each size, the share of the graphs with at most that many blocks, and the share of all blocks "
    "in these graphs. Right: the number of edges that leave and enter a block."
)


def graph_page(
    description: Mapping[str, Any], degrees: str | Path, weights: str | Path, hops: str | Path | None
) -> str:
    """Return the page of a graph from :func:`relaxometer.graphs.describe.describe_graph`.

    It embeds the files of figures; `hops` is the map, if the graph has coordinates.
    """
    name = description["name"]
    return render(
        "graph",
        title=name,
        description=description.get("description", ""),
        outline=table(_outline(description), ("", name, "Suzuki et al., table 1")),
        degree_shares=table(_degrees(description), ("", name, "Hirakushi and Takahashi")),
        degrees=image(degrees, DEGREES),
        weights=image(weights, WEIGHTS),
        components=table(_components(description)),
        note=SWEEP_NOTE,
        hops=image(hops, HOPS) if hops else "",
        origin=table(_origin(description)),
    )


def _outline(description: Mapping[str, Any]) -> list[Row]:
    """Return the rows of table 1 of Suzuki et al., and more about the weights."""
    rows: list[Row] = [
        (label, _number(description[key]), _number(theirs)) for key, (label, theirs, _) in TABLE_1.items()
    ]
    weights = (_number(description[f"{key}_weight"]) for key in ("min", "median", "max"))
    return [
        *rows,
        ("Lightest, median, heaviest arc", ", ".join(weights), "10, not given, 1,000,000"),
        ("Unit of weights", description.get("weight_unit", "not given"), "not given"),
        ("Type of weights", types_of(description) or "uint32", "not given"),
        ("Symmetric", "no" if description.get("directed", True) else "yes", "not given"),
    ]


def _degrees(description: Mapping[str, Any]) -> list[Row]:
    """Return the shares of the vertices that some kernels expand by a warp or a block of threads."""
    share, of_arcs = description["share_above"], description["arc_share_above"]
    of_block = f"Vertices with more than {BLOCK_OF_128} arcs (over {WARP} in each of 128 processes)"
    rows: list[Row] = [
        ("Most outgoing arcs of a vertex", f"{description['max_degree']:,}", "not given"),
        (f"Vertices with more than {WARP} arcs, the width of a warp", percent(share[str(WARP)]), "about 10%"),
        ("Share of all arcs that leave these", percent(of_arcs[str(WARP)]), "not given"),
        (of_block, percent(share[str(BLOCK_OF_128)]), "about 0.8%"),
    ]
    if "in_degrees" in description:
        most = description["in_degrees"]["value"][-1:]
        rows.insert(1, ("Most incoming arcs of a vertex", f"{max(most, default=0):,}", "not given"))
    return rows


def _components(description: Mapping[str, Any]) -> list[Row]:
    vertices, bounds = description["vertices"], description["hop_diameter"]
    ends = " and ".join(map(str, description.get("far_apart", ())))
    between = f"between {bounds['low']:,} and {bounds['high']:,}"
    return [
        ("Weakly connected components", f"{description['components']:,}"),
        ("Vertices in the largest component", _of_all(description["largest_component"], vertices)),
        ("Isolated vertices", _of_all(description["isolated"], vertices)),
        ("Hop diameter", f"{bounds['low']:,}" if bounds["low"] == bounds["high"] else between),
        *([("The lower bound is the distance between", ends)] if ends else []),
    ]


def _of_all(count: int, total: int) -> str:
    return f"{count:,} ({percent(count / max(total, 1))})"


def _origin(description: Mapping[str, Any]) -> list[Row]:
    simple = {
        key: value
        for key, value in description.items()
        if key not in SHOWN_ABOVE and (key in FIRST or isinstance(value, str | int | float))
    }
    order = [key for key in FIRST if key in simple] + [key for key in simple if key not in FIRST]
    return [(_label(key), _in_words(simple[key])) for key in order]


def _label(key: str) -> str:
    words = key.replace("_", " ").replace("license", "licence")
    return words[0].upper() + words[1:]


def _in_words(value: Any) -> str:
    """Format a value of the metadata; of several addresses, the first."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return _in_words(value[0]) if str(value[0]).startswith("http") else ", ".join(map(str, value))
    return f"{value:,}" if type(value) is int else str(value)


def _number(value: float) -> str:
    """Format a number, with one decimal if it is small and not whole, and in three digits if it is tiny."""
    if 0 < abs(value) < 1 or abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.1f}"


def batch_page(description: Mapping[str, Any], sizes: str | Path) -> str:
    """Return the page of a batch from :func:`relaxometer.graphs.describe.describe_batch`, and its figure."""
    return render(
        "batch",
        title=description["name"],
        description=description.get("description", ""),
        outline=table(_batch_outline(description)),
        sizes=image(sizes, SIZES),
        origin=table(_origin(description)),
    )


def _batch_outline(description: Mapping[str, Any]) -> list[Row]:
    sizes, degrees = description["sizes"], description["degrees"]
    quantiles = [f"{sizes['quantiles'][q]:,}" for q in ("0.5", "0.9", "0.99") if sizes["quantiles"]]
    largest, at_most = f"{sizes['max']:,}, of {description['largest_graph']}", sizes["share_at_most"]
    most_in = max(description["in_degree_counts"]["value"], default=0)
    return [
        ("Graphs", f"{description['graphs']:,}"),
        ("Blocks", f"{description['vertices']:,}"),
        ("Edges", f"{description['arcs']:,}"),
        ("Edges per block", f"{description['arcs_per_vertex']:.2f}"),
        ("Blocks per graph: minimum, mean", f"{sizes['min']:,}, {sizes['mean']:.1f}"),
        ("Blocks per graph: 50th, 90th, 99th percentile", ", ".join(quantiles)),
        ("Blocks per graph: maximum", largest),
        *(
            (f"Graphs of at most {limit:,} blocks", f"{100 * at_most[str(limit)]:.4g}%")
            for limit in SIZE_LIMITS
        ),
        ("Most edges that leave a block, that enter a block", f"{degrees['max']:,}, {most_in:,}"),
        ("Graphs with loops", percent(description["share_with_loops"])),
        ("Graphs with a loop of several entries (irreducible)", percent(description["share_irreducible"])),
    ]
