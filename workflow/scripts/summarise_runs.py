"""Write one line for each run, also for those that could not be made."""

from pathlib import Path

import pyarrow.parquet as pq

from relaxometer.core.files import replacing
from relaxometer.core.scripting import job
from relaxometer.results.gather import summarise

with job(snakemake):
    table = summarise(pq.read_table(snakemake.input[0]), snakemake.params.lost)
    with replacing(Path(snakemake.output[0])) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")
