"""Published claims compared with measured values.

`verdict` holds the rule by which each claim is judged; docs/statistics.md explains it.
:mod:`relaxometer.results.quantities` measures what is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, PositiveFloat, RootModel, field_validator, model_validator

from relaxometer.core.files import RESTORE, read_frame
from relaxometer.core.validation import validated
from relaxometer.core.yaml_files import read_yaml
from relaxometer.results import bundle_file
from relaxometer.results.evidence import NOWHERE, Evidence, Measured, NotMeasured, Origin
from relaxometer.results.processes import with_processes
from relaxometer.results.published import BUNDLE, SAMPLES, read_samples
from relaxometer.results.quantities import OF_SEARCHES, QUANTITIES, TIMES
from relaxometer.results.statistics import FEWEST

COLUMNS = [
    *("id", "source", "where", "text", "graph", "quantity"),
    *("claimed", "measured", "low", "high", "unit", "ratio", "verdict"),
    *("tolerance", "direction", "device", "device_kind"),
]


class Claim(BaseModel):
    """One claim; ``resources/claims/README.md`` explains the keys. `source` is the name of the paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    source: str
    where: str
    text: str
    graph: str = ""
    quantity: str = ""
    unmeasured: str = ""
    key: str = ""
    of: str = ""
    over: str = ""
    at: float | None = None
    claimed: PositiveFloat | None = None
    unit: str = ""
    tolerance: PositiveFloat = 0.1
    direction: Literal["higher", "lower", "equal"] | None = None
    against: float = 1.0
    by_construction: bool = False

    @field_validator("quantity")
    @classmethod
    def _is_known(cls, quantity: str) -> str:
        if quantity and quantity not in QUANTITIES:
            raise ValueError(f"known quantities are {', '.join(QUANTITIES)}")
        return quantity

    @model_validator(mode="after")
    def _has_a_quantity_or_a_reason(self) -> Self:
        if bool(self.quantity) == bool(self.unmeasured):
            raise ValueError("either a quantity or a reason why it is unmeasured")
        return self


class Claims(RootModel[list[Claim]]):
    """All claims of a file."""


def load_claims(path: Path) -> list[Claim]:
    """Read the claims of a paper from a file named after it; UserError if an entry is wrong."""
    entries = read_yaml(path)
    if isinstance(entries, list):
        entries = [one | {"source": path.stem} if isinstance(one, dict) else one for one in entries]
    return validated(Claims, entries, str(path)).root


def compare_claims(claims: Sequence[Claim], evidence: Evidence) -> pd.DataFrame:
    """Return one row per claim with the columns `COLUMNS`."""
    if len(evidence.timings):
        evidence = replace(evidence, timings=with_processes(evidence.timings))
    return pd.DataFrame([_line(claim, partial(_measure, evidence)) for claim in claims], columns=COLUMNS)


def judge_again(claims: Sequence[Claim], folder: Path) -> pd.DataFrame:
    """Return the ``claims.csv`` of a published suite, judged from the data that are committed with it.

    Quantities of searches are computed from ``samples.parquet``. Other data of a run are not published: their
    quantities stay as they were measured.
    """
    published = read_frame(folder / "claims.csv", advice=RESTORE).fillna({"graph": ""}).set_index("id")
    evidence = _published_evidence(folder)

    def measure(claim: Claim) -> Measured:
        if claim.unmeasured or (evidence and claim.quantity in OF_SEARCHES):
            return _measure(evidence, claim)
        if claim.id not in published.index:
            raise NotMeasured("the data of this run that decide it were not kept")
        line = published.loc[claim.id]
        if (line["graph"], line["quantity"]) != (claim.graph, claim.quantity):
            raise NotMeasured("another quantity was measured in this run")
        if pd.isna(line["measured"]):
            raise NotMeasured(line["verdict"].removeprefix(UNJUDGED))
        origin = [one if isinstance(one, str) else "" for one in line[["device", "device_kind"]]]
        return Measured(line["measured"], Origin(*origin), (line["low"], line["high"]))

    lines = pd.DataFrame([_line(claim, measure) for claim in claims], columns=COLUMNS)
    unkept = published.index[published["verdict"] == UNKEPT]
    lines.loc[lines["id"].isin(unkept) & lines["low"].isna(), "verdict"] = UNKEPT
    return lines


