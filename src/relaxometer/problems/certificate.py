"""The outcome of checking an answer, whatever the problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Certificate:
    """Outcome of checking one answer."""

    violations: dict[str, int]  # how often each rule is broken
    first: dict[str, int]  # the smallest vertex or query at which each broken rule is broken
    item: str = "vertex"  # or "query"

    @classmethod
    def of_report(cls, rules: Iterable[str], report: Any) -> Certificate:
        """Return what kernels report, violations and smallest vertex by rule; those without a report hold."""
        counts = dict.fromkeys(rules, 0)
        first = {}
        for rule, (count, vertex) in zip(counts, report.tolist(), strict=False):
            counts[rule] = count
            if count:
                first[rule] = vertex
        return cls(counts, first)

    @classmethod
    def of_items(cls, rules: Iterable[str], **found: npt.NDArray[np.integer[Any]]) -> Certificate:
        """Return the outcome of the vertices that break each rule; rules that are not named hold."""
        first = {rule: int(items.min()) for rule, items in found.items() if len(items)}
        return cls(dict.fromkeys(rules, 0) | {rule: len(items) for rule, items in found.items()}, first)

    @property
    def holds(self) -> bool:
        """Whether every rule holds, which proves the answer."""
        return not any(self.violations.values())

    def outcome(
        self, *, overflowed: bool = False, too_long: str = "", rule: str = "left_out"
    ) -> tuple[str, str]:
        """Return the status of the answer, and the reason where it is not ``ok``.

        A search that meets a length beyond the type, if it has `overflowed`, does not follow it, or gives up
        all vertices that depend on it. The answer is right if that was only a detour, so the proof decides:
        an arc out of the reached vertices shows that it was not, and breaks `rule` only. All other rules hold
        without that path, so an answer that breaks one of them is wrong. `too_long` is the reason of the
        status ``error`` (:attr:`relaxometer.graphs.lengths.Lengths.too_long`).
        """
        if self.holds:
            return "ok", ""
        if overflowed and {name for name, count in self.violations.items() if count} == {rule}:
            return "error", too_long
        return "invalid", self.reason

    @property
    def reason(self) -> str:
        """The broken rules in words; empty if all hold."""
        return "; ".join(
            f"rule {rule} broken {'once' if count == 1 else f'{count} times'}, "
            f"first at {self.item} {self.first[rule]}"
            for rule, count in self.violations.items()
            if count
        )
