"""How long real files take to become CSR Parquet: ``python -m relaxometer.datasets.bench [folder ...]``.

The files are looked for in the folders, or else in those of ``RELAXOMETER_DATA_MIRRORS`` and in
``results/downloads``. Of several repetitions, the fastest counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset, load_registry
from relaxometer.graph import write_graph

REGISTRY = Path(__file__).parents[4] / "resources/datasets.yaml"
LIMITS_S = {"usa-ny": 1.5, "osm-porto": 3.0}
"""The datasets, and how long each may take."""

REPETITIONS = 3


def build_and_write_s(name: str, dataset: Dataset, file: Path) -> float:
    """Return the seconds from the file to its Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_graph(build_graph(name, dataset, files=[file]), Path(folder))
        return time.perf_counter() - start


def main() -> None:
    """Print a line for each dataset."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.datasets.bench", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path)
    named = filter(None, os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep))
    folders = parser.parse_args().folder or [*map(Path, named), Path("results/downloads")]
    datasets = load_registry(REGISTRY, {})
    for name, limit in LIMITS_S.items():
        dataset = datasets[name]
        found = [folder / str(dataset.file_name) for folder in folders]
        file = next((file for file in found if file.is_file()), None)
        if file is None:
            print(f"{name:<10} {dataset.file_name} is in none of: {', '.join(map(str, folders))}")
            continue
        seconds = min(build_and_write_s(name, dataset, file) for _ in range(REPETITIONS))
        print(f"{name:<10} {seconds:6.2f} s (at most {limit} s)")


if __name__ == "__main__":
    main()
