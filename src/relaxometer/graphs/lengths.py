"""Types of weights and of lengths of paths, and how kernels hold them.

Weights and lengths of paths are words of 32 or 64 bits. Words of lengths compare as the lengths do, so
kernels find minima of words whatever the type. Only adding a weight to a length depends on it
(``problems/sssp/_lengths.cuh``).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.device.arrays import DeviceArray

_SIGN = np.uint32(2**31)

_REMEDIES = {
    "uint32": "; `distances: uint64` in the graph's dataset holds it",
    "float32": "; weights of type float64 have distances that hold it",
}
"""What holds a length that is too long, by the name of the type."""

MAX_DISTINCT = 2**32
"""Maximum number of different 64-bit weights in a list of arcs that is sorted."""

SMALLEST_SQUARED = 2.0**-450
"""If the largest weight is smaller, or larger than the inverse, squares in float64 may vanish or overflow."""

FAR_FROM_SUBNORMAL = 2.0**-60
"""If the largest float32 weight is at least this, a mean loses less than 2^-33 without subnormals."""

ON_CYCLE = np.int32(-(2**31))
"""The distance of a vertex on a negative cycle, where that is the answer; no path has this length."""


def of_graph(name: str) -> str:
    """Return how a message about a graph begins."""
    return f"graph {name}: " if name else ""


@dataclass(frozen=True)
class Lengths:
    """One type of weights, with that of the lengths of paths."""

    dtype: np.dtype[Any]
    """Of weights, 32 or 64 bits wide."""
    distances: np.dtype[Any]
    """Of lengths: that of the weights, or a wider one."""
    options: tuple[str, ...] = ()
    """Compiler options of kernels that add lengths."""

    @cached_property
    def zero(self) -> np.unsignedinteger[Any]:
        """The word of length 0."""
        return _SIGN if self.is_signed else self.word.type(0)

    @cached_property
    def unreached(self) -> np.unsignedinteger[Any]:
        """The word of a vertex that no path leads to, larger than that of any length."""
        largest = np.inf if self.is_float else np.iinfo(self.word).max
        kind = self.distances if self.is_float else self.word
        word: np.unsignedinteger[Any] = np.array([largest], kind).view(self.word)[0]
        return word

    @cached_property
    def largest(self) -> float:
        """Largest weight."""
        if self.is_float:
            return float(np.finfo(self.dtype).max)
        return int(np.iinfo(self.dtype).max) - (not self.is_signed)

    @property
    def smallest(self) -> float:
        """Smallest weight."""
        return -self.largest if self.is_signed else 0

    @cached_property
    def name(self) -> str:
        """The type of the weights and, if they have another one, a slash and that of lengths."""
        return "/".join(dict.fromkeys((self.dtype.name, self.distances.name)))

    @property
    def title(self) -> str:
        """The type in words."""
        wider = f" with distances of type {self.distances.name}" if self.has_own_distances else ""
        return f"{self.dtype.name}{wider}"

    @property
    def word(self) -> np.dtype[Any]:
        """The type of words of lengths."""
        return np.dtype(f"u{self.distances.itemsize}")

    @property
    def weight_word(self) -> np.dtype[Any]:
        """The type of words of weights."""
        return np.dtype(f"u{self.dtype.itemsize}")

    @property
    def arc_bytes(self) -> int:
        """Bytes of an arc's head and weight."""
        return 4 + self.dtype.itemsize

    @property
    def weight_options(self) -> tuple[str, ...]:
        """Compiler options of kernels that read weights, but add none."""
        return tuple(option for option in self.options if option.startswith("-DWEIGHT_TYPE="))

    @property
    def is_wide(self) -> bool:
        """Whether lengths have 64 bits, so that no word holds one with a predecessor."""
        return self.word.itemsize == 8

    @property
    def is_float(self) -> bool:
        """Whether sums are rounded."""
        return self.dtype.kind == "f"

    @property
    def has_own_distances(self) -> bool:
        """Whether lengths have another type than weights."""
        return self.distances != self.dtype

    @property
    def too_long(self) -> str:
        """The reason why a search failed that met a length beyond the type's, and what would help."""
        remedy = _REMEDIES.get(self.name, "")
        return f"a shortest path is longer than the largest distance of type {self.distances.name}{remedy}"

    @property
    def is_signed(self) -> bool:
        """Whether weights may be negative.

        Then words of lengths are the numbers with the sign bit flipped; otherwise they are the numbers' own
        bits, as words of weights always are.
        """
        return self.dtype.kind == "i"

    def sorted_words(
        self, weights: npt.NDArray[Any], name: str
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[Any] | None]:
        """Return words of weights, uint32, that compare as the weights do.

        Weights of 64 bits are replaced by their ranks, indices of the array that is returned with them: all
        different weights in ascending order. UserError if there are more than `MAX_DISTINCT` of them.
        """
        if self.dtype.itemsize == 8:
            different, ranks = np.unique(weights, return_inverse=True)
            if len(different) > MAX_DISTINCT:
                raise UserError(
                    f"{of_graph(name)}{len(different)} different weights; expected at most {MAX_DISTINCT}"
                )
            return ranks.astype(np.uint32), different
        words: npt.NDArray[np.uint32] = weights.view(np.uint32)
        return words ^ _SIGN if self.is_signed else words, None

    def from_sorted_words(
        self, words: npt.NDArray[np.uint32], different: npt.NDArray[Any] | None
    ) -> npt.NDArray[Any]:
        """Return the weights of words from :meth:`sorted_words`."""
        if different is not None:
            return different[words]
        return (words ^ _SIGN if self.is_signed else words).view(self.dtype)

    def words(self, distance: DeviceArray) -> Any:
        """Return the words of lengths, NumPy or device array of `word` with the shape of `distance`."""
        words = distance.view(self.word)
        return words ^ _SIGN if self.is_signed else words

    def distance(self, words: Any) -> Any:
        """Return the lengths of words, NumPy or device array of `distances` with the shape of `words`.

        Where `words` are `unreached`, the result is :func:`unreached` of the type.
        """
        return (words ^ _SIGN if self.is_signed else words).view(self.distances)

    def checked(self, values: npt.ArrayLike, name: str = "") -> npt.NDArray[Any]:
        """Return weights as a contiguous array of `dtype`; floating-point numbers are rounded to nearest.

        UserError, with the graph's name if it has one, if one is out of range, or not a finite number.
        """
        array = np.asarray(values)
        is_float = self.is_float
        numbers = (
            f"{self.smallest:g} to {self.largest:g}" if is_float else f"{self.smallest} to {self.largest}"
        )
        if array.size and array.dtype.kind not in ("iuf" if is_float else "iu"):
            kinds = "numbers" if is_float else "integers"
            raise UserError(f"{of_graph(name)}weights are {array.dtype}; {kinds} from {numbers} are expected")
        if array.size and not (array.min() >= self.smallest and array.max() <= self.largest):  # NaN fails
            worst = int(np.argmin((array >= self.smallest) & (array <= self.largest)))
            raise UserError(
                f"{of_graph(name)}weight of arc {worst} is {array[worst]}; expected "
                f"{'a finite number' if is_float else 'an integer'} from {numbers}"
            )
        converted = np.ascontiguousarray(array, dtype=self.dtype)
        has_minus_zero = is_float and bool(np.signbit(converted).any())
        return converted + self.dtype.type(0) if has_minus_zero else converted


