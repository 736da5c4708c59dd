"""Download a data file, or copy it from a mirror, and check it."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.datasets.download import all_mirrors, fetch
from relaxometer.datasets.registry import DataFile

with job(snakemake, isolated=True):
    file = DataFile.model_validate(snakemake.params.file)
    fetch(
        file.urls,
        Path(snakemake.output[0]),
        sha256=file.sha256,
        expected_bytes=file.bytes,
        # Not a parameter of the rule, since the file is the same from every mirror.
        mirrors=all_mirrors(snakemake.config.get("data_mirrors", [])),
        terms=str(snakemake.params.terms),
    )
