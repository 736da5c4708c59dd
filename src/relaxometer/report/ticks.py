"""Ticks of logarithmic axes; apart from the style, which a plan imports, since Matplotlib loads slowly."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Locator

from relaxometer.report.figures.names import plain, wide

MAX_TICKS = 7  # labels of a logarithmic axis

ROUND = (
    (1, 1.05, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5),
    (1, 1.1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.2, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)
"""Steps within a power of ten, the densest first."""

DIGIT, NARROW = 0.64, {**dict.fromkeys(",.·", 0.32), **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", 0.41)}
"""Widths of letters, in units of the size of the font."""

LABEL_GAP = 0.3  # the least gap between labels of ticks, in units of the size of the font


class PlainLogLocator(Locator):
    """Ticks of a logarithmic axis at round numbers: as many as fit, down to a ratio of 1.05."""

    def nonsingular(self, v0: float, v1: float) -> tuple[float, float]:
        """Return the range of the data, widened about a single value."""
        is_single = v0 > 0 and np.isclose(v0, v1, rtol=1e-12, atol=0)
        return wide(v0, v1) if is_single else super().nonsingular(v0, v1)

    def __call__(self) -> list[float]:
        """Return the ticks of the axis."""
        assert self.axis is not None, "a locator belongs to an axis"
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the ticks between two ends; none if an end is not above 0."""
        low, high = sorted((vmin, vmax))
        if not (low > 0 and np.isfinite(high)):
            return []
        choices = [_round_numbers(low, high, steps) for steps in ROUND]
        fitting = [ticks for ticks in choices if len(ticks) <= MAX_TICKS and self._fit(ticks, low, high)]
        if fitting and len(fitting[0]) > 1:
            return fitting[0]
        several = [ticks for ticks in choices if len(ticks) > 1]
        return self._thinned(several[-1], low, high) if several else choices[0]

    def _thinned(self, ticks: list[float], low: float, high: float) -> list[float]:
        """Return every n-th tick, the smallest n whose labels fit."""
        for every in range(1, len(ticks)):
            chosen = ticks[::every]
            if len(chosen) <= MAX_TICKS and self._fit(chosen, low, high):
                return chosen
        return ticks[:1]

    def _fit(self, ticks: list[float], low: float, high: float) -> bool:
        figure = self.axis.get_figure(root=True) if isinstance(self.axis, Axis) else None
        if not isinstance(self.axis, Axis) or figure is None or low == high:
            return True
        is_x = isinstance(self.axis, XAxis)
        box = self.axis.axes.bbox
        points = 72 / figure.dpi * (box.width if is_x else box.height)
        size = mpl.rcParams["xtick.labelsize" if is_x else "ytick.labelsize"]
        at = np.log(np.array(ticks) / low) / np.log(high / low) * points
        extents = size * np.array([_ems(plain(tick)) if is_x else 1.0 for tick in ticks])
        gaps = np.diff(at) - (extents[1:] + extents[:-1]) / 2
        return bool((gaps >= LABEL_GAP * size).all())


def _round_numbers(low: float, high: float, steps: Sequence[float]) -> list[float]:
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _ems(label: str) -> float:
    """Return the width of a number in the font of the figures, in units of its size."""
    return sum(NARROW.get(letter, DIGIT) for letter in label)
