"""The report's figures: one module for each published source, and those that belong to none.

What the workflow's rules ask for stands here: the modules import Matplotlib, which takes longer than all else
that Snakemake does before its first job.
"""

PHASE_SYNCHRONOUS = ("conventional", "selection", "adaptive")
"""The kernels of Suzuki et al., that figures 4 to 8 show: in a given phase all update the same vertices."""

HYBRID = "hybrid"
"""The kernel of breadth-first search on the GPU alone, after Hirakushi and Takahashi."""

HYBRID_SWEPT = ("alpha", "beta", "threshold")
"""Parameters of the kernel `hybrid` that are swept."""