_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_FLOAT32, _FLOAT64, _INT32 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
_DOUBLES = ("-DFLOAT64_LENGTHS", "-DLENGTH_TYPE=u64", "-DWEIGHT_TYPE=u64")

LENGTHS = {
    "uint32": Lengths(_UINT32, _UINT32),
    "uint32/uint64": Lengths(_UINT32, _UINT64, ("-DLENGTH_TYPE=u64",)),
    "float32": Lengths(_FLOAT32, _FLOAT32, ("-DFLOAT32_LENGTHS",)),
    "float64": Lengths(_FLOAT64, _FLOAT64, _DOUBLES),
    "int32": Lengths(_INT32, _INT32, ("-DINT32_LENGTHS",)),
}
"""The types by name."""

_BY_DTYPES = {(kind.dtype.name, kind.distances.name): kind for kind in LENGTHS.values()}
_BY_DISTANCES = {kind.distances.name: kind for kind in LENGTHS.values()}


def lengths_for(weight_type: str, distance_type: str | None = None) -> Lengths:
    """Return the type of these weights and distances, by default the weights' type.

    UserError if a type is unknown, or weights of this type have no distances of that type.
    """
    given = weight_type, distance_type or weight_type
    if given not in _BY_DTYPES:
        if given[1] not in _BY_DISTANCES:
            raise UserError(f"unknown type {given[1]!r} of distances; known: {', '.join(_BY_DISTANCES)}")
        needed = _BY_DISTANCES[given[1]].dtype
        raise UserError(f"distances of type {given[1]} need weights of type {needed}, not {weight_type}")
    return _BY_DTYPES[given]


