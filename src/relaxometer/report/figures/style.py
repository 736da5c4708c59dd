"""The shared style of all figures: theme, titles, legends, axes, files."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from relaxometer.core.files import replacing
from relaxometer.report.figures.looks import Look
from relaxometer.report.figures.names import SUPERSCRIPT, plain
from relaxometer.results.samples import EMULATED

# Matplotlib is imported where figures are drawn, since every start of Snakemake imports this module.
if TYPE_CHECKING:
    # The other modules name these by `style`.
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import Transform

WIDTH = 7.2  # inches; fits the text block of a printed page and the panel of the report
LETTERS_PER_INCH = 15  # characters per inch in the subtitle
GREY, FAINT = "0.35", "0.80"
DASHED: Any = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (3, 2))}  # a line of comparison
WHISKERS: Any = {"capsize": 2.5, "elinewidth": 0.9}
BOX: Any = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # below letters on lines
AT_END: Any = {"va": "center", "color": GREY, "annotation_clip": False}  # the name of a line at its end

NOT_GPU_TIMES = "emulated device: these are not GPU times"
PALETTE = 128  # colours in a PNG file
MAX_STEP = 10.5  # sizes with a larger ratio are not connected by a line: others between them were not run
BESIDE_SIZES = 1.4  # an axis of sizes reaches by this factor beyond those that were run

DODGE, MAX_DODGE = 0.008, 0.04
"""Distance between series that stand side by side, and over which all are spread, as shares of the axis."""

PANELS_IN_A_ROW, PANEL_INCHES, LEGEND_ROW_INCHES = 2, 2.5, 0.2
"""Panels in a row of :func:`panel_grid`, their height, and that of a row of names in the legend below."""

MOST_IN_A_ROW, LETTERS_IN_A_ROW = 3, 92  # maximum names per row of that legend; fewer if they do not fit
INK = ".15"  # the colour of text and axes

# Seaborn's theme "ticks" for papers, with letters 1.05 times as large: importing Seaborn takes longer than
# drawing most figures.
THEME: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10.08,
    "axes.linewidth": 1.0,
    "axes.prop_cycle": "cycler(color=['#4C72B0', '#DD8452', '#55A868', '#C44E52', '#8172B3', '#937860'])",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.08,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 10.08,
    "grid.color": "0.92",
    "legend.fontsize": 9.24,
    "legend.frameon": False,
    "legend.title_fontsize": 10.08,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    # Text in SVG files stays text, in a font with equivalents in every viewer.
    "svg.fonttype": "none",
    "svg.hashsalt": "relaxometer",
    "text.color": INK,
}
for _ticks in ("xtick", "ytick"):
    THEME |= {f"{_ticks}.color": INK, f"{_ticks}.labelsize": 9.24}
    THEME |= {f"{_ticks}.major.size": 4.8, f"{_ticks}.major.width": 1.0}
    THEME |= {f"{_ticks}.minor.size": 3.2, f"{_ticks}.minor.width": 0.8}


def new_figure(height: float = 4.0, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Return an empty figure, `height` inches high, and its axes; `options` are for ``Figure.subplots``."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update(THEME)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def panel_column(height: float, count: int, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure, `height` inches high, with panels one below the other."""
    figure, axes = new_figure(height, rows=count, squeeze=False, **options)
    return figure, list(axes[:, 0])


