"""Parameters of searches that probe packed neighbours, on one GPU or several."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.problems import variants
from relaxometer.problems.bfs._levels import WORD
from relaxometer.problems.bfs.hybrid_packed import _best_neighbours as packed

_CONSTANTS = read_source(packed.KERNELS.with_name("_packed_bottom_up.cuh")).constants
GROUP_VERTICES = _CONSTANTS["GROUP_WORDS"] * WORD  # vertices that a warp scans at a time
MAX_HUBS = _CONSTANTS["MAX_HUB_WORDS"] * WORD


class PackedParameters(variants.Parameters):
    """When the search changes direction, and how bottom-up levels search for parents."""

    alpha: PositiveFloat = 15
    """Bottom-up begins when more than 1 / alpha of all arcs leave the frontier."""
    beta: PositiveFloat = 50
    """Top-down begins again when more than beta vertices are open for each one found in a level, and more
    than `patience` per thread."""
    patience: NonNegativeFloat = 8
    """Open vertices per thread, above which top-down may begin again."""
    hubs: PositiveInt = Field(2**16, le=MAX_HUBS)
    """Vertices with the most incoming arcs, whose bits every block keeps in shared memory; rounded up to a
    multiple of 32."""
    best_of: Annotated[int, Field(ge=1, lt=2**32)] | Literal["all"] = packed.BEST_OF
    """Arcs at the beginning of each row among which its five best neighbours are chosen."""
    threshold: NonNegativeInt = Field(64, lt=2**32)
    """Arcs of a row that a thread searches before its whole warp does."""

    @property
    def most(self) -> int | None:
        """Arcs of a row among which its best neighbours are chosen, or None for all."""
        return None if self.best_of == "all" else self.best_of

    def hub_words(self, n_vertices: int) -> int:
        """Return the words of the bitmap of hubs."""
        return -(-min(self.hubs, n_vertices) // WORD)

    def rule(self, n_arcs: int, n_threads: int) -> dict[str, Any]:
        """Return the members of the kernels' struct ``Rule``."""
        return {
            "many_arcs": np.uint64(n_arcs / self.alpha if self.alpha > 1e-9 else 2**63),
            "patience": np.uint64(self.patience * n_threads),
            "beta": np.float32(self.beta),
        }
