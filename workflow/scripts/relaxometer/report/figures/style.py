"""The shared look of all figures: theme, one colour per variant, titles, files."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from PIL import Image

from relaxometer.core.files import replacing
from relaxometer.results.samples import EMULATED

WIDTH = 7.2
"""Inches; fits the text block of a printed page and the panel of the report."""

LETTERS_PER_INCH = 15
"""Characters per inch in the subtitle."""

GREY = "0.35"
FAINT = "0.80"

NOT_GPU_TIMES = "emulated device: these are not GPU times"

PALETTE = 128
"""Colours in a PNG file."""


INK = ".15"
"""The colour of text and axes."""

# Seaborn's theme "ticks" for papers, with letters 1.05 times as large: importing Seaborn takes longer than
# drawing most figures.
THEME: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10.08,
    "axes.linewidth": 1.0,
    "axes.prop_cycle": cycler(color=["#4C72B0", "#DD8452", "#55A868", "#C44E52", "#8172B3", "#937860"]),
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
    "xtick.color": INK,
    "xtick.labelsize": 9.24,
    "xtick.major.size": 4.8,
    "xtick.major.width": 1.0,
    "xtick.minor.size": 3.2,
    "xtick.minor.width": 0.8,
    "ytick.color": INK,
    "ytick.labelsize": 9.24,
    "ytick.major.size": 4.8,
    "ytick.major.width": 1.0,
    "ytick.minor.size": 3.2,
    "ytick.minor.width": 0.8,
}


@dataclass(frozen=True)
class Look:
    """How a variant or a rival is drawn in every figure.

    Parameters
    ----------
    colour : str
    dash : str or tuple
        A Matplotlib line style.
    marker : str
    is_open : bool
        Whether the marker has no filling, which is how rivals are told from variants, also in print.
    """

    colour: str
    dash: Any
    marker: str
    is_open: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """The options of a Matplotlib line."""
        return {"linestyle": self.dash, **self.points}

    @property
    def points(self) -> dict[str, Any]:
        """The options of Matplotlib markers."""
        filling = {"markerfacecolor": "white", "markeredgewidth": 1.3} if self.is_open else {}
        return {"color": self.colour, "marker": self.marker, **filling}


LOOKS = {
    "conventional": Look("#0072B2", "-", "o"),
    "selection": Look("#D55E00", (0, (5, 1.5)), "s"),
    "adaptive": Look("#009E73", (0, (1.5, 1)), "D"),
    "phast": Look("#7F3C8D", "-", "*"),
    "edge-bf-atomic": Look("#56B4E9", "-", "s"),
    "boost-dijkstra": Look("#A5642A", "-", "<"),
    "scipy-dijkstra": Look("#CC79A7", "-", ">"),
    "dijkstra-cpu": Look("#404040", (0, (4, 1, 1, 1)), "v"),
    "hybrid": Look("#009E73", "-", "D"),
    "top-down": Look("#0072B2", (0, (5, 1.5)), "o"),
    "bottom-up": Look("#D55E00", (0, (1.5, 1)), "s"),
    "level-array": Look("#56B4E9", (0, (3, 1, 1, 1, 1, 1)), "X"),
    "cooperative": Look("#CC79A7", (0, (6, 1, 2, 1)), "P"),
    "hybrid-cpu": Look("#404040", (0, (4, 1, 1, 1)), "v"),
}
"""Colours of Okabe and Ito, which colour-blind readers can distinguish; dashes and markers for print."""

OTHER_COLOURS = ("#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#80BA5A", "#A5642A")
OTHER_MARKERS = ("^", "P", "X", "*", "<", ">")
VARIANT_MARKERS = (*OTHER_MARKERS, "o", "s", "D", "v", "p")

RIVAL_COLOURS = ("#000000", "#8C2D04", "#08519C", "#006D2C", "#6A51A3", "#AE017E")
RIVAL_MARKERS = ("o", "s", "D", "^", "v", "<", ">", "p", "d")
"""Rivals have dark colours, open markers and broken lines; no variant has an open marker."""

DASHES = ((0, (3, 1)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 2)))


def look(variant: str, rival: bool = False) -> Look:
    """Return the look of a variant or a rival; a hash of its name decides if it is not in `LOOKS`."""
    if variant in LOOKS and not rival:
        return LOOKS[variant]
    number = zlib.crc32(variant.encode())
    if rival:
        number, place = divmod(number, len(RIVAL_COLOURS))
        return Look(
            RIVAL_COLOURS[place],
            DASHES[number // len(RIVAL_MARKERS) % len(DASHES)],
            RIVAL_MARKERS[number % len(RIVAL_MARKERS)],
            is_open=True,
        )
    colour = OTHER_COLOURS[number % len(OTHER_COLOURS)]
    return Look(colour, "-", OTHER_MARKERS[number // len(OTHER_COLOURS) % len(OTHER_MARKERS)])


def distinct_looks(contestants: Iterable[tuple[str, bool]]) -> dict[str, Look]:
    """Return looks for one figure, by name, of which no two are alike, also without their colours.

    Parameters
    ----------
    contestants : iterable of (str, bool)
        Names, and whether each is a rival. Of two with one marker, the second gets the next one that is used
        least, and another dash if all are used. So it is with two rivals of one colour.
    """
    found: dict[str, Look] = {}
    used: Counter[Any] = Counter()

    def least_used(what: Any, own: Any, all_of: tuple[Any, ...]) -> Any:
        """Return the first of those used least, from the contestant's own on."""
        start = all_of.index(own)
        choice = min((*all_of[start:], *all_of[:start]), key=lambda one: used[what, one])
        used[what, choice] += 1
        return choice

    for name, rival in sorted(set(contestants), key=lambda one: (one[0] not in LOOKS, one)):
        own = look(name, rival)
        marker = least_used(rival, own.marker, RIVAL_MARKERS if rival else VARIANT_MARKERS)
        dash = least_used((rival, marker), own.dash, tuple(dict.fromkeys((own.dash, *DASHES))))
        colour = least_used("colour", own.colour, RIVAL_COLOURS) if rival else own.colour
        found[name] = replace(own, colour=colour, dash=dash, marker=marker)
    return found


