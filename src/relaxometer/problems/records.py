"""The tables that searches are recorded in, by one device or several ranks."""

import pyarrow as pa

from relaxometer.problems.problem import Problem

WARM_BELOW_MS = 5.0
"""A search follows an untimed one, from another vertex, if the search before it took less than this: the
answer between them is moved or proven, after which a search takes longer on a GPU, 0.03 ms on one."""

TOO_LONG = "a value beyond 2**32 - 2 for a vertex that cannot be reached"

RUNS = pa.schema(
    [
        ("source", pa.int64()),
        ("round", pa.int32()),
        ("repetition", pa.int32()),
        ("time_ms", pa.float64()),
        ("prepare_ms", pa.float64()),
        ("cold_ms", pa.float64()),
        ("call_ms", pa.float64()),
        ("call_prepare_ms", pa.float64()),
        ("call_cold_ms", pa.float64()),
        ("upload_ms", pa.float64()),
        ("download_ms", pa.float64()),
        ("certify_ms", pa.float64()),
        ("clock_ms", pa.float64()),
        ("phases", pa.int64()),
        ("relaxed_arcs", pa.int64()),
        ("reached", pa.int64()),
        ("reached_arcs", pa.int64()),
        ("input_edges", pa.int64()),
        ("peak_bytes", pa.int64()),
        ("leaked_bytes", pa.int64()),
        ("energy_j", pa.float64()),
        ("energy_low_j", pa.float64()),
        ("energy_high_j", pa.float64()),
        ("gross_j", pa.float64()),
        ("idle_w", pa.float64()),
        ("nvml_peak_bytes", pa.int64()),
        ("nvml_before_bytes", pa.int64()),
        ("kernel_bytes", pa.int64()),
        ("copy_gb_s", pa.float64()),
        ("throttled", pa.string()),
        ("queries", pa.string()),
        ("queries_hash", pa.string()),
        ("answer", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)
"""One row per (source, repetition); repetitions are counted from 0 through all rounds.

``time_ms`` is by the contestant's clock; ``clock_ms`` by ours, with the way there and back.
``prepare_ms`` and ``cold_ms`` are the same in all rows of a round. ``cold_ms`` is the time from the graph's
arrays on the device to the first answer there: a preparation and the search after it, by the host's clock.
Both are medians over those of the calls; without calls, the first ones of the process. Gathered searches
have the median over the calls of all rounds in all rows of a run.
``call_ms``, from arrays in host memory to an answer there, is one span: upload or building, preparation,
search and download. It is of another search from the row's source; null in rows without one, as are
``call_prepare_ms`` and ``call_cold_ms``, of the preparation that follows it and of that with its search.

From ``peak_bytes`` to ``copy_gb_s`` they are the same in all rows of a round, and null where they were not
measured (docs/cost.md). ``throttled`` says why clocks were held back right after the search. ``queries`` and
``queries_hash`` are the name of the query set and the hash of its queries
(:func:`relaxometer.problems.queries.content_hash`); null where a search starts from a vertex.
``answer`` is what the contestant found in that time (:func:`relaxometer.problems.problem.answer_of`): a rival
may find distances alone, where our variants find a tree.
"""


def certificates_schema(problem: Problem) -> pa.Schema:
    """Return the schema of a problem's certificates: how often each answer breaks each rule."""
    key = [("source", pa.int64()), ("round", pa.int32()), ("repetition", pa.int32())]
    return pa.schema([*key, ("holds", pa.bool_())] + [(f"rule_{rule}", pa.int64()) for rule in problem.rules])


PHASES = pa.schema(
    [
        ("source", pa.int64()),
        ("phase", pa.int32()),
        ("mode", pa.string()),
        ("updated", pa.int64()),
        ("relaxed_arcs", pa.int64()),
        ("time_ms", pa.float64()),
    ]
)
"""One row per phase of the instrumented run of each source."""
