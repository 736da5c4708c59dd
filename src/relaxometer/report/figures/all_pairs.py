"""All pairs of a graph: the distribution of eccentricities, radius and diameter, and the times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import Exhibit, Files, Inputs, View, metadata, table_view
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import CLOCKS, by_graph, percent, plain, rounded, whole
from relaxometer.results.samples import EMULATED

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

BINS = 60  # bars of the figure
HOPS = "arcs"  # unit of distances that count them
SHOWN = 5  # components of a graph in the table, the largest first


def eccentricities(
    sources: pd.DataFrame, components: pd.DataFrame, passes: pd.DataFrame, description: Mapping[str, Any]
) -> style.Figure:
    """Draw the distribution of the eccentricities in the largest component, and mark radius and diameter.

    The tables are those of one graph, as :mod:`relaxometer.studies.all_pairs` writes them; `description` is
    its ``graph.json``.
    """
    title = f"Eccentricities, {description['name']}"
    if components.empty:
        return style.empty_figure(title, f"Nothing was proven: {passes['reason'].iloc[-1]}")
    largest = components.nlargest(1, "vertices").iloc[0]
    inside = sources[sources["proven"] & (sources["component"] == largest["component"])]
    figure, axes = style.new_figure(3.4)
    values = inside["eccentricity"].to_numpy(dtype=np.float64)
    shares = np.full(len(values), 1 / len(values))
    axes.hist(values, bins=BINS, weights=shares, color=look("phast-many").colour, linewidth=0)
    axes.margins(y=0.2)
    _mark(axes, largest["radius"], _bound(largest, "radius"), "left")
    _mark(axes, largest["diameter"], _bound(largest, "diameter"), "right")
    unit = HOPS if largest["hops"] else style.weight_unit(description)
    farthest = style.with_unit("Distance to the farthest vertex", unit)
    axes.set(xlabel=farthest, ylabel="Share of the vertices")
    axes.xaxis.set_major_formatter(plain)
    style.label_percent(axes.yaxis)
    return style.entitle(figure, title, f"{_extremes(largest)}\n{_cost(passes)}")


def _bound(component: pd.Series, name: str) -> str:
    """Return what is known of a radius or diameter: its name, or that of a bound."""
    if component["proven"] == component["vertices"]:
        return name
    return f"{name} at {'most' if name == 'radius' else 'least'}"


def _mark(axes: style.Axes, value: float, name: str, side: str) -> None:
    """Draw a vertical line at a value, with its name inside the axes; nothing for a missing value."""
    if pd.isna(value):
        return
    axes.axvline(value, **style.DASHED)
    at, offset = (value, 0.97), (4 if side == "left" else -4, 0)
    where = {"xycoords": ("data", "axes fraction"), "ha": side, "va": "top", "color": style.GREY}
    style.annotate(axes, f"{name} {value:,.0f}", at, offset, **where)


def _extremes(component: pd.Series) -> str:
    """Say which vertices have the radius and the diameter."""
    found = []
    if pd.notna(component["radius"]):
        centre = component["centre"]
        more = f" and {len(centre) - 1:,} more" if len(centre) > 1 else ""
        found.append(f"{_bound(component, 'radius')} {component['radius']:,.0f} at vertex {centre[0]}{more}")
    ends = f"from vertex {component['periphery'][0]}"
    if pd.notna(component["farthest"]):
        ends += f" to {component['farthest']:.0f}"
    found.append(f"{_bound(component, 'diameter')} {component['diameter']:,.0f} {ends}")
    said = "; ".join(found)
    kind = "" if component["strong"] else "; some vertices do not reach all others"
    return f"{said[:1].upper()}{said[1:]}{kind}"


def _cost(passes: pd.DataFrame) -> str:
    """Say how many sources were proven, and in which time."""
    last = passes[passes["proof"]].iloc[-1]
    first = passes[~passes["proof"]].iloc[-1]
    found = "found" if first["sources"] == last["sources"] else f"those of {first['sources']:,} found"
    said = f"{last['device']}; distances from {last['proven']:,.0f} of {last['sources']:,} sources proven"
    if last["device_kind"] == EMULATED:
        return f"{said}; {style.NOT_GPU_TIMES}"
    return f"{said} in {rounded(last['time_ms'] / 1e3)} s, {found} in {rounded(first['time_ms'] / 1e3)} s"


def components_table(components: pd.DataFrame, descriptions: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return radius and diameter of the largest components of each graph as text."""
    units = {one["name"]: style.weight_unit(one) for one in descriptions}
    table = by_graph(components, "vertices", ascending=False).groupby("graph", sort=False).head(SHOWN)
    exact = table["proven"] == table["vertices"]
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Vertices": table["vertices"].map("{:,}".format),
            "Sources": table["sources"].map("{:,}".format),
            "Proven": (table["proven"] / table["sources"]).map(percent),
            "All reach all": table["strong"].map({True: "yes", False: "no"}),
            "Radius": table["radius"].map(whole),
            "Centre": table["centre"].map(_some),
            "Diameter": table["diameter"].map(whole),
            "From": table["periphery"].map(_some),
            "To": table["farthest"].map("{:.0f}".format, na_action="ignore").fillna(""),
            "Exact": exact.map({True: "yes", False: "no, bounds"}),
            "Unit": table["graph"].map(units).mask(table["hops"].astype(bool), HOPS),
        }
    )


