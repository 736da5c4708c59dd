"""The net energy of searches: what they use beyond the idle device."""

from __future__ import annotations

import pandas as pd

from relaxometer.results.rows import KEY

POOLED = "pooled_idle_w"
"""Column of the idle power by which ``energy_j`` was made net."""


def with_pooled_idle(timings: pd.DataFrame) -> pd.DataFrame:
    """Return searches whose ``energy_j`` is net of one idle power per device, with the column `POOLED`.

    It is the median over all processes of the table that measured the idle device, since their measurements
    differ by more than many searches add to it. So call this on the searches of a whole run of the workflow,
    and select afterwards. ``idle_w`` remains what each process measured.

    Parameters
    ----------
    timings : DataFrame
        Gathered searches, in which ``energy_j`` is net of the idle power of its own process. A table that has
        the column `POOLED` is returned as it is.
    """
    if POOLED in timings or not {"energy_j", "gross_j", "idle_w"} <= set(timings.columns):
        return timings
    numbers = ["energy_j", "gross_j", "idle_w"]
    energy_j, gross_j, own_w = (timings[name].astype("float64") for name in numbers)
    keys = [name for name in ("device", *KEY, "round") if name in timings]
    processes = timings.dropna(subset=["idle_w"]).drop_duplicates(keys)
    pooled_w = timings["device"].map(processes.groupby("device")["idle_w"].median()).astype("float64")
    seconds = ((gross_j - energy_j) / own_w).where(own_w > 0, 0.0)
    return timings.assign(energy_j=gross_j - seconds * pooled_w, **{POOLED: pooled_w.where(own_w.notna())})