def use_theme() -> None:
    """Set the theme of all figures."""
    mpl.rcParams.update(THEME)


def new_figure(
    height: float = 4.0, columns: int = 1, rows: int = 1, *, width: float = WIDTH, **options: Any
) -> tuple[Figure, Any]:
    """Return an empty figure and its axes.

    Parameters
    ----------
    height, width : float
        In inches.
    columns, rows : int, default=1
    **options
        For ``Figure.subplots``.

    Returns
    -------
    figure : Figure
    axes : Axes or ndarray of Axes
    """
    use_theme()
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def entitle(figure: Figure, title: str, finding: str = "") -> None:
    """Put a title above a figure, and the finding below it in smaller letters."""
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


def legend_above(axes: Axes, columns: int, handles: Any = None) -> None:
    """Put the legend above the axes, where it covers no data."""
    options: dict[str, Any] = {} if handles is None else {"handles": handles}
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        handlelength=2.6,
        columnspacing=1.4,
        **options,
    )


def legend_below(figure: Figure, looks: Mapping[str, Look], columns: int) -> None:
    """Put a legend of markers below all panels, by the names that the figure shows."""
    handles = [
        Line2D([], [], linestyle="none", label=name, markersize=6, **style.points)
        for name, style in looks.items()
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, fontsize=8.5, handletextpad=0.3)


def plain_log(axis: Axis, form: str = "{x:g}", subs: tuple[int, ...] = (1, 2, 5)) -> None:
    """Label 1, 2, 5, 10, ... on a logarithmic axis, as plain numbers of a format."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(StrMethodFormatter(form))
    axis.set_minor_formatter(NullFormatter())


def annotate(axes: Axes, text: str, at: tuple[Any, Any], offset: tuple[float, float], **options: Any) -> None:
    """Write small text at a point, moved by an offset in points."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **{"fontsize": 8, **options})


def emulated_note(device_kind: str) -> str:
    """Return ", emulated" for the emulated device, to follow the unit on an axis."""
    return ", emulated" if device_kind == EMULATED else ""


def empty_figure(title: str, why: str) -> Figure:
    """Return a figure that only says why there is nothing to show."""
    figure, axes = new_figure(1.4)
    axes.set_axis_off()
    entitle(figure, title, why)
    return figure


def save(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """Write a figure to `path`, whose suffix is the format."""
    target = Path(path)
    kind = target.suffix.lstrip(".")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with replacing(target) as temporary:
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "relaxometer"}):
            figure.savefig(temporary, format=kind, dpi=dpi, metadata=metadata)
        if kind == "png":
            _reduce_colours(temporary)


def _reduce_colours(png: Path) -> None:
    """Rewrite an image with a palette, which shrinks it to a third."""
    with Image.open(png) as image:
        reduced = image.convert("RGB").quantize(PALETTE, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(png, format="png", optimize=True)
