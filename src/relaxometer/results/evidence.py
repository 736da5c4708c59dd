"""The measured data that claims are compared with, and a value measured for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from relaxometer.results.samples import EMULATED, source_times


class NotMeasured(Exception):  # noqa: N818 - an outcome, not an error
    """A claim that this run cannot check; the message says why."""


class Origin(NamedTuple):
    """The device of a measured value; empty for properties of a graph."""

    device: str = ""
    device_kind: str = ""


NOWHERE = Origin()


@dataclass(frozen=True)
class Measured:
    """A value measured for a claim, and its 95% interval; NaN if there are too few samples for one.

    Without an interval the value is exact, as a count.
    """

    value: float
    origin: Origin = NOWHERE
    interval: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, both the value if it is exact."""
        return self.interval or (self.value, self.value)


@dataclass(frozen=True)
class Evidence:
    """The measured data that claims are compared with.

    `timings` are the gathered searches, `phases` those of the proven phase-synchronous variants, and `steps`
    the phases of all proven variants; a step is a phase's mode. `graphs` has the contents of each
    ``graph.json`` by name, and `swept` the variants that are points of a sweep. `extract_min` has the trials
    of :data:`relaxometer.studies.extract_min.TABLE`, and `ranks` the searches of
    :func:`relaxometer.results.scaling.rank_searches`.
    """

    timings: pd.DataFrame
    phases: pd.DataFrame
    graphs: Mapping[str, dict[str, Any]]
    swept: Sequence[str] = ()
    extract_min: pd.DataFrame | None = None
    steps: pd.DataFrame | None = None
    ranks: pd.DataFrame | None = None

    def times(self, graph: str, variant: str) -> pd.DataFrame:
        """Return a variant's time from each source; NotMeasured if it was emulated, not run or not proven."""
        rows = self.timings.query("graph == @graph and variant == @variant")
        if rows["problem"].nunique() > 1:
            raise NotMeasured(f"{variant} on {graph} was run for several problems")
        return self._real_times(rows, f"{variant} on {graph}")

    def sweep(self, graph: str, kernel: str, parameter: str) -> pd.DataFrame:
        """Return the :meth:`times` of the swept variants of a kernel, with the column `parameter`."""
        rows = self.timings.query("graph == @graph and kernel == @kernel and variant in @self.swept")
        times = self._real_times(rows, f"a sweep of {parameter} on {graph}")
        column = f"parameter_{parameter}"
        return times.assign(**{parameter: times["variant"].map(rows.groupby("variant")[column].first())})

    @staticmethod
    def _real_times(rows: pd.DataFrame, what: str) -> pd.DataFrame:
        if rows.empty:
            raise NotMeasured(f"{what} was not run")
        if (rows["device_kind"] == EMULATED).any():
            raise NotMeasured("emulated time")
        times = source_times(rows)
        if times.empty:
            raise NotMeasured(f"{what} was not proven correct and finished")
        return times
