"""Measure how fast the device copies its own memory."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.device import get_device
from relaxometer.device.rates import copy_rate
from relaxometer.graphs.graph import write_json

with job(snakemake):
    write_json(copy_rate(get_device(snakemake.params.device)), Path(snakemake.output[0]))
