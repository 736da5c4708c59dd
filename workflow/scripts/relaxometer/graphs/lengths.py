"""Types of weights, and how kernels hold them: a weight or the length of a path is one word of 32 bits.

Words of lengths compare as the lengths do, so kernels find minima of words whatever the type. Only adding a
weight to a length depends on it (``problems/sssp/_lengths.cuh``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError

_SIGN = np.uint32(2**31)

ON_CYCLE = np.int32(-(2**31))
"""The distance of a vertex on a negative cycle, where that is the answer; no path has this length."""


@dataclass(frozen=True)
class Lengths:
    """One type of weights; lengths of paths have the same type.

    Parameters
    ----------
    dtype : dtype
        Of weights and lengths, 32 bits wide.
    options : tuple of str
        Compiler options of kernels that add lengths.
    zero : uint32
        The word of length 0.
    unreached : uint32
        The word of a vertex that no path leads to, larger than that of any length.
    is_offset : bool
        Whether the words of lengths are the numbers with the sign bit flipped. Otherwise they are the
        numbers' own bits. Words of weights always are.
    smallest, largest : number
        Range of the weights.
    """

    dtype: np.dtype[Any]
    options: tuple[str, ...]
    zero: np.uint32
    unreached: np.uint32
    is_offset: bool
    smallest: float
    largest: float

    @property
    def name(self) -> str:
        """The name of the type in configurations and files."""
        return self.dtype.name

    @property
    def is_signed(self) -> bool:
        """Whether weights may be negative."""
        return self.smallest < 0

    def sorted_words(self, weights: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """Return words of weights, uint32, that compare as the weights do."""
        words: npt.NDArray[np.uint32] = weights.view(np.uint32)
        return words ^ _SIGN if self.is_offset else words

    def from_sorted_words(self, words: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
        """Return the weights of words from :meth:`sorted_words`."""
        return (words ^ _SIGN if self.is_offset else words).view(self.dtype)

    def words(self, distance: Any) -> Any:
        """Return the words of lengths, NumPy or device array of uint32 with the shape of `distance`."""
        words = distance.view(np.uint32)
        return words ^ _SIGN if self.is_offset else words

    def distance(self, words: Any) -> Any:
        """Return the lengths of words, NumPy or device array of `dtype` with the shape of `words`.

        Where `words` are `unreached`, the result is :func:`unreached` of the type.
        """
        return (words ^ _SIGN if self.is_offset else words).view(self.dtype)

    def checked(self, values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
        """Return weights as a contiguous array of `dtype`; floating-point numbers are rounded to nearest.

        Parameters
        ----------
        values : array_like of shape (n_arcs,)
            Integers for an integer type.
        name : str
            The graph's name, for messages.

        Raises
        ------
        UserError
            If one is out of range, or not a finite number.
        """
        array = np.asarray(values)
        is_float = self.dtype.kind == "f"
        numbers = (
            f"{self.smallest:g} to {self.largest:g}" if is_float else f"{self.smallest} to {self.largest}"
        )
        if array.size and array.dtype.kind not in ("iuf" if is_float else "iu"):
            kinds = "numbers" if is_float else "integers"
            raise UserError(f"graph {name}: weights are {array.dtype}; {kinds} from {numbers} are expected")
        if array.size and not (array.min() >= self.smallest and array.max() <= self.largest):  # NaN fails
            worst = int(np.argmin((array >= self.smallest) & (array <= self.largest)))
            raise UserError(
                f"graph {name}: weight of arc {worst} is {array[worst]}; expected "
                f"{'a finite number' if is_float else 'an integer'} from {numbers}"
            )
        converted = np.ascontiguousarray(array, dtype=self.dtype)
        return converted + np.float32(0) if is_float else converted  # -0.0 becomes 0.0


LENGTHS = {
    "uint32": Lengths(
        np.dtype(np.uint32), (), np.uint32(0), np.uint32(2**32 - 1), False, smallest=0, largest=2**32 - 2
    ),
    "float32": Lengths(
        np.dtype(np.float32),
        ("-DFLOAT32_LENGTHS",),
        np.uint32(0),
        np.float32(np.inf).view(np.uint32),
        False,
        smallest=0,
        largest=float(np.finfo(np.float32).max),
    ),
    "int32": Lengths(
        np.dtype(np.int32),
        ("-DINT32_LENGTHS",),
        _SIGN,
        np.uint32(2**32 - 1),
        True,
        smallest=-(2**31 - 1),
        largest=2**31 - 1,
    ),
}
"""The types of weights by name."""


def lengths_of(array: Any) -> Lengths:
    """Return the type of an array of weights or distances."""
    return LENGTHS[array.dtype.name]


def unreached(dtype: npt.DTypeLike) -> Any:
    """Return the distance of a vertex that is not reached, a scalar of `dtype`.

    It is 2**32 - 1, infinity, or 2**31 - 1.
    """
    kind = LENGTHS[np.dtype(dtype).name]
    return kind.distance(np.array([kind.unreached]))[0]