def panel_grid(
    count: int, names: Sequence[str], inches: float = PANEL_INCHES, **options: Any
) -> tuple[Figure, list[Axes], int]:
    """Return a figure with panels side by side and room for a legend of `names` below them.

    `inches` is the height of a panel, and `options` are those of ``Figure.subplots``. The last result is the
    number of names in a row of the legend, for :func:`legend_below`.
    """
    in_a_row = legend_columns(names)
    rows, entries = -(-count // PANELS_IN_A_ROW), -(-len(names) // in_a_row)
    height = inches * rows + LEGEND_ROW_INCHES * entries + 1.1
    figure, axes = new_figure(height, min(PANELS_IN_A_ROW, count), rows, squeeze=False, **options)
    for panel in axes.ravel()[count:]:
        panel.set_axis_off()
    return figure, list(axes.ravel()[:count]), in_a_row


def legend_columns(names: Sequence[str]) -> int:
    """Return the most columns, filled one after the other, in which the names fit below the panels."""
    for columns in range(min(MOST_IN_A_ROW, len(names)), 1, -1):
        widths = [max(map(len, part)) for part in np.array_split(np.array(names, dtype=object), columns)]
        if sum(widths) <= LETTERS_IN_A_ROW:
            return columns
    return 1


def entitle(figure: Figure, title: str, finding: str = "") -> Figure:
    """Put a title above a figure, and the finding below it in smaller letters; return the figure."""
    width, height = figure.get_size_inches()
    lines = [
        line
        for given in finding.splitlines()
        for line in wrap(given, int(width * LETTERS_PER_INCH), break_on_hyphens=False)
    ]
    top = 1 - (0.28 + 0.17 * len(lines)) / height
    engine = figure.get_layout_engine()
    assert engine is not None, "new_figure sets one"
    engine.set(rect=(0.005, 0, 0.99, top))  # type: ignore[call-arg]
    figure.text(0.012, 1 - 0.06 / height, title, ha="left", va="top", fontsize=11, weight="bold")
    figure.text(0.012, 1 - 0.29 / height, "\n".join(lines), ha="left", va="top", fontsize=8.5, color=GREY)
    return figure


def legend_above(axes: Axes, columns: int, handles: Any = None) -> Legend:
    """Put the legend above the axes, where it covers no data, and return it."""
    options: dict[str, Any] = {} if handles is None else {"handles": handles}
    options |= {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": columns}
    return axes.legend(borderaxespad=0.2, handlelength=2.6, columnspacing=1.4, **options)


def legend_mark(**look: Any) -> Line2D:
    """Return the entry of a legend that shows a marker."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look)


def legend_patch(**look: Any) -> Patch:
    """Return the entry of a legend that shows an area."""
    from matplotlib.patches import Patch

    return Patch(**look)


def legend_below(figure: Figure, looks: Mapping[str, Look], columns: int) -> None:
    """Put a legend of markers below all panels, by the names that the figure shows."""
    handles = [
        legend_mark(linestyle="none", label=name, markersize=6, **style.points)
        for name, style in looks.items()
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, fontsize=8.5, handletextpad=0.3)


def plain_log(*axes: Axis) -> None:
    """Label logarithmic axes at round numbers, written plainly: 0.5, 1, 2, ... or 0.01, 1, 100, ..."""
    from relaxometer.report.ticks import PlainLogLocator

    for axis in axes:
        axis.set_major_locator(PlainLogLocator())
        axis.set_major_formatter(plain)
        axis.set_minor_formatter("")


def label_percent(axis: Axis, decimals: int | None = None) -> None:
    """Label an axis of shares in per cent, by default with as many decimals as its range needs."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals))


def whole_ticks(axis: Axis, bins: int | Literal["auto"] = 10) -> None:
    """Put ticks at whole numbers only, at most `bins` of them and one."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(bins, integer=True))


def shift(axes: Axes, right: float, up: float) -> Transform:
    """Return a transform that moves what it is added to, by inches."""
    from matplotlib.transforms import ScaledTranslation

    return ScaledTranslation(right, up, axes.figure.dpi_scale_trans)


def size_axis(axes: Axes, sizes: Iterable[float]) -> None:
    """Label the sizes that were run on a logarithmic axis: as powers of two if they are, else plainly.

    Call it before drawing, since what is moved sideways depends on the axis.
    """
    axes.set_xscale("log", base=2)
    shown = sorted(set(sizes))
    axes.set_xlim(shown[0] / BESIDE_SIZES, shown[-1] * BESIDE_SIZES)
    axes.set_xticks(shown)
    axes.xaxis.minorticks_off()
    powers = [np.log2(size) for size in shown]
    are_powers = all(abs(power - round(power)) < 0.01 for power in powers)
    as_powers = [f"2{str(round(power)).translate(SUPERSCRIPT)}" for power in powers]
    axes.set_xticks(shown, as_powers if are_powers else list(map(plain, shown)))


def with_gaps(points: Sequence[tuple[float, ...]], sizes: Iterable[float]) -> list[tuple[float, ...]]:
    """Return points ordered by size with NaN between those that no line should connect.

    Those are points with one of `sizes` between them, which was not run, or far apart (:data:`MAX_STEP`).
    """
    known = sorted(sizes)
    found: list[tuple[float, ...]] = []
    for point in points:
        before = found[-1][0] if found else point[0]
        if point[0] > MAX_STEP * before or any(before < size < point[0] for size in known):
            found.append((np.nan,) * len(point))
        found.append(tuple(point))
    return found


def dodge(axes: Axes, place: int, of: int) -> float:
    """Return the factor by which a series is moved sideways on an axis of sizes, so that none hides another.

    `place` is the series' number `of` all. The range of the axis must be set (:func:`size_axis`).
    """
    low, high = axes.get_xlim()
    share = min(DODGE, MAX_DODGE / of) * (place - (of - 1) / 2)
    return float((high / low) ** share) if of > 1 else 1.0


def draw_series(
    axes: Axes, points: Sequence[tuple[float, ...]], style: Look, label: str, place: tuple[int, int] = (0, 1)
) -> None:
    """Draw points (x, middle, low, high), ordered by x, with whiskers and a line between neighbouring sizes.

    The ticks of the axes are the sizes that were run (:func:`size_axis`). `place` is the number of the series
    and how many there are: they are moved apart sideways (:func:`dodge`).
    """
    at, middle, low, high = np.array(with_gaps(points, axes.get_xticks())).reshape(-1, 4).T
    whiskers = {"yerr": (middle - low, high - middle), **WHISKERS}
    axes.errorbar(at * dodge(axes, *place), middle, markersize=5, label=label, **whiskers, **style.line)


def draw_dots(axes: Axes, points: Sequence[tuple[float, ...]], style: Look, **options: Any) -> None:
    """Draw points (x, middle, low, high) with whiskers and without a line."""
    at, middle, low, high = np.array(points).reshape(-1, 4).T
    given = {"linestyle": "none", "markersize": 5.5, **WHISKERS, **options, **style.points}
    axes.errorbar(at, middle, yerr=(middle - low, high - middle), **given)


def annotate(axes: Axes, text: str, at: tuple[Any, Any], offset: tuple[float, float], **options: Any) -> None:
    """Write small text at a point, moved by an offset in points."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **{"fontsize": 8, **options})


def emulated_note(device_kind: str) -> str:
    """Return ", emulated" for the emulated device, to follow the unit on an axis."""
    return ", emulated" if device_kind == EMULATED else ""


def weight_unit(description: Mapping[str, Any]) -> str:
    """Return the unit of a graph's weights from ``graph.json``; nothing if it has none or gives none."""
    unit = str(description.get("weight_unit") or "")
    return "" if unit == "none" else unit


def with_unit(what: str, unit: str) -> str:
    """Return the label of an axis, with the unit in brackets if there is one."""
    return f"{what} [{unit}]" if unit else what


def empty_figure(title: str, why: str) -> Figure:
    """Return a figure that only says why there is nothing to show."""
    figure, axes = new_figure(1.4)
    axes.set_axis_off()
    return entitle(figure, title, why)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure to `path`, whose suffix is the format."""
    target = Path(path)
    kind = target.suffix.lstrip(".")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with replacing(target) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)
        if kind == "png":
            _reduce_colours(temporary)
        elif kind == "svg":
            _describe(temporary, figure)


def _describe(svg: Path, figure: Figure) -> None:
    """Give a file the figure's title and finding as its alternative text."""
    said = " ".join(". ".join(text.get_text() for text in figure.texts[:2]).split())
    text = svg.read_text(encoding="utf-8")
    label = f'<svg role="img" aria-label="{html.escape(said)}" '
    svg.write_text(text.replace("<svg ", label, 1), encoding="utf-8")


def _reduce_colours(png: Path) -> None:
    """Rewrite an image with a palette, which shrinks it to a third."""
    from PIL import Image

    with Image.open(png) as image:
        reduced = image.convert("RGB").quantize(PALETTE, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(png, format="png", optimize=True)
