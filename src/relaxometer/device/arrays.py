"""The type of arrays in a device's memory: NumPy's on the emulated device, CuPy's on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class DeviceArray(Protocol):
    """What NumPy's and CuPy's arrays have in common, as far as drivers use it.

    Methods take what NumPy's do; CuPy lacks some options, which only a GPU shows. Results of operators have
    the type that the dtypes give.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __invert__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...

    @property
    def astype(self) -> Callable[..., Any]:
        """Return a copy with elements of another type."""

    @property
    def view(self) -> Callable[..., Any]:
        """Return the same bytes as elements of another type."""

    @property
    def reshape(self) -> Callable[..., Any]:
        """Return the same elements in another shape."""

    @property
    def copy(self) -> Callable[..., Any]:
        """Return a copy."""

    @property
    def fill(self) -> Callable[..., Any]:
        """Set all elements."""

    @property
    def sum(self) -> Callable[..., Any]:
        """Return the sum of the elements."""

    @property
    def min(self) -> Callable[..., Any]:
        """Return the smallest element."""

    @property
    def max(self) -> Callable[..., Any]:
        """Return the largest element."""

    @property
    def any(self) -> Callable[..., Any]:
        """Return whether an element is not zero."""

    @property
    def all(self) -> Callable[..., Any]:
        """Return whether no element is zero."""