def unreached(dtype: npt.DTypeLike) -> Any:
    """Return the distance of a vertex that is not reached, a scalar of `dtype`, a type of distances.

    It is 2**32 - 1, 2**64 - 1, infinity, or 2**31 - 1.
    """
    kind = _BY_DISTANCES[np.dtype(dtype).name]
    return kind.distance(np.array([kind.unreached]))[0]


def mean_weight(weights: DeviceArray) -> float:
    """Return the mean of weights, NumPy or device array; 0 without any.

    If sums of float64 weights could overflow, or their squares underflow, a copy of them is scaled by a power
    of two first; tiny float32 weights are copied as float64. Otherwise nothing is copied on the device.
    """
    if len(weights) == 0:
        return 0.0
    scaled, unit = _scaled(weights)
    return float(scaled.mean(dtype=np.float64)) * unit


def deviation_of(weights: DeviceArray) -> float:
    """Return the standard deviation of weights; as :func:`mean_weight`, but with a copy of them as float64.

    CuPy's own function runs on one block, since its kernel takes several inputs, and rounds differences of
    float32 from their mean to float32.
    """
    if len(weights) == 0:
        return 0.0
    scaled, unit = _scaled(weights)
    squares = scaled.astype(np.float64)
    squares -= squares.mean()
    squares *= squares
    return math.sqrt(float(squares.mean())) * unit


def _scaled(weights: DeviceArray) -> tuple[Any, float]:
    """Return weights whose squares suit float64, and the power of two that they are in units of."""
    if weights.dtype.kind != "f":
        return weights, 1.0
    largest = float(weights.max())
    if weights.dtype == np.float32:
        return weights if largest >= FAR_FROM_SUBNORMAL else _as_doubles(weights), 1.0
    if largest == 0 or SMALLEST_SQUARED <= largest <= 1 / SMALLEST_SQUARED:
        return weights, 1.0
    unit = 2.0 ** (math.frexp(largest)[1] - 1)
    return weights / unit, unit


def _as_doubles(weights: DeviceArray) -> Any:
    """Return float32 numbers that are not negative as float64.

    By integers, since CuPy's kernels take subnormal numbers of float32 for zero.
    """
    words = weights.view(np.uint32)
    exponent = (words >> 23).clip(1).astype(np.int32)
    significand = (words & 0x7FFFFF) | ((words >> 23 != 0).astype(np.uint32) << 23)
    # Both factors and the product are normal numbers of float64.
    return significand.astype(np.float64) * 2.0 ** (exponent - 150)
