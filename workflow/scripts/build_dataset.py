"""Read or generate a graph, or a batch of small ones, and write it as Parquet."""

import os
from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.datasets.build import build_batch, build_graph
from relaxometer.datasets.pins import pin_downloads
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import write_batch
from relaxometer.graphs.graph import read_graph, write_graph

# Child processes of a reader import this script again and must not repeat its work.
if __name__ == "__main__":
    with job(snakemake, isolated=True):
        inputs = dict(snakemake.input.items())
        files = [Path(file) for file in inputs.get("files", [])]
        dataset = Dataset.model_validate({**snakemake.params.dataset, **snakemake.params.about})
        folder = Path(snakemake.output.metadata).parent
        if dataset.format == "graph500" and not snakemake.resources.get("gpu", 0):
            # The generator takes any GPU that it sees; another job may be timed on one that is not reserved.
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        # By the folder, not by the dataset, so that a name in the wrong folder raises an error that says so.
        if folder.parent.name == "batches":
            batch = build_batch(folder.name, dataset, files=files)
            pin_downloads(dataset, files, batch.metadata)
            write_batch(batch, folder)
        else:
            base = read_graph(Path(inputs["base"][0]).parent) if "base" in inputs else None
            graph = build_graph(folder.name, dataset, files=files, base=base)
            pin_downloads(dataset, files, graph.metadata)
            write_graph(graph, folder)