def _some(vertices: Sequence[int]) -> str:
    return f"{vertices[0]}{f' and {len(vertices) - 1:,} more' * (len(vertices) > 1)}" if len(vertices) else ""


def passes_table(passes: pd.DataFrame) -> pd.DataFrame:
    """Return the times of the sweeps with and without the proof as text."""
    rate = passes["sources"] / passes["time_ms"] * 1e3
    share = (passes["proven"] / passes["sources"]).map(percent)
    return pd.DataFrame(
        {
            "Graph": passes["graph"],
            "Proof": passes["proof"].map({True: "every distance", False: "none"}),
            "Sources": passes["sources"].map("{:,}".format),
            "Clock": passes["device_kind"].map(CLOCKS),
            "Preparation [s]": (passes["prepare_ms"] / 1e3).map(rounded),
            "Time [s]": (passes["time_ms"] / 1e3).map(rounded),
            "Sources per second": rate.map(rounded),
            "Proven": share.where(passes["proof"], ""),
            "Status": passes["status"],
        }
    )


def _draw(inputs: Inputs) -> style.Figure:
    sources, components, passes = map(inputs.table, ("sources", "components", "passes"))
    return eccentricities(sources, components, passes, *inputs.contents("graphs"))


def _files(plan: Plan, graph: str) -> Files:
    graphs = [graph] if graph else plan.config.all_pairs.graphs
    kinds = ("sources", "components", "passes") if graph else ("components", "passes")
    tables = {kind: [f"results/all_pairs/{name}/{kind}.parquet" for name in graphs] for kind in kinds}
    return {**tables, "graphs": metadata(graphs)}


EXHIBITS = (
    Exhibit(
        "eccentricities",
        _draw,
        (View("eccentricities", "SSSP", "all pairs", "eccentricities"),),
        _files,
        wanted=lambda plan: plan.config.all_pairs.graphs,
        per_graph=True,
    ),
    Exhibit(
        "all-pairs",
        lambda inputs: {
            "all-pairs": components_table(inputs.table("components"), inputs.contents("graphs")),
            "all-pairs-times": passes_table(inputs.table("passes")),
        },
        (
            table_view("all-pairs", "SSSP", "all pairs", "radius and diameter"),
            table_view("all-pairs-times", "SSSP", "all pairs", "times, with and without proof"),
        ),
        _files,
        wanted=lambda plan: plan.config.all_pairs.graphs,
    ),
)
