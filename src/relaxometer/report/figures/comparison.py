"""The table that compares a run with an earlier one, where the configuration names one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from relaxometer.report.catalogue import SUMMARY, TIMINGS, Exhibit, Files, Inputs, table_view

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan


NOTHING_MEASURED = "No run here has searches."


def against_base(inputs: Inputs) -> pd.DataFrame:
    """Return the rows of the comparison with the base, the worst first, or one that says why not."""
    if inputs.table("timings").empty:
        return pd.DataFrame([{"Problem": NOTHING_MEASURED}])
    # Here, since all other figures would load them too.
    from relaxometer.report import compared
    from relaxometer.results.compare import compare
    from relaxometer.results.recorded import read_recorded

    (now,) = inputs.files("timings")
    return compared.rows(compare(read_recorded(Path(inputs.params["base"])), read_recorded(now.parent)))


def _inputs(plan: Plan, _: str) -> Files:
    from relaxometer.results.recorded import searches_file

    # The context is a separate file, which the comparison reads for the machine.
    base = str(searches_file(Path(plan.config.report.base or "")))
    return {"timings": TIMINGS, "context": "results/context.json", "base": base}


EXHIBITS = (
    Exhibit(
        "comparison",
        against_base,
        (table_view("comparison", SUMMARY, "comparison", "with an earlier run", caption="runs/comparison"),),
        _inputs,
        wanted=lambda plan: plan.config.report.base is not None,
        params=lambda plan, _: {"base": plan.config.report.base},
    ),
)
