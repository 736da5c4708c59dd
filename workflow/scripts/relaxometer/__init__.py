"""Relaxometer: GPU graph kernels raced on real maps, every answer proven."""

from relaxometer.core.numba_lock import lock_numba

__version__ = "0.1.0"

lock_numba()
