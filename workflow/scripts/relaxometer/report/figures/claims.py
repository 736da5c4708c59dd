"""The claims of the papers: those that were measured on the landing page, all of them on a page."""

from __future__ import annotations

import pandas as pd

from relaxometer.core.files import read_frame
from relaxometer.report.catalogue import SUMMARY, Exhibit, Inputs, View
from relaxometer.report.figures.summary import rounded
from relaxometer.report.pages import NOTHING, table
from relaxometer.results.claims import as_printed, intervals

HEADING = "<h1>Claims of the papers</h1>"
EXPLAINED = (
    "Published values, and the values of this run. <em>Same</em>: the 95% interval lies within the claim's "
    "own range; <em>exceeded</em> or <em>less than claimed</em>: beyond or short of it, "
    "and <em>higher</em> or <em>lower than claimed</em> if the claim has no direction; <em>undecided</em>: "
    "it holds an end of the range. All claims are under Summary, with the reasons why some were not measured."
)


def claims_in_short(short: pd.DataFrame) -> str:
    """Return a section of the landing page: the measured claims, and how many were not measured.

    Parameters
    ----------
    short : DataFrame of str
        From :func:`relaxometer.results.claims.readable_claims`.
    """
    if short.empty:
        return NOTHING
    measured = short[short["Measured"].fillna("") != ""]
    missing = short.loc[measured.index.symmetric_difference(short.index), "Claim"]
    counts = missing.str.extract(r"^(\d+) claims$")[0].dropna().astype(int)
    said = [EXPLAINED] if len(measured) else []
    if counts.sum():
        one = counts.sum() == 1
        said.append(
            f"{counts.sum()} claim{'' if one else 's'} could not be measured in this run; the page of claims "
            "under Summary says why."
        )
    rows = table(measured.fillna("").itertuples(index=False), list(measured.columns)) if len(measured) else ""
    return f"{HEADING}\n<p>{' '.join(said)}</p>\n{rows}\n"


def claims_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Return all claims as text, one row per claim."""
    measured = claims["measured"].notna()
    return pd.DataFrame(
        {
            "Id": claims["id"],
            "Claim": claims["text"],
            "Claimed": claims["claimed"].map(as_printed),
            "Measured": claims["measured"].map(rounded),
            "95% interval": intervals(claims),
            "Unit": claims["unit"],
            "Ratio": claims["ratio"].map(rounded),
            "Verdict": claims["verdict"],
            "Graph": claims["graph"],
            "Where": claims["where"],
            "Paper": claims["source"],
            "Measured on": claims["device"].where(measured, ""),
        }
    ).fillna("")


def _draw(inputs: Inputs) -> dict[str, str | pd.DataFrame]:
    (short,) = inputs.files("short")
    read = read_frame(short, dtype=str)
    return {"claims-in-short": claims_in_short(read), "claims": claims_table(inputs.table("claims"))}


EXHIBITS = (
    Exhibit(
        "claims",
        _draw,
        lambda *_: {"claims": "results/claims.parquet", "short": "results/tables/common/claims.csv"},
        views=(
            View("claims-in-short", suffix="html"),
            View("claims", SUMMARY, labels={"table": "claims of the papers"}, suffix="html"),
        ),
        wanted=lambda plan: bool(plan.runs),
    ),
)
