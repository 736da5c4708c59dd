"""Download a dataset's file, or take it from a mirror, and check it."""

import os
from pathlib import Path

from relaxometer.datasets.download import fetch
from relaxometer.datasets.registry import Dataset
from relaxometer.scripting import job

with job(snakemake):
    dataset = Dataset.model_validate(snakemake.params.dataset)
    # Mirrors are no parameter of the rule: where a file was found does not change what it holds.
    named = os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep)
    fetch(
        dataset.urls,
        Path(snakemake.output[0]),
        sha256=dataset.sha256,
        expected_bytes=dataset.bytes,
        mirrors=[*snakemake.config.get("data_mirrors", []), *filter(None, named)],
        terms=dataset.terms,
    )
