"""Time ExtractMin by every method that the survey's table 1 compares."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.device import get_device
from relaxometer.measure.extract_min import time_all

with job(snakemake):
    device = get_device(snakemake.params.device)
    write_table(time_all(device, seed=snakemake.params.seed), Path(snakemake.output[0]))
