"""The outcome of checking an answer, whatever the problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Outcome of checking one answer.

    Parameters
    ----------
    violations : dict of str to int
        How often each rule is broken.
    first : dict of str to int
        The smallest vertex or query at which each broken rule is broken.
    item : {"vertex", "query"}
        Which of them it is.
    """

    violations: dict[str, int]
    first: dict[str, int]
    item: str = "vertex"

    @property
    def holds(self) -> bool:
        """Whether every rule holds, which proves the answer."""
        return not any(self.violations.values())

    @property
    def reason(self) -> str:
        """The broken rules in words; empty if all hold."""
        return "; ".join(
            f"rule {rule} broken {count} times, first at {self.item} {self.first[rule]}"
            for rule, count in self.violations.items()
            if count
        )
