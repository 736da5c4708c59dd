"""Whether a generated graph fits the memory of the ranks, before it is made."""

from __future__ import annotations

import psutil  # type: ignore[import-untyped]

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.partition import Layout

ARC_BYTES = {False: 48, True: 64}
"""Bytes per arc of a rank while its block is built and prepared, without and with weights: the arrays that
exist at once, counted in `build.py` and in the engines."""

VERTEX_BYTES = 48  # the same per head and per tail of a rank
FIXED_BYTES = 3 << 30  # for batches of edges on their way, and the libraries


def needed_bytes(scheme: str, n_ranks: int, parameters: Graph500Parameters, *, weighted: bool) -> int:
    """Estimate the bytes that each rank needs."""
    layout = Layout(scheme, n_ranks, 1 << parameters.scale)
    place = layout.place(0)
    n_arcs = 2 * parameters.edge_factor << parameters.scale
    n_vertices = (len(place.heads) + len(place.tails)) * layout.piece
    batches = min(FIXED_BYTES, 128 * n_arcs // n_ranks)
    return n_arcs // n_ranks * ARC_BYTES[weighted] + n_vertices * VERTEX_BYTES + batches


def refuse_too_large(ranks: Ranks, scheme: str, parameters: Graph500Parameters, *, weighted: bool) -> None:
    """Raise `UserError`, with the largest scale that fits, if a rank has too little free memory."""
    free = ranks.reduce([_free_bytes(ranks)], "min")[0]

    def needed(scale: int) -> int:
        return needed_bytes(
            scheme, ranks.size, parameters.model_copy(update={"scale": scale}), weighted=weighted
        )

    if needed(parameters.scale) <= free:
        return
    fitting = [scale for scale in range(1, parameters.scale) if needed(scale) <= free]
    advice = f"kron:{fitting[-1]} fits" if fitting else "no scale fits"
    raise UserError(
        f"graph kron:{parameters.scale} needs about {needed(parameters.scale) / 1e9:.3g} GB on each of "
        f"{ranks.size} ranks, but only {free / 1e9:.3g} GB are free; {advice}"
    )


def _free_bytes(ranks: Ranks) -> int:
    """Return the free memory of this rank's device; ranks share that of a host, and GPUs that they share."""
    if ranks.device.kind == "host":
        return int(psutil.virtual_memory().available) // ranks.local_size
    free = int(ranks.device.xp.cuda.runtime.memGetInfo()[0])
    pool = int(ranks.device.xp.get_default_memory_pool().free_bytes())
    return (free + pool) // (1 if ranks.have_own_gpus else ranks.local_size)
