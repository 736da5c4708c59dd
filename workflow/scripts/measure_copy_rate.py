"""Measure how fast the device copies its own memory."""

from pathlib import Path

from relaxometer.core.files import write_json
from relaxometer.core.scripting import job
from relaxometer.device import get_device
from relaxometer.device.rates import copy_rate

with job(snakemake):
    write_json(copy_rate(get_device(snakemake.params.device)), Path(snakemake.output[0]))
