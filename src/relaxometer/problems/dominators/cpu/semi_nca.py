"""SEMI-NCA: semidominators, then nearest common ancestors in the growing tree, on one CPU core."""

from functools import partial

from relaxometer.problems.dominators.cpu import _semidominators
from relaxometer.problems.dominators.cpu._on_cpu import CpuParameters, CpuSolver

Parameters = CpuParameters


class Solver(CpuSolver):
    """Immediate dominators by SEMI-NCA, compiled with Numba.

    References
    ----------
    Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", PhD thesis, Princeton 2005.
    """

    find = partial(_semidominators.find, by_ancestors=True)
    find_on_cores = partial(_semidominators.find_on_cores, by_ancestors=True)
