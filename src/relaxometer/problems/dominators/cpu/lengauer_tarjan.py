"""The simple algorithm of Lengauer and Tarjan, with path compression, on one CPU core."""

from functools import partial

from relaxometer.problems.dominators.cpu import _semidominators
from relaxometer.problems.dominators.cpu._on_cpu import CpuParameters, CpuSolver

Parameters = CpuParameters


class Solver(CpuSolver):
    """Immediate dominators by Lengauer and Tarjan's simple algorithm, compiled with Numba.

    References
    ----------
    Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1, 1979.
    """

    find = partial(_semidominators.find, by_ancestors=False)
    find_on_cores = partial(_semidominators.find_on_cores, by_ancestors=False)
