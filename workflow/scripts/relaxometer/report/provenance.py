"""The report's page on devices, software and parameters of the runs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import pandas as pd
import yaml

from relaxometer.report.pages import page

BODY = """<h2>The same in all {count} runs</h2>
{common}
<h2>Different between runs</h2>
<div class="wide">
{runs}
</div>
{rivals}<h2>Drift</h2>
{drift}
<h2>Configuration</h2>
<pre>{config}</pre>
"""


DRIFT = """<p>A fixed piece of work is timed before and after each process of a race: a kernel on the GPU, a
loop on the CPU. On a machine whose speed does not change, it always takes the same time.</p>
{table}"""

RIVALS = """<h2>Rivals</h2>
<p>Programs of others, to be cited as their authors ask. Versions are above, with the runs.</p>
<div class="wide">
{table}
</div>
"""

NO_DRIFT = "<p>No run is in real time.</p>"


def provenance_page(
    merged: Mapping[str, Any],
    config: Mapping[str, Any],
    drift: pd.DataFrame,
    rivals: Mapping[str, Mapping[str, str | None]],
) -> str:
    """Return a page of the contexts that :mod:`relaxometer.results.contexts` merged and the configuration.

    Parameters
    ----------
    merged : mapping
        See :func:`relaxometer.results.contexts.merge_contexts`.
    config : mapping
    drift : DataFrame
        See :func:`relaxometer.results.contexts.drift_lines`.
    rivals : mapping of str to mapping
        By name, entries of the ``rival.yaml`` of each rival that ran.
    """
    common = pd.DataFrame(merged["common"].items(), columns=["what", "value"])
    runs = pd.DataFrame([_in_few_cells(run) for run in merged["runs"]]).fillna("")
    body = BODY.format(
        count=len(runs),
        common=common.to_html(index=False, border=0),
        runs=runs.to_html(index=False, border=0),
        rivals=_rivals_table(rivals),
        drift=_drift_table(drift),
        config=html.escape(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)),
    )
    return page("Provenance", body)


def _rivals_table(rivals: Mapping[str, Mapping[str, str | None]]) -> str:
    if not rivals:
        return ""
    shown = pd.DataFrame([{"rival": name, **told} for name, told in rivals.items()]).fillna("")
    heads = {"title": "program", "weights": "computes in", "prepares": "preparation"}
    with pd.option_context("display.max_colwidth", None):
        return RIVALS.format(table=shown.rename(columns=heads).to_html(index=False, border=0))


def _drift_table(drift: pd.DataFrame) -> str:
    if drift.empty:
        return NO_DRIFT
    shown = drift.assign(
        drift=drift["drift"].map("{:.1%}".format),
        **{name: drift[name].map("{:.3f}".format) for name in ("fastest_ms", "slowest_ms")},
    )
    heads = {"fastest_ms": "shortest [ms]", "slowest_ms": "longest [ms]"}
    return DRIFT.format(table=shown.rename(columns=heads).to_html(index=False, border=0))


def _in_few_cells(flat: Mapping[str, Any]) -> dict[str, str]:
    """Join the entries with the same first part of the key, since variants differ in their parameters."""
    cells: dict[str, list[str]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        cells.setdefault(first, []).append(f"{rest} {value}" if rest else str(value))
    return {first: ", ".join(entries) for first, entries in cells.items()}
