"""Top-down while few arcs leave the frontier, bottom-up while many do, in one persistent kernel."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._levels import GROUP_VERTICES, PIECE, WARP, WORD, OneLaunch, kernels
from relaxometer.problems.bfs._prepare import KERNELS, PROBED_ARCS, prepare
from relaxometer.problems.bfs._switching import SwitchingParameters

SOURCE = read_source(Path(__file__).with_name("hybrid.cu"))
BLOCK = 512  # threads per block of the persistent kernel, as in its launch bounds


class Parameters(SwitchingParameters):
    """When the search changes direction, and how bottom-up levels search for parents."""

    threshold: NonNegativeInt = Field(32, lt=2**32)
    """A warp searches the rows of at least this many incoming arcs, a thread the others."""
    first_probe: Annotated[int, Field(ge=1, lt=2**32)] | Literal["largest", "first"] = PROBED_ARCS
    """The neighbour that the first bottom-up level probes before it searches a row: the one with the most
    incoming arcs among the first `first_probe` of the row, found once for all searches. "largest" looks at
    all of the row, "first" at its first arc."""

    @property
    def probed_arcs(self) -> int | None:
        """Return the number of arcs of a row among which the neighbour to probe is chosen; None for all."""
        named = {"largest": None, "first": 1}
        return named[self.first_probe] if isinstance(self.first_probe, str) else self.first_probe


class Solver(OneLaunch):
    """BFS that changes direction, in a single cooperative launch.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2.
    Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        n, xp, device = graph.n_vertices, graph.device.xp, graph.device
        module = kernels(device, "hybrid.cu", cooperative=True)
        kernel = module.get_function("hybrid")
        blocks = min(device.max_cooperative_blocks(kernel, BLOCK), -(-n // BLOCK))
        groups, warps = -(-n // GROUP_VERTICES), blocks * BLOCK // WARP
        n_words, capacity = groups * GROUP_VERTICES // WORD, -(-groups // warps) * GROUP_VERTICES
        pieces = n + graph.n_arcs // PIECE
        rows = incoming(graph)
        isolated, probes = prepare(
            device, device.module(KERNELS), n_words, graph.offsets, rows, rows[0], parameters.probed_arcs
        )
        many_arcs, few_vertices = parameters.limits(n, graph.n_arcs)
        search = module.struct(
            "Search",
            n=np.uint32(n),
            n_words=np.uint32(n_words),
            out={"offsets": graph.offsets, "targets": graph.targets},
            into={
                "rows": {"offsets": rows[0], "targets": rows[1]},
                "probes": probes,
                "long_row": np.uint32(parameters.threshold),
            },
            isolated=isolated,
            many_arcs=np.uint64(many_arcs),
            few_vertices=np.uint64(few_vertices),
            visited=xp.empty(n_words, dtype=xp.uint32),
            frontiers=xp.empty(3 * n_words, dtype=xp.uint32),
            listed=xp.empty(warps * capacity, dtype=xp.uint32),
            warp_capacity=np.uint32(capacity),
            lists=xp.empty(2 * pieces, dtype=xp.uint64),
            list_capacity=np.uint64(pieces),
            counts=xp.empty(3 * SOURCE.constants["COUNTS"], dtype=xp.uint64),
        )
        launch = kernel.bind(blocks, BLOCK, (search, np.uint32(0), None, None, None, None))
        self._bind(launch, SOURCE.layout("LevelRecord").dtype)
