"""The report's page on devices, software and parameters of the runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import yaml

from relaxometer.report.templates import render

MACHINE = "Machine"
GROUPS = {"": MACHINE, "before": "Device before", "after": "Device after"}
GROUPS |= {"packages": "Packages", "run": "Settings"}
"""Headings of entries by the first part of their keys, in order; those of one part describe the machine."""

ABBREVIATIONS = {"api", "cuda", "ecc", "l2", "nvml", "sm"}

UNITS = {"gb_s": "GB/s", "mhz": "MHz", "w": "W", "c": "°C", "ms": "ms", "us": "µs", "s": "s"}
"""Units by suffix of a key, the longest first."""

MIB = 2**20
LARGE = 9_999.5  # from here on, four significant digits would need an exponent

NONE = {"reference_ms": "not timed", "run.timing.rounds": "default"}
"""Text for a missing value, by key or by its first part."""

CREDITS = {"title": "program", "weights": "computes in", "prepares": "preparation"}
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?")


def provenance_page(
    merged: Mapping[str, Any],
    config: Mapping[str, Any],
    drift: pd.DataFrame,
    rivals: Mapping[str, Mapping[str, str | None]],
) -> str:
    """Return a page of the contexts that were merged, the drift of the machine, and the configuration.

    `merged` and `drift` are from ``merge_contexts`` and ``drift_lines`` of
    :mod:`relaxometer.results.contexts`; `rivals` has by name entries of the ``rival.yaml`` of each rival that
    ran.
    """
    credits = pd.DataFrame([{"rival": name, **told} for name, told in rivals.items()]).fillna("")
    runs = pd.DataFrame([_in_few_cells(run) for run in merged["runs"]]).fillna("")
    return render(
        "provenance",
        title="Provenance",
        count=len(runs),
        groups=_groups(merged["common"]),
        runs=_table(runs),
        rivals=_table(credits.rename(columns=CREDITS)),
        drift=_drift_table(drift),
        config=yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True),
    )


def _table(rows: pd.DataFrame, **options: Any) -> str:
    with pd.option_context("display.max_colwidth", None):
        return str(rows.to_html(index=False, border=0, **options)) if len(rows) else ""


def _drift_table(drift: pd.DataFrame) -> str:
    shown = drift.assign(
        drift=drift["drift"].map("{:.1%}".format),
        **{name: drift[name].map("{:.3f}".format) for name in ("fastest_ms", "slowest_ms")},
    )
    heads = {"fastest_ms": "shortest [ms]", "slowest_ms": "longest [ms]"}
    return _table(shown.rename(columns=heads))


def _groups(common: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a heading and a table for the entries with the same first part of the key."""
    # Entries of `after` are told only where they differ from those of `before`.
    # Keys may differ only in their unit, which is shown with the value.
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in GROUPS.values()}
    for key, value in common.items():
        first, _, rest = key.partition(".")
        heading = GROUPS.get(first, _words(first).capitalize()) if rest else MACHINE
        groups.setdefault(heading, []).append((_words(rest or first), _shown(key, value)))
    return [
        (heading.removesuffix(" before"), _table(pd.DataFrame(entries), header=False))
        for heading, entries in groups.items()
        if entries
    ]


def _in_few_cells(flat: Mapping[str, Any]) -> dict[str, str]:
    """Join the entries with the same first part of the key, since variants differ in their parameters."""
    cells: dict[str, list[str]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        heading = GROUPS.get(first, _words(first)).lower() if rest else _words(first)
        name = _words(rest) if rest else ""
        cells.setdefault(heading, []).append(f"{name} {_shown(key, value)}".strip())
    return {first: ", ".join(entries) for first, entries in cells.items()}


def _words(key: str) -> str:
    """Return a key as words, without its unit."""
    for end in (*UNITS, "bytes"):
        if key.endswith(f"_{end}"):
            key = key.removesuffix(f"_{end}")
            break
    words = key.replace(".", " ").replace("_", " ").split(" ")
    return " ".join(word.upper() if word in ABBREVIATIONS else word for word in words)


def _shown(key: str, value: Any) -> str:
    if value is None:
        return NONE.get(key) or NONE.get(key.partition(".")[0], "none")
    if isinstance(value, str) and MOMENT.match(value):
        return MOMENT.sub(r"\1 \2", value).replace("+00:00", " UTC")
    if key.rpartition("_")[2] == "bytes" and isinstance(value, int):
        return f"{value / MIB:,.0f} MiB" if value >= MIB or not value else f"{value:,} bytes"
    values = value if isinstance(value, list) else [value]
    text = ", ".join(map(_few_digits, values)) if values else "none"
    return f"{text} {_unit(key)}".strip() if all(map(_is_number, values)) and values else text


def _few_digits(value: Any) -> str:
    """Return a fraction in four digits, without an exponent if it is large, and others as they are."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < LARGE else f"{value:,.0f}"


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.replace(".", "", 1).isdecimal()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unit(key: str) -> str:
    """Return the unit that the last part of a key names, or else one before it."""
    ends = ((part, end) for part in reversed(key.split(".")) for end in UNITS)
    return next((UNITS[end] for part, end in ends if f"_{part}".endswith(f"_{end}")), "")
