"""Read or generate a batch of small graphs and write it as Parquet."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.datasets.build_batch import build_batch
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import write_batch

# Processes that a reader starts import this script again, and must not do its work.
if __name__ == "__main__":
    with job(snakemake):
        files = [Path(file) for file in dict(snakemake.input.items()).get("files", [])]
        dataset = Dataset.model_validate(snakemake.params.dataset)
        batch = build_batch(snakemake.wildcards.batch, dataset, files=files)
        write_batch(batch, Path(snakemake.output.metadata).parent)
