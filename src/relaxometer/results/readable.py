"""Numbers and claims as text, for tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

DIGITS = 6
"""Significant digits of ``claims.csv``."""


def number_text(number: float) -> str:
    """Return a number as in ``claims.csv``: a whole one in full, others with :data:`DIGITS` digits.

    Examples
    --------
    >>> number_text(1427876.0), number_text(0.60621261), number_text(float("nan")), number_text(float("inf"))
    ('1427876', '0.606213', '', 'inf')
    """
    if np.isnan(number):
        return ""
    return str(int(number)) if float(number).is_integer() else f"{number:.{DIGITS}g}"


def as_printed(value: float) -> str:
    """Format a published value with all its digits, or as nothing if it is missing."""
    return "" if np.isnan(value) else f"{value:,.10g}"


def readable_claims(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the report's landing page: rounded, with units, as text.

    Claims that were not measured share one row per reason.
    """
    measured = claims[claims["measured"].notna()]
    table = pd.DataFrame(
        {
            "Claim": measured["text"],
            "Where": measured["where"],
            "Graph": measured["graph"],
            "Claimed": _with_unit(measured, "claimed"),
            "Measured": _with_unit(measured, "measured"),
            "95% interval": intervals(measured),
            "Ratio": [_ratio(ratio) if pd.notna(ratio) else "" for ratio in measured["ratio"]],
            "Verdict": measured["verdict"],
        }
    )
    reasons = claims.loc[claims["measured"].isna(), "verdict"].value_counts(sort=False)
    others = pd.DataFrame({"Claim": [f"{count} claims" for count in reasons], "Verdict": reasons.index})
    return pd.concat([table, others], ignore_index=True)


def _ratio(value: float) -> str:
    """Format a ratio with two decimals, or in two digits where decimals would show less of it."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _with_unit(claims: pd.DataFrame, column: str) -> list[str]:
    values = zip(claims[column].astype(float), claims["unit"], strict=True)
    return [f"{_readable(value)} {unit}".strip() if pd.notna(value) else "" for value, unit in values]


def _readable(value: float) -> str:
    """Format a number in four digits, and a large one as an integer, without an exponent."""
    return f"{value:,.4g}" if abs(value) < 9_999.5 else f"{value:,.0f}"


def intervals(claims: pd.DataFrame) -> list[str]:
    """Return "low to high", or nothing for exact values and where there are too few samples."""
    ends = zip(claims["low"].astype(float), claims["high"].astype(float), strict=True)
    return [f"{_readable(low)} to {_readable(high)}" if low < high else "" for low, high in ends]
