"""Medians, ratios and their intervals, and the tests by which runs are told apart.

docs/statistics.md describes the method and what it assumes. All variances are of natural logarithms: times
are positive, and their ratios are what is compared.

Distributions come from ``scipy.special``: every job of the report would wait a second for ``scipy.stats``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
"""Of the intervals that are shown."""

SIGNIFICANCE = 0.01
"""Largest two-sided p-value, corrected by :func:`holm`, at which a difference is claimed."""

FEWEST = 6
"""Fewest samples of an interval, a rank or a verdict."""


class Part(NamedTuple):
    """A part of the variance of an estimated logarithm, and its degrees of freedom."""

    variance: float
    df: float


@dataclass(frozen=True)
class Estimate:
    """A positive quantity, given its logarithm, with what its interval and its test need.

    `parts` are independent parts of the variance of `log`; `n` is the number of sources or, where searches
    have none, repetitions that it rests on.
    """

    log: float
    parts: tuple[Part, ...]
    n: int

    @property
    def value(self) -> float:
        """The quantity."""
        return float(np.exp(self.log))

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of the interval of the quantity; NaN below `FEWEST` samples."""
        from scipy.special import stdtrit

        if self.n < FEWEST:
            return float("nan"), float("nan")
        half = stdtrit(self._df, (1 + confidence) / 2) * np.sqrt(self._variance)
        return float(np.exp(self.log - half)), float(np.exp(self.log + half))

    def point(self) -> tuple[float, float, float]:
        """Return the quantity and the ends of its interval or, where there is none, the quantity thrice."""
        low, high = np.nan_to_num(self.interval(), nan=self.value)
        return self.value, float(low), float(high)

    def p_value(self) -> float:
        """Return the two-sided p-value of "the quantity is 1"; 1 below `FEWEST` samples."""
        from scipy.special import stdtr

        if self.n < FEWEST or self.log == 0:
            return 1.0
        return float(2 * stdtr(self._df, -abs(self.log) / np.sqrt(self._variance)))

    def over(self, other: Estimate) -> Estimate:
        """Return the ratio to an independent estimate."""
        return Estimate(self.log - other.log, self.parts + other.parts, min(self.n, other.n))

    @property
    def _variance(self) -> float:
        return sum(part.variance for part in self.parts)

    @property
    def _df(self) -> float:
        """Degrees of freedom of the sum of the parts, after Satterthwaite."""
        parts = [part for part in self.parts if np.isfinite(part.df)]
        lacking = sum(part.variance**2 / part.df for part in parts)
        return self._variance**2 / lacking if lacking else float("inf")


def log_median(logs: npt.ArrayLike) -> tuple[float, Part]:
    """Return the median of logarithms and its variance over samples; ValueError without samples.

    References
    ----------
    Price and Bonett, "Estimating the variance of the sample median", Journal of Statistical Computation and
    Simulation 68, 2001.
    """
    ordered = np.sort(np.asarray(logs, dtype=np.float64))
    n = len(ordered)
    if not n:
        raise ValueError("no samples")
    if n == 1:
        return float(ordered[0]), Part(0.0, 1.0)
    rank, width = _around_median(n)
    error = (ordered[n - rank] - ordered[rank - 1]) / width
    return float(np.median(ordered)), Part(float(error) ** 2, n - 1.0)


@cache
def _around_median(n: int) -> tuple[int, float]:
    """Return the rank of the order statistic that begins an interval around the median of n samples.

    The second value is the width of that interval in standard errors of the median.
    """
    from scipy.special import betainc, ndtri

    rank = max(1, round((n + 1) / 2 - n**0.5))
    below = betainc(n - rank + 1, rank, 0.5)  # of the binomial distribution, up to rank - 1 of n
    return rank, -2 * float(ndtri(below))


def median_of(samples: npt.ArrayLike, process: Part) -> Estimate:
    """Return the median of positive samples of one run, with an interval that holds the `process` part."""
    logs = np.log(np.asarray(samples, dtype=np.float64))
    log, part = log_median(logs)
    return Estimate(log, (part, process), len(logs))


def log_mean(samples: npt.ArrayLike, process: Part) -> Estimate:
    """Return the mean of positive samples of one run, with an interval that holds the `process` part."""
    return log_ratio_of_means(samples, np.ones(np.size(samples)), process)


def log_ratio_of_means(above: npt.ArrayLike, below: npt.ArrayLike, *processes: Part) -> Estimate:
    """Return the quotient of the means of two positive samples over the same sources, in the same order.

    Its variance over sources is that of the delta method, so sources that are slow in both samples do not
    widen the interval; `processes` are the process parts of both.
    """
    upper, lower = (np.asarray(one, dtype=np.float64) for one in (above, below))
    n, log = len(upper), float(np.log(upper.mean() / lower.mean()))
    residuals = upper / upper.mean() - lower / lower.mean()
    part = Part(float(residuals.var(ddof=1)) / n, n - 1.0) if n > 1 else Part(0.0, 1.0)
    return Estimate(log, (part, *processes), n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    1979.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(one) for one in corrected]
