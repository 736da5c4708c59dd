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
<h2>Configuration</h2>
<pre>{config}</pre>
"""


def provenance_page(merged: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return a page of the contexts that :mod:`relaxometer.results.contexts` merged and the configuration."""
    common = pd.DataFrame(merged["common"].items(), columns=["what", "value"])
    runs = pd.DataFrame([_in_few_cells(run) for run in merged["runs"]]).fillna("")
    body = BODY.format(
        count=len(runs),
        common=common.to_html(index=False, border=0),
        runs=runs.to_html(index=False, border=0),
        config=html.escape(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)),
    )
    return page("Provenance", body)


def _in_few_cells(flat: Mapping[str, Any]) -> dict[str, str]:
    """Join the entries with the same first part of the key, since variants differ in their parameters."""
    cells: dict[str, list[str]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        cells.setdefault(first, []).append(f"{rest} {value}" if rest else str(value))
    return {first: ", ".join(entries) for first, entries in cells.items()}
