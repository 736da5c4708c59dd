"""The three sentences that open the report: who won by how much, how surely, and on which machine."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd

from relaxometer.core.files import read_frame
from relaxometer.core.words import counted
from relaxometer.report.catalogue import MACHINE, SUMMARISED, Exhibit, Inputs, View, without_curves
from relaxometer.report.figures.names import label, prepared, rounded, shown_version
from relaxometer.report.figures.summary import was_run
from relaxometer.results.races import NEITHER, OURS, RACE, RIVAL, winners
from relaxometer.results.rows import FAILURES, NOT_TRIED, PROVEN
from relaxometer.results.samples import is_emulated, with_class

OTHER = {OURS: RIVAL, RIVAL: OURS}
MAX_TIES = 3  # races without a difference that are named

NOBODY = "No program finished in real time with every answer proven correct."
ALONE = "Nobody else ran on these graphs, so nothing is compared."
ONE_SIDE = "On no graph did both our programs and rivals finish in real time, so nothing is compared."


def sentences(summary: pd.DataFrame, timings: pd.DataFrame, measured: str = "", speed: str = "") -> list[str]:
    """Return the sentences.

    `measured` is when the runs were, and `speed` how far the machine's speed changed, if that was far.
    """
    races = winners(timings)
    lines = with_class(summary)
    return [_outcome(races, lines), _certainty(races, lines, timings), _machine(lines, measured, speed)]


def _outcome(races: pd.DataFrame, lines: pd.DataFrame) -> str:
    """Say who won where and by how much, with the preparation of each."""
    if races.empty:
        return NOBODY
    decided = races.dropna(subset=["winner"])
    if decided.empty:
        both_ran = (lines[was_run(lines)].groupby(RACE)["rival"].nunique() > 1).any()
        return f"{_fastest(races)} {ONE_SIDE if both_ran else ALONE}"
    sides = ((OURS, "our programs"), (RIVAL, "rivals"))
    said = [_wins(decided[decided["winner"] == side], side, who) for side, who in sides]
    said = [*filter(None, said)]
    tied = decided[decided["winner"] == NEITHER]
    ties = len(tied)
    if ties:
        where = "" if ties == len(decided) else f"in {ties} "
        said.append(f"{where}no difference is shown ({_ties(tied)})")
    few = len(decided) - ties - int(decided["winner"].isin((OURS, RIVAL)).sum())
    if few:
        said.append(f"in {few} there are too few sources for a verdict")
    count = f"{len(decided)} races" if len(decided) > 1 else "one race"
    return f"In {count} of our best program against the best rival, {'; '.join(said)}."


def _ties(tied: pd.DataFrame) -> str:
    """Name the two programs of the first races without a difference."""
    named = [
        f"{_name(race, OURS)} and {_name(race, RIVAL)} in {_place(race)}"
        for _, race in tied.head(MAX_TIES).iterrows()
    ]
    return ", ".join([*named, *["and others"] * (len(tied) > MAX_TIES)])


def _place(race: pd.Series) -> str:
    return f"{label(race['problem'])} on {race['graph']}"


def _wins(won: pd.DataFrame, side: str, who: str) -> str:
    """Say how many races a side won, and describe its narrowest and its clearest win."""
    if won.empty:
        return ""
    factor = won["ratio"] if side == OURS else 1 / won["ratio"]
    ordered = won.assign(factor=factor).sort_values("factor")
    wins = [_win(ordered.loc[place], side) for place in dict.fromkeys((ordered.index[0], ordered.index[-1]))]
    return f"{who} won {len(won)}: {' to '.join(wins)}"


def _win(race: pd.Series, side: str) -> str:
    ends = race["ratio_low"], race["ratio_high"]
    low, high = ends if side == OURS else (1 / ends[1], 1 / ends[0])
    interval = f"95% interval {rounded(low)} to {rounded(high)}; " if np.isfinite(low) else ""
    sides = f"{interval}{_side(race, side)}, against {_side(race, OTHER[side])}"
    return f"{rounded(race['factor'])} times as fast in {_place(race)} ({sides})"


def _side(race: pd.Series, side: str) -> str:
    """Name the best program of a side with its time and its preparation."""
    preparation = prepared(race[f"{side}_prepare_ms"])
    after = f" after {preparation} ms of preparation" if preparation else ""
    return f"{_name(race, side)}, {rounded(race[f'{side}_ms'])} ms{after}"


def _name(race: pd.Series, side: str) -> str:
    version = shown_version(race[f"{side}_version"]) if side == RIVAL else ""
    return f"{race[side]} {version}".rstrip()


def _fastest(races: pd.DataFrame) -> str:
    best = races[OURS].fillna(races[RIVAL])
    said = []
    for problem, names in best.groupby(races["problem"], sort=False):
        counts = ", ".join(f"{name} on {count}" for name, count in names.value_counts().items())
        said.append(f"{label(str(problem))}: {counts}")
    return f"The fastest programs, by the number of graphs: {'; '.join(said)}."


def _certainty(races: pd.DataFrame, lines: pd.DataFrame, timings: pd.DataFrame) -> str:
    """Say how sure the outcome is: the test, and what was proven."""
    decided = races[races["winner"].isin((OURS, RIVAL))] if len(races) else races
    status = timings["status"]
    proven, searched = int(status.isin(PROVEN).sum()), int((~status.isin(NOT_TRIED)).sum())
    said = f"{proven:,} of {searched:,} answers were proven correct"
    failed = int(lines["status"].isin(FAILURES).sum())
    if failed:
        said += f", and {failed} of {len(lines)} runs failed"
    if decided.empty:
        return f"{said}."
    sources = decided["sources"]
    over = f"{sources.min():.0f}" + (f" to {sources.max():.0f}" if sources.min() < sources.max() else "")
    return f"A test over {over} common samples tells each winner from the loser; {said}."


def _machine(lines: pd.DataFrame, measured: str, speed: str) -> str:
    """Name devices, day and races, a change of the speed, and the kernels that were only emulated."""
    timed = lines.dropna(subset=["device"])
    emulated = is_emulated(timed)
    devices = " and ".join(timed.loc[~emulated, "device"].unique()) or "no device in real time"
    when = f", {measured}" if measured else ""
    said = f"Measured on {devices}{when}{_raced(timed[~emulated])}"
    said += f"; the machine's speed {speed}" if speed else ""
    names = timed.loc[emulated, "variant"].nunique()
    if names:
        programs, whose = ("one GPU program", "its") if names == 1 else (f"{names} GPU programs", "their")
        said += f"; {programs} ran on an emulated device, and {whose} times are not compared"
    return f"{said}."


def _raced(timed: pd.DataFrame) -> str:
    """Say how many programs ran in real time, for each problem."""
    said = []
    for problem, lines in timed.groupby("problem", sort=False):
        graphs = lines["graph"].unique()
        where = graphs[0] if len(graphs) == 1 else f"{len(graphs)} graphs"
        programs = counted(lines["variant"].nunique(), "program")
        said.append(f"{label(str(problem))} on {where} by {programs}")
    return f": {', '.join(said)}" if said else ""


def _draw(inputs: Inputs) -> str:
    (machine,) = inputs.files("machine")
    known = read_frame(machine, header=None, index_col=0)[1]
    measured = " to ".join(dict.fromkeys(one[:10] for one in str(known.get("Measured", "")).split(" to ")))
    said = sentences(inputs.summary(), inputs.searches(), measured, str(known.get("Speed", "")))
    parts = "\n".join(f"<p>{html.escape(one)}</p>" for one in said)
    return f'<div class="lead">\n{parts}\n</div>\n'


EXHIBITS = (
    Exhibit(
        "lead",
        _draw,
        (View("lead", suffix="html"),),
        lambda *_: {**SUMMARISED, "machine": MACHINE},
        wanted=lambda plan: bool(plan.runs),
        params=without_curves,
    ),
)
