"""Draw figure 11 of Hirakushi and Takahashi: the share of vertices by degree."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_degrees
from relaxometer.report.figures import style
from relaxometer.report.papers import hybrid_bfs

with job(snakemake):
    degrees = read_degrees(Path(snakemake.input.vertices).parent)
    style.save(hybrid_bfs.degree_shares(degrees, snakemake.wildcards.graph), snakemake.output[0])
