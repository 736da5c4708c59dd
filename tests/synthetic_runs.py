"""Small tables of runs with given times and counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.results.gather import summarise
from relaxometer.results.processes import process_part
from relaxometer.results.statistics import Estimate, Part, log_median

CLASSES = {"cuda": "gpu", "cpu": "cpu-1", "host": "emulated"}


def searches(
    variant: str,
    times_ms: list[float],
    *,
    graph: str = "town",
    kernel: str = "",
    device_kind: str = "cuda",
    device: str = "",
    status: str = "ok",
    to_all_us: float = float("nan"),
    repetitions: int = 2,
    kind: str = "",
    rival: bool = False,
    version: str | None = None,
    upload_ms: float = 0.0,
    prepare_ms: float = 0.5,
    cold_ms: float | None = None,
    problem: str = "sssp",
    rounds: Sequence[float] = (1.0,),
) -> pd.DataFrame:
    """Rows of timings: one per source, repetition and round, with sources numbered from 0.

    `kind` is the class; by default a CPU program has one core. `rounds` has the factor of the times in each
    round; `repetitions` are those of a round. By default the first answer takes preparation and a search.
    """
    rows = [
        {
            "problem": problem,
            "graph": graph,
            "variant": variant,
            "kernel": kernel or variant,
            "device_kind": device_kind,
            "device": device
            or {"cuda": "NVIDIA X", "cpu": "CPU X", "host": "host emulation on CPU X"}[device_kind],
            "class": kind or CLASSES[device_kind],
            "rival": rival,
            "parameter_to_all_us": to_all_us,
            "parameter_version": version,
            "source": source,
            "round": number,
            "repetition": repetition,
            "time_ms": time_ms * factor,
            "upload_ms": upload_ms,
            "prepare_ms": prepare_ms,
            "cold_ms": prepare_ms + times_ms[0] if cold_ms is None else cold_ms,
            "phases": 4,
            "reached_arcs": 1000,
            "status": status,
            "reason": "" if status == "ok" else "rule broken",
        }
        for number, factor in enumerate(rounds, start=1)
        for repetition in range(repetitions)
        for source, time_ms in enumerate(times_ms)
    ]
    return pd.DataFrame(rows)


def quiet(device_kind: str = "cuda") -> pd.DataFrame:
    """Rows of runs on a graph of their own whose two processes differ by 0.2%.

    With them in the table, small differences between other runs of the class can be shown.
    """
    names = [f"quiet-{number}" for number in range(12)]
    pairs = [(1.001, 0.999), (0.999, 1.001)] * 6
    return pd.concat(
        [
            searches(name, [1.0] * 8, graph="elsewhere", rounds=rounds, device_kind=device_kind)
            for name, rounds in zip(names, pairs, strict=True)
        ]
    )


def rival(name: str, times_ms: list[float], **options: Any) -> pd.DataFrame:
    """Rows of timings of a rival, by default on one core of a CPU."""
    return searches(name, times_ms, **{"device_kind": "cpu", "version": "1.2", **options}, rival=True)


def query_sets(
    variant: str,
    times_ms: dict[str, list[float]],
    hashes: Sequence[str | None] = (),
    **options: Any,
) -> pd.DataFrame:
    """Rows of searches of `routes`: the times of the query sets of each name, and the hashes of all sets."""
    names = [name for name, of_name in times_ms.items() for _ in of_name]
    times = [ms for of_name in times_ms.values() for ms in of_name]
    rows = searches(variant, times, problem="routes", **options)
    digests = hashes or [f"{name}-{number}" for number, name in enumerate(names)]
    found = {"queries": dict(enumerate(names)), "queries_hash": dict(enumerate(digests))}
    return rows.assign(**{column: rows["source"].map(values) for column, values in found.items()})


def phases(
    variant: str,
    updated: list[int],
    *,
    graph: str = "town",
    sources: int = 2,
    mode: str = "all",
    device_kind: str = "cuda",
) -> pd.DataFrame:
    """Rows of phases, with the same counts of updated vertices for every source."""
    rows = [
        {
            "problem": "sssp",
            "graph": graph,
            "variant": variant,
            "kernel": variant,
            "device_kind": device_kind,
            "device": "NVIDIA X",
            "source": source,
            "phase": phase,
            "mode": mode,
            "updated": count,
            "relaxed_arcs": 3 * count,
            "time_ms": 0.01 * phase,
        }
        for source in range(sources)
        for phase, count in enumerate(updated, start=1)
    ]
    return pd.DataFrame(rows)


def metadata(name: str = "town", vertices: int = 1000) -> dict:
    """Content of a ``graph.json``."""
    return {
        "name": name,
        "vertices": vertices,
        "arcs": 3200,
        "mean_degree": 3.2,
        "mean_weight": 83_666.0,
        "sd_weight": 184_384.0,
        "weight_unit": "ms",
    }


def spread(mean: float, sources: int = 12) -> list[float]:
    """Distinct times within 2% of a mean, in the same pattern for every mean."""
    return [mean * (1 + 0.04 * (0.618 * source % 1 - 0.5)) for source in range(sources)]


def summary_of(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of ``summary.csv`` for some rows."""
    return summarise(pd.concat(tables, ignore_index=True))


def texts(figure: Any) -> str:
    """Return every text of a figure, drawn or written, in one line."""
    found = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        found += [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
        found += [text.get_text() for text in axes.texts]
    return " ".join(" ".join(found).split())


class Namesakes:
    """Runs in pairs of neighbours that differ in nothing, as arrays.

    Parameters
    ----------
    sds : array_like of shape (n_pairs,)
        Standard deviation between processes of both runs of a pair. Neighbouring pairs are of one program.
    graphs : int
        Pairs of each program.
    """

    SOURCES = 16

    def __init__(
        self, rng: np.random.Generator, sds: Any, *, graphs: int = 3, rounds: int = 2, noise: float = 0.01
    ) -> None:
        sds = np.repeat(sds, 2)
        levels = rng.normal(0, 1, (len(sds), rounds)) * sds[:, None]
        self.logs = levels.mean(axis=1)[:, None] + rng.normal(
            0, noise / rounds**0.5, (len(sds), self.SOURCES)
        )
        self._own, self._of_program, self._rounds = levels.var(axis=1, ddof=1), 2 * graphs, rounds
        self.parts = [self._part_of(run) for run in range(len(sds))]

    def _part_of(self, run: int) -> Part:
        program = run // self._of_program * self._of_program
        known = self._own[program : program + self._of_program]
        others = [Part(own, self._rounds - 1) for other, own in enumerate(known, program) if other != run]
        return process_part(self._own[run], self._rounds, self._own, others)

    def ratios(self, slowdown: float = 1.0) -> list[Estimate]:
        """Return the time of the second of each pair, slowed down by a factor, over that of the first."""
        found = []
        for one in range(0, len(self.logs), 2):
            log, part = log_median(self.logs[one + 1] + np.log(slowdown) - self.logs[one])
            found.append(Estimate(log, (part, *self.parts[one : one + 2]), self.SOURCES))
        return found
