"""The type of arrays in a device's memory."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

DeviceArray = npt.NDArray[Any]
"""NumPy's on the emulated device. On a GPU CuPy's, which have its methods but lack some of their options."""
