"""Measure how fast the device copies its own memory."""

from pathlib import Path

from relaxometer.device import get_device
from relaxometer.device.rates import copy_rate
from relaxometer.graph import write_json
from relaxometer.scripting import job

with job(snakemake):
    write_json(copy_rate(get_device(snakemake.params.device)), Path(snakemake.output[0]))