def _published_evidence(folder: Path) -> Evidence | None:
    """Return the published searches and the graphs of a suite; None if they were not kept."""
    if not ((folder / SAMPLES).is_file() and (folder / BUNDLE).is_file()):
        return None
    timings = read_samples(folder / SAMPLES).to_pandas()
    graphs = bundle_file.read(folder / BUNDLE).manifest.graphs
    known = {name: graph.model_dump() for name, graph in graphs.items()}
    return Evidence(timings, timings.iloc[:0], known)


def _measure(evidence: Evidence | None, claim: Claim) -> Measured:
    if claim.unmeasured or evidence is None:
        raise NotMeasured(claim.unmeasured)
    if claim.graph and claim.graph not in evidence.graphs:
        raise NotMeasured(f"{claim.graph} is not in this run")
    return QUANTITIES[claim.quantity](claim, evidence)


def _line(claim: Claim, measure: Callable[[Claim], Measured]) -> dict[str, Any]:
    try:
        measured = measure(claim)
    except NotMeasured as why:
        return claim.model_dump() | {"verdict": f"{UNJUDGED}{why}", **NOWHERE._asdict()}
    line = claim.model_dump() | {"measured": measured.value}
    line |= zip(("low", "high"), measured.ends, strict=True)
    line["ratio"] = measured.value / claim.claimed if claim.claimed else None
    return line | {"verdict": verdict(claim, measured), **measured.origin._asdict()}


UNJUDGED = "not measured: "
"""How the verdict of a claim without one begins; the reason follows."""

SAME, EXCEEDED, LESS, OPPOSITE = "same", "exceeded", "less than claimed", "opposite"
HIGHER, LOWER = "higher than claimed", "lower than claimed"
NO_GAIN, NO_LOSS, UNDECIDED = "no gain shown", "no loss shown", "undecided"
UNKEPT = f"{UNDECIDED}: samples were not kept"


def verdict(claim: Claim, measured: Measured) -> str:
    """Judge a claim by the interval of the measured value.

    The range of a claim is its value up to the tolerance, as far as it lies on the claimed side of `against`.
    A claim of a direction only has that whole side as its range. An exact value is an interval without width.
    docs/statistics.md has the table of verdicts.
    """
    low, high = measured.ends
    if np.isnan(low) or np.isnan(high):
        return f"{UNDECIDED}: fewer than {FEWEST} samples"
    against = claim.against
    if claim.direction == "lower":  # mirrored, so that the claimed side is above
        low, high, against = -high, -low, -against
    least, most = _range(claim, against)
    if least <= low and high <= most:
        return f"{SAME}, by construction" if claim.by_construction else SAME
    if claim.direction in (None, "equal"):
        return _outside(claim, low > most) if low > most or high < least else UNDECIDED
    if low > most:
        return EXCEEDED
    if high < against:
        return OPPOSITE
    if low <= against and (high < least or claim.claimed is None):
        return NO_LOSS if claim.direction == "lower" else NO_GAIN
    return LESS if high < least else UNDECIDED


def _range(claim: Claim, against: float) -> tuple[float, float]:
    """Return the claim's range, mirrored if it claims a lower value."""
    beyond = float(np.nextafter(against, np.inf))
    if claim.claimed is None and claim.direction != "equal":
        return beyond, float("inf")
    value = claim.against if claim.claimed is None else claim.claimed
    low, high = value * (1 - claim.tolerance), value * (1 + claim.tolerance)
    if claim.direction == "lower":
        low, high = -high, -low
    return (max(low, beyond) if claim.direction in ("higher", "lower") else low), high


def _outside(claim: Claim, above: bool) -> str:
    """Say on which side of its range a value lies whose claim has none."""
    if claim.direction == "equal":
        return f"differs: {claim.of if above else claim.over} is faster"
    if claim.quantity in TIMES:
        return "slower here" if above else "faster here"
    if claim.quantity == "mean_rate":
        return "faster here" if above else "slower here"
    return HIGHER if above else LOWER
