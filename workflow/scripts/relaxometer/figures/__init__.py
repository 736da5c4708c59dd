"""The report's figures: one module for each published source, and those that belong to none."""

PHASE_SYNCHRONOUS = ("conventional", "selection", "adaptive")
"""The kernels of Suzuki et al., that figures 4 to 8 show: in a given phase all update the same vertices."""
