"""Who wins where: the best variant against the best rival on each graph."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from relaxometer.report.catalogue import SUMMARISED, Exhibit, Inputs, View, without_curves
from relaxometer.report.figures.names import CLASSES, label, prepared, rounded, shown_version
from relaxometer.results.gather import with_sets
from relaxometer.results.races import NEITHER, OURS, RACE, RIVAL, TOO_FEW, winners
from relaxometer.results.samples import with_class
from relaxometer.results.statistics import FEWEST

COLUMNS = (
    *("Problem", "Graph", "Faster", "Our best", "Our class", "Our answer", "Ours [ms]"),
    *("Our preparation [ms]", "Ours, cold [ms]", "Ours, a call [ms]", "Best rival"),
    *("Its class", "Its answer", "Rival [ms]"),
    *("Its preparation [ms]", "Rival, cold [ms]", "Rival, a call [ms]", "Rival / ours", "95% interval"),
    "Sources",
)

NO_RIVAL = "No rival was in this run."
NO_DIFFERENCE = "no difference shown"


def winners_table(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`relaxometer.results.races.winners` as text, one row per race that a rival was to run.

    The lines of ``summary.csv`` tell why a side has no time.
    """
    lines = with_class(with_sets(summary, timings))
    races = lines.loc[lines["rival"], RACE].drop_duplicates()
    compared = races.merge(winners(timings), on=RACE, how="left")
    rows = [_row(race, lines) for race in compared.to_dict("records")]
    nothing = {**dict.fromkeys(COLUMNS, ""), "Problem": NO_RIVAL}
    return pd.DataFrame(rows or [nothing], columns=list(COLUMNS))


def _row(race: Mapping[Hashable, Any], lines: pd.DataFrame) -> dict[str, str]:
    of_race = lines[(lines["problem"] == race["problem"]) & (lines["graph"] == race["graph"])]
    low, high = race["ratio_low"], race["ratio_high"]
    return {
        "Problem": label(race["problem"]),
        "Graph": race["graph"],
        "Faster": _verdict(race, of_race),
        **dict(zip(COLUMNS[3:10], _side(race, OURS), strict=True)),
        **dict(zip(COLUMNS[10:17], _side(race, RIVAL), strict=True)),
        "Rival / ours": rounded(race["ratio"]),
        "95% interval": f"{rounded(low)} to {rounded(high)}" if low > 0 else "",
        "Sources": f"{race['sources']:.0f}" if race["sources"] > 0 else "",
    }


def _side(race: Mapping[Hashable, Any], side: str) -> tuple[str, ...]:
    """Return name, class, answer and the four times of the best of a side; empty if nobody finished."""
    if pd.isna(race[side]):
        return ("",) * 7
    version = shown_version(race[f"{side}_version"]) if side == RIVAL else ""
    name = f"{race[side]} {version}".rstrip()
    time, cold, call = (rounded(race[f"{side}_{span}ms"]) for span in ("", "cold_", "call_"))
    answer = race[f"{side}_answer"]
    what = CLASSES[race[f"{side}_class"]], "" if pd.isna(answer) else answer
    return name, *what, time, prepared(race[f"{side}_prepare_ms"]), cold, call


def _verdict(race: Mapping[Hashable, Any], lines: pd.DataFrame) -> str:
    """Say who is faster, by what factor, or why nobody is said to be."""
    if race["winner"] == OURS:
        return f"ours, {rounded(race['ratio'])} times as fast"
    if race["winner"] == RIVAL:
        return f"the rival, {rounded(1 / race['ratio'])} times as fast"
    if race["winner"] == NEITHER:
        return NO_DIFFERENCE
    if race["winner"] == TOO_FEW:
        return f"not compared: fewer than {FEWEST} common sources"
    missing = [_missing(lines[lines["rival"] == (side == RIVAL)], side) for side in (OURS, RIVAL)]
    sides = [text for side, text in zip((OURS, RIVAL), missing, strict=True) if pd.isna(race[side])]
    return f"not compared: {' and '.join(sides)}"


def _missing(lines: pd.DataFrame, side: str) -> str:
    if side == OURS and (lines["class"] == "emulated").all():
        return "our variants were emulated only" if len(lines) else "no variant of ours was run"
    reasons = lines[lines["class"] != "emulated"]
    named = ", ".join(f"{line.variant}: {line.status}" for line in reasons.itertuples())
    return f"no {'rival' if side == RIVAL else 'variant of ours'} finished ({named})"


def in_short(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of :func:`winners_table` with fewer columns, for the landing page."""

    def joined(text: str, *more: str) -> pd.Series:
        said = [", ".join(filter(None, row)) for row in table[list(more)].to_numpy().tolist()]
        return table[text] + [f" ({one})" if one else "" for one in said]

    return pd.DataFrame(
        {
            **{column: table[column] for column in COLUMNS[:3]},
            "Our best": joined("Our best", "Our class", "Our answer"),
            "Time [ms]": table["Ours [ms]"],
            "Preparation [ms]": table["Our preparation [ms]"],
            "Cold [ms]": table["Ours, cold [ms]"],
            "A call [ms]": table["Ours, a call [ms]"],
            "Best rival": joined("Best rival", "Its class", "Its answer"),
            "Its time [ms]": table["Rival [ms]"],
            "Its preparation [ms]": table["Its preparation [ms]"],
            "Rival, cold [ms]": table["Rival, cold [ms]"],
            "Rival, a call [ms]": table["Rival, a call [ms]"],
            "Rival / ours": joined("Rival / ours", "95% interval"),
        }
    )


def _draw(inputs: Inputs) -> dict[str, pd.DataFrame]:
    table = winners_table(inputs.summary(), inputs.searches())
    return {"winners": table, "winners-in-short": in_short(table)}


EXHIBITS = (
    Exhibit(
        "winners",
        _draw,
        (
            View("winners", "Summary", labels={"table": "who wins where"}, suffix="csv"),
            View("winners-in-short", suffix="csv"),
        ),
        lambda *_: SUMMARISED,
        wanted=lambda plan: bool(plan.runs),
        params=without_curves,
    ),
)
