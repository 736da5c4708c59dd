"""Red zones around the arrays of the host device (``emulator/guards.h``).

NumPy takes the memory of its arrays from ``emulator/guards.cpp``, as NEP 49 provides. So every array made
after a host device is opened has red zones, also those that expressions and methods return. Slices share the
red zones of their array.
"""

import ctypes
import functools
from typing import Any

import numpy as np

from relaxometer.device.host_build import build_guards, can_load_unaligned

# The place of PyDataMem_SetHandler in NumPy's C interface, which only ever grows.
_SET_HANDLER = 304
_FAR = 2**36  # bytes beyond which an address belongs to no array: 32-bit indices reach less far


@functools.cache
def install_guards() -> int | None:
    """Let NumPy allocate arrays with red zones; return the address of ``Guards``, None without the space."""
    library = ctypes.CDLL(str(build_guards()))
    library.emulator_guards.restype = library.emulator_numpy_handler.restype = ctypes.c_void_p
    guards: int | None = library.emulator_guards(ctypes.c_size_t(1 if can_load_unaligned() else 16))
    if guards is not None:
        _set_numpy_handler(library.emulator_numpy_handler())
    return guards


def _set_numpy_handler(handler: int) -> None:
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    functions = python.PyCapsule_GetPointer(np._core.multiarray._ARRAY_API, None)  # type: ignore[attr-defined]
    address = ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    set_handler(python.PyCapsule_New(handler, b"mem_handler", None))


def element_name(address: int, arrays: dict[str, Any]) -> str:
    """Name the element of the nearest of several arrays that an address would be."""
    nearest = min(arrays, key=lambda name: _distance(address, arrays[name]), default=None)
    if nearest is None or _distance(address, arrays[nearest]) > _FAR:
        return f"address {address:#x}"
    array = arrays[nearest]
    index = (address - array.ctypes.data) // array.itemsize
    return f"{nearest}[{index}] ({array.size} elements of {array.dtype})"


def _distance(address: int, array: np.ndarray[Any, Any]) -> int:
    begin = array.ctypes.data
    return max(begin - address, address - (begin + array.nbytes) + 1, 0)
