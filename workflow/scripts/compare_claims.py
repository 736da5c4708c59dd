"""Compare the published claims with the measured values."""

from pathlib import Path

import pyarrow as pa

from relaxometer.core.failures import made, refuse_lack
from relaxometer.core.files import read_frame, write_csv, write_table
from relaxometer.core.scripting import job
from relaxometer.graphs.files import read_description
from relaxometer.plan.models import DistributedRun
from relaxometer.results.claims import compare_claims, load_claims
from relaxometer.results.evidence import Evidence
from relaxometer.results.gather import gather
from relaxometer.results.readable import number_text, readable_claims
from relaxometer.results.samples import proven, proven_phases
from relaxometer.results.scaling import rank_searches

RANKS = Path("results/runs/distributed")

with job(snakemake):
    timings = read_frame(Path(snakemake.input.timings))
    folders = [Path(file).parent for file in refuse_lack(snakemake.input.phases)]
    recorded = gather(folders, "phases.parquet").to_pandas()
    phases = proven_phases(recorded, timings)
    metadata = [read_description(Path(file)) for file in made(snakemake.input.graphs)]
    evidence = Evidence(
        timings,
        phases,
        {graph["name"]: graph for graph in metadata},
        snakemake.params.swept,
        *map(read_frame, map(Path, made(snakemake.input.extract_min))),
        steps=proven(recorded, timings),
        ranks=rank_searches(map(DistributedRun.model_validate, snakemake.params.ranks), RANKS),
    )
    claims = [claim for file in snakemake.input.claims for claim in load_claims(Path(file))]
    compared = compare_claims(claims, evidence)
    write_table(pa.Table.from_pandas(compared, preserve_index=False), Path(snakemake.output.parquet))
    write_csv(compared, Path(snakemake.output.csv), float_format=number_text)
    write_csv(readable_claims(compared), Path(snakemake.output.table))
