"""The claims of the papers: those that were measured on the landing page, all of them on a page."""

from __future__ import annotations

import pandas as pd

from relaxometer.core.files import read_frame
from relaxometer.core.words import counted
from relaxometer.report.catalogue import CAPTIONS, SUMMARY, Exhibit, Inputs, View
from relaxometer.report.figures.names import rounded
from relaxometer.report.pages import NOTHING, data_table, from_caption, page, table, table_script
from relaxometer.results.readable import as_printed, intervals

HEADING = "<h1>Claims of the papers</h1>"
EXPLAINED = (
    "Published values, and the values of this run. <em>Same</em>: the 95% interval lies within the claim's "
    "own range, <em>by construction</em> if the graph was generated so; "
    "<em>exceeded</em> or <em>less than claimed</em>: beyond or short of it, "
    "and <em>higher</em> or <em>lower than claimed</em> if the claim has no direction; <em>undecided</em>: "
    "it holds an end of the range. All claims are under Summary, with the reasons why some were not measured."
)


def claims_in_short(short: pd.DataFrame) -> str:
    """Return a section of the landing page: the measured claims, and how many were not measured.

    `short` is from :func:`relaxometer.results.readable.readable_claims`.
    """
    if short.empty:
        return NOTHING
    measured = short[short["Measured"].fillna("") != ""]
    missing = short.loc[measured.index.symmetric_difference(short.index), "Claim"]
    count = int(missing.str.extract(r"^(\d+) claims$")[0].dropna().astype(int).sum())
    said = [EXPLAINED] if len(measured) else []
    if count:
        why = "the page of claims under Summary says why"
        said.append(f"{counted(count, 'claim')} could not be measured in this run; {why}.")
    rows = table(measured.fillna("").itertuples(index=False), list(measured.columns)) if len(measured) else ""
    return f"{HEADING}\n<p>{' '.join(said)}</p>\n{rows}\n"


def claims_page(claims: pd.DataFrame, title: str, note: str) -> str:
    """Return the page of all claims, with a `note` as HTML; those that were not measured are folded.

    `claims` are from :func:`relaxometer.results.claims.compare_claims`.
    """
    measured = claims["measured"].notna()
    rows, missing = _claims_table(claims[measured]), _claims_table(claims[~measured])
    missing = missing.drop(columns=["Measured", "95% interval", "Ratio", "Measured on"])
    missing["Reason"] = missing.pop("Verdict").str.removeprefix("not measured: ")
    parts = [f'<div class="note">{note}</div>']
    parts += [data_table(rows, "claims") if len(rows) else "<p>No claim was measured.</p>"]
    if len(missing):
        said = f"{counted(len(missing), 'claim')} not measured"
        folded = data_table(missing, "claims-not-measured")
        parts.append(f"<details><summary>{said}</summary>\n{folded}\n</details>")
    return page(title, "\n".join([*parts, table_script()]))


def _claims_table(claims: pd.DataFrame) -> pd.DataFrame:
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
            "Measured on": claims["device"],
        }
    ).fillna("")


def _draw(inputs: Inputs) -> dict[str, str | pd.DataFrame]:
    (short,) = inputs.files("short")
    note = from_caption((CAPTIONS / "common/claims.rst").read_text(encoding="utf-8"))
    every = claims_page(inputs.table("claims"), PAGE.title, note)
    return {"claims-in-short": claims_in_short(read_frame(short, dtype=str)), "claims": every}


PAGE = View("claims", SUMMARY, labels={"table": "claims of the papers"}, suffix="html")

EXHIBITS = (
    Exhibit(
        "claims",
        _draw,
        (View("claims-in-short", suffix="html"), PAGE),
        lambda *_: {"claims": "results/claims.parquet", "short": "results/tables/common/claims.csv"},
        wanted=lambda plan: bool(plan.runs),
    ),
)
