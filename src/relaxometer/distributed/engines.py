"""The engines: distributed searches, by problem.

Importing this module loads neither MPI nor CuPy nor NCCL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaxometer.core.errors import UserError
from relaxometer.distributed import hybrid_2d, hybrid_peers
from relaxometer.distributed.partition import DEALT, grid_of
from relaxometer.distributed.sssp import sssp_1d, sssp_peers
from relaxometer.problems.variants import Parameters


@dataclass(frozen=True)
class Engine:
    """One way to solve a problem over several ranks.

    `solver` is called with ranks, block and parameters. `only_scheme`, with ``{}`` for the number of ranks,
    is the only scheme that it supports; empty for any.
    """

    solver: Any
    parameters: type[Parameters]
    only_scheme: str = ""

    def scheme(self, given: str, n_ranks: int) -> str:
        """Return the scheme for a number of ranks, for "auto" the engine's; UserError if it does not fit."""
        only = self.only_scheme.format(n_ranks)
        if given == "auto":
            return only or _default(n_ranks)
        if only:
            if given != only:
                raise UserError(f"its engine works on scheme {only} only, given {given}")
            return given
        if given.endswith(DEALT):
            raise UserError(f"its engine does not work on the dealt scheme {given}")
        grid_of(given, n_ranks)
        return given


def _default(n_ranks: int) -> str:
    """Return slices of rows for two ranks, the paper's scheme for 8, 32, ..., else the squarest grid.

    On two ranks slices of rows send half as much, search each head once and need no messages for parents.
    """
    if n_ranks == 2:
        return "2x1"
    if n_ranks & (n_ranks - 1) == 0 and n_ranks.bit_length() % 2 == 0:
        return "paired"
    rows = next(rows for rows in range(int(n_ranks**0.5), 0, -1) if n_ranks % rows == 0)
    return f"{rows}x{n_ranks // rows}"


ENGINES = {
    "bfs": {
        "hybrid-2d": Engine(hybrid_2d.Solver, hybrid_2d.Parameters),
        "hybrid-peers": Engine(hybrid_peers.Solver, hybrid_peers.Parameters, "{}x1"),
    },
    "sssp": {
        "sssp-1d": Engine(sssp_1d.Solver, sssp_1d.Parameters, "1x{}"),
        "sssp-peers": Engine(sssp_peers.Solver, sssp_peers.Parameters, "{}x1-dealt"),
    },
}
"""By problem and name; the first of a problem is the default."""
