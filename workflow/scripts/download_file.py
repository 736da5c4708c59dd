"""Download a dataset's file, or take it from a mirror, and check it."""

import os
from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.datasets.download import fetch
from relaxometer.datasets.registry import DataFile

with job(snakemake):
    file = DataFile.model_validate(snakemake.params.file)
    # Mirrors are no parameter of the rule: where a file was found does not change what it holds.
    named = os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep)
    fetch(
        file.urls,
        Path(snakemake.output[0]),
        sha256=file.sha256,
        expected_bytes=file.bytes,
        mirrors=[*snakemake.config.get("data_mirrors", []), *filter(None, named)],
        terms=snakemake.params.terms,
    )
