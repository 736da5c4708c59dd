"""Arrays for answers, allocated before they are needed."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.kernels import Launch
from relaxometer.graphs.resident import ResidentGraph

Arrays = TypeVar("Arrays")


class Ahead(Generic[Arrays]):
    """The arrays of the next answer, allocated while the device is busy with a search.

    An answer owns its arrays: none is given out twice. `allocate` returns those of one answer, and `use`
    makes new ones arguments of the next launch.
    """

    def __init__(self, allocate: Callable[[], Arrays], use: Callable[[Arrays], None]) -> None:
        self._allocate, self._use = allocate, use
        self._next: Arrays | None = None

    def take(self) -> Arrays:
        """Return the arrays of the search that is launched next."""
        arrays, self._next = self._next, None
        return self._new() if arrays is None else arrays

    def prepare(self) -> None:
        """Allocate for the next search, after this one was launched; where memory is short, do not."""
        if self._next is None:
            try:
                self._next = self._new()
            except DeviceOutOfMemory:
                self._next = None

    def _new(self) -> Arrays:
        arrays = self._allocate()
        self._use(arrays)
        return arrays


def arrays_ahead(graph: ResidentGraph, launch: Launch, **sizes: int) -> Ahead[dict[str, Any]]:
    """Return the arrays of a kernel's answers by name, uint32 but for the graph's type of a `distance`."""
    empty, lengths = graph.device.xp.empty, graph.lengths

    def allocate() -> dict[str, Any]:
        types = {"distance": lengths.distances}
        return {name: empty(size, dtype=types.get(name, np.uint32)) for name, size in sizes.items()}

    def use(arrays: dict[str, Any]) -> None:
        words = {"distance": lengths.words(arrays["distance"])} if "distance" in arrays else {}
        launch.set(**arrays | words)

    return Ahead(allocate, use)


def checked_sources(sources: npt.ArrayLike, most: int) -> npt.NDArray[Any]:
    """Return the sources of a call as an array; ValueError if there are none, or more than `most`."""
    array = np.asarray(sources)
    if not 0 < len(array) <= most:
        raise ValueError(f"{len(array)} sources; expected 1 to {most} (parameter sources)")
    return array
