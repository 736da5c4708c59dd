"""Draw figure 11 of Hirakushi and Takahashi: the share of vertices by degree."""

from pathlib import Path

from relaxometer.figures import hybrid_bfs, style
from relaxometer.graph import read_degrees
from relaxometer.scripting import job

with job(snakemake):
    degrees = read_degrees(Path(snakemake.input.vertices).parent)
    style.save(hybrid_bfs.degree_shares(degrees, snakemake.wildcards.graph), snakemake.output[0])
