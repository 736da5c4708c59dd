"""Drawing many roads into an image."""

from typing import Any

import numpy.typing as npt

from relaxometer.core.compiled import njit


@njit(cache=True)
def fill_pixels(
    positions: npt.NDArray[Any],
    tails: npt.NDArray[Any],
    heads: npt.NDArray[Any],
    values: npt.NDArray[Any],
    image: npt.NDArray[Any],
) -> None:
    """Write the value of each road into the pixels of the image along it; the last road in a pixel wins.

    Positions of vertices, of shape (n_vertices, 2), are in pixels from the lower left corner.
    """
    for road in range(len(tails)):
        x, y = positions[tails[road]]
        across, up = positions[heads[road]] - positions[tails[road]]
        steps = int(max(abs(across), abs(up))) + 1
        for step in range(steps + 1):
            image[int(y + up * step / steps), int(x + across * step / steps)] = values[road]
