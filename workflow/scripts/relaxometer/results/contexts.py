"""What the runs were measured on and with: merged as JSON, as a page, and as a few lines."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from relaxometer.report.pages import page

Flat = dict[str, Any]

BODY = """<h2>The same in all {count} runs</h2>
{common}
<h2>Different between runs</h2>
<div class="wide">
{runs}
</div>
<h2>Configuration</h2>
<pre>{config}</pre>
"""


def read_contexts(files: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return the contents of each run's ``context.json``."""
    return [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]


def merge_contexts(contexts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put what all runs share in one place.

    Parameters
    ----------
    contexts : sequence of mapping
        As ``measure`` makes them; nested keys come out joined by dots.

    Returns
    -------
    dict
        ``common``: the entries that are the same in every run; ``runs``: for each run its
        ``problem/graph/variant`` under ``run``, and the other entries. What stands under ``after`` as it does
        under ``before`` is left out.
    """
    flat = [_without_unchanged(flatten(context)) for context in contexts]
    first = flat[0] if flat else {}
    common = {key: value for key, value in first.items() if all(other.get(key) == value for other in flat)}
    runs = [
        {"run": "/".join(str(one[f"run.{key}"]) for key in ("problem", "graph", "variant"))}
        | {key: value for key, value in one.items() if key not in common and not _names_run(key)}
        for one in flat
    ]
    return {"common": {key: value for key, value in common.items() if not _names_run(key)}, "runs": runs}


def flatten(nested: Mapping[str, Any], prefix: str = "") -> Flat:
    """Return nested mappings as one, their keys joined by dots."""
    flat: Flat = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _without_unchanged(flat: Flat) -> Flat:
    """Leave out the entries under ``after`` that are the same under ``before``."""
    unchanged = {
        key
        for key, value in flat.items()
        if key.startswith("after.") and flat.get(key.replace("after.", "before.", 1)) == value
    }
    return {key: value for key, value in flat.items() if key not in unchanged}


def _names_run(key: str) -> bool:
    return key in ("run.problem", "run.graph", "run.variant")


def provenance_page(merged: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return one self-contained HTML page of the merged contexts and the configuration in force.

    Parameters
    ----------
    merged : mapping
        From :func:`merge_contexts`.
    config : mapping
    """
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
    """Put what begins with the same word into one cell, since each variant has parameters of its own."""
    cells: dict[str, list[str]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        cells.setdefault(first, []).append(f"{rest} {value}" if rest else str(value))
    return {first: ", ".join(entries) for first, entries in cells.items()}


def machine_lines(contexts: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the few lines of the report's first page: what ran where, from which commit and when.

    Parameters
    ----------
    contexts : sequence of mapping
        As ``measure`` makes them.
    """
    before = ("driver", "cuda_driver_api", "cuda_runtime", "cupy", "compiler")
    lines = {
        "Device": [context["device"] for context in contexts],
        **{key.replace("_", " "): [context["before"].get(key) for context in contexts] for key in before},
        "Machine": [context["machine"] for context in contexts],
        "Commit": [context["commit"] for context in contexts],
        "Measured": [_first_and_last(context["date"] for context in contexts)] if contexts else [],
    }
    told = {
        what: "; ".join(dict.fromkeys(str(one) for one in values if one)) for what, values in lines.items()
    }
    return pd.DataFrame([(what, value) for what, value in told.items() if value], columns=["what", "value"])


def data_lines(graphs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return for each graph what it is, whose data it is, and under which terms.

    Parameters
    ----------
    graphs : sequence of mapping
        Contents of ``graph.json``.
    """
    keys = {"Graph": "name", "Content": "description", "Data": "attribution", "Terms": "license"}
    return pd.DataFrame({head: [graph.get(key, "") for graph in graphs] for head, key in keys.items()})


def _first_and_last(dates: Iterable[str]) -> str:
    ordered = sorted(dates)
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
