"""A replacement of :mod:`scipy.sparse.csgraph`, whose functions without a kernel are SciPy's own."""

from scipy.sparse.csgraph import *  # noqa: F403

from relaxometer.library.csgraph import *  # noqa: F403
