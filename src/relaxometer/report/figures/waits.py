"""The choice of `auto` for dominators, and its regret: searches in place, and from host to host."""

from __future__ import annotations

import pandas as pd

from relaxometer.report.catalogue import Exhibit, table_view
from relaxometer.report.figures import choice
from relaxometer.report.figures.names import rounded
from relaxometer.results.samples import EMULATED, source_times

QUESTIONS = {False: "resident", True: "host to host"}  # by whether transfers and preparation count


def waits(timings: pd.DataFrame, *, host_to_host: bool) -> pd.DataFrame:
    """Return the proven searches of dominators in real time, `time_ms` being what their user waits for.

    From host to host, upload, preparation and download count where the search itself does not contain them; a
    CPU program is only prepared. Otherwise searches that move a graph to the device are left out.
    """
    rows = timings[(timings["problem"] == "dominators") & (timings["device_kind"] != EMULATED)]
    rows = rows[~rows["rival"]]
    moved, streamed = is_host_to_host(rows), is_streamed(rows)
    if not host_to_host:
        return source_times(rows[(~moved | (rows["device_kind"] == "cpu")) & ~streamed])
    transfers = (rows["upload_ms"] + rows["download_ms"]).where(rows["device_kind"] != "cpu", 0.0)
    before = (transfers + rows["prepare_ms"]).where(~moved, 0.0)
    return source_times(rows.assign(time_ms=rows["time_ms"] + before)[~streamed])


def is_host_to_host(rows: pd.DataFrame) -> pd.Series:
    """Return whether each search was timed from host to host."""
    return rows.get("parameter_host_to_host", pd.Series(False, rows.index)).eq(True)


def is_streamed(rows: pd.DataFrame) -> pd.Series:
    """Return whether the time of each search contains transfers of a prepared batch."""
    return pd.to_numeric(rows.get("parameter_streams", pd.Series(0, rows.index))).fillna(0) > 0


def regrets(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare `auto` with the best other variant on each graph and batch, rivals apart.

    There is a row per question and proven run of `auto` that was made for it. ``regret`` is the share by
    which `auto` exceeds the best; ``in_parts`` tells whether the best is a sum of parts that were timed one
    by one, where `auto` is one call.
    """
    found = []
    at_once = timings[is_host_to_host(timings)].groupby("graph")["variant"].agg(set).to_dict()
    for host_to_host, question in QUESTIONS.items():
        times = waits(timings, host_to_host=host_to_host)
        for graph, variant, ours, others in choice.choices(times):
            run = timings[(timings["graph"] == graph) & (timings["variant"] == variant)].iloc[0]
            if bool(is_host_to_host(run.to_frame().T).iloc[0]) != host_to_host:
                continue
            for best in choice.against_best(ours, others):
                row = {"graph": graph, "question": question, "variant": variant, **best}
                row |= {name: run[f"parameter_{name}"] for name in ("chosen", "because")}
                found.append(row | {"in_parts": host_to_host and best["best"] not in at_once[graph]})
    return pd.DataFrame(found)


def in_short(table: pd.DataFrame) -> str:
    """Return the number of good choices, from the table of :func:`regrets`."""
    if table.empty:
        return choice.NO_CHOICES
    timed = table[~table["in_parts"]]
    others = len(table) - len(timed)
    rest = f"; compared with a sum of parts: {others} more" if others else ""
    return choice.good_choices(timed, "best variant") + rest


def regret_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`regrets` as text, one row per choice and a summary."""
    table = regrets(timings)
    lines = [
        {
            "Graph": row["graph"],
            "Question": row["question"],
            "Chosen": row["chosen"],
            "Why": row["because"],
            "auto [ms]": rounded(row["auto_ms"]),
            "Best variant": row["best"],
            "Best [ms]": rounded(row["best_ms"]),
            "Best timed": "in parts" if row["in_parts"] else "at once",
            "Regret": choice.shown_regret(row["regret"]),
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame([*lines, {"Graph": in_short(table)}]).fillna("")


EXHIBITS = (
    Exhibit(
        "dominator-choices",
        lambda inputs: regret_table(inputs.timings),
        (table_view("dominator-choices", "dominators", "auto", choice.CHOICES),),
        wanted=lambda plan: choice.has_choice(plan, "dominators", of_batches=True),
    ),
)
