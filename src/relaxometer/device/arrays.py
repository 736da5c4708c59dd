"""The type of arrays in a device's memory: NumPy's on the emulated device, CuPy's on a GPU."""

from typing import Any, TypeAlias

import numpy.typing as npt

DeviceArray: TypeAlias = npt.NDArray[Any]
"""An array in a device's memory, of any shape and dtype.

CuPy's arrays pass for NumPy's: their methods take what NumPy's do, but lack some options, which only a GPU
shows.
"""


def value_of(word: Any) -> Any:
    """Return a number as it is, and the number in an array of one word."""
    return word[0] if getattr(word, "ndim", 0) else word
