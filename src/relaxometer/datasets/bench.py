"""Checks the time and memory that datasets take against their targets: ``make bench-data``.

Each dataset is made in its own process, as in a job of the workflow, from its files to its Parquet. The
fastest of several repetitions counts, so compilation is left out. Memory is the peak resident set size. Files
come from ``results/downloads``, the mirrors, or their URLs.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError
from relaxometer.datasets.registry import DataFile, Dataset, load_registry

# This module loads no numerics before a dataset is made: Linux counts the memory that a process held when it
# started another program in that program's peak.

REGISTRY = ROOT / "resources/datasets.yaml"
CONFIG = ROOT / "config/config.yaml"
DOWNLOADS = ROOT / "results/downloads"

UNITS = {"seconds": "s", "peak memory": "GB", "memory to read, per CSR size": "times"}
"""Units of the figures of a dataset."""


@dataclass(frozen=True)
class Case:
    """A dataset to make, and the upper limits of its figures.

    Parameters
    ----------
    dataset : str
    limits : dict
        By name of the figure; see `UNITS`.
    repetitions : int
    warm_up : str, optional
        Content of a tiny file of the same format, read first so that all code is loaded.
    """

    dataset: str
    limits: dict[str, float]
    repetitions: int = 1
    warm_up: str | None = None


CASES = (
    Case("usa-ny", {"seconds": 1.5}, repetitions=3),
    Case("osm-porto", {"seconds": 3}, repetitions=3),
    Case("kron-g500-s20", {"seconds": 15, "peak memory": 3}, repetitions=2),
    Case("cfg-python-stdlib", {"seconds": 60}),
    Case("usa-ne-topology", {"memory to read, per CSR size": 3}, warm_up="p tw 2 1\n1 2\n"),
)


def measure(name: str, repetitions: int, warm_up: str | None, files: list[Path]) -> dict[str, float]:
    """Make a dataset in this process, and return its figures."""
    dataset = load_registry(REGISTRY, {})[name]
    with tempfile.TemporaryDirectory() as folder:
        if warm_up:
            tiny = Path(folder) / "tiny"
            tiny.write_text(warm_up, encoding="utf-8")
            entry: Dataset = Dataset.model_validate({"format": dataset.format, "path": str(tiny)})
            _make("tiny", entry, [tiny], Path(folder))
        before = _peak_bytes()
        runs = [_make(name, dataset, files, Path(folder)) for _ in range(repetitions)]
    seconds, read, sizes = zip(*runs, strict=True)
    values = min(seconds), _peak_bytes() / 1e9, (read[0] - before) / max(sizes[0], 1)
    return dict(zip(UNITS, values, strict=True))


def _make(name: str, dataset: Dataset, files: list[Path], folder: Path) -> tuple[float, int, int]:
    """Return the seconds from files to Parquet, the peak memory of reading, and the bytes of the CSR arrays.

    Both sizes are zero for a batch.
    """
    from relaxometer.datasets.build import build_graph
    from relaxometer.datasets.build_batch import build_batch
    from relaxometer.graphs.batch import write_batch
    from relaxometer.graphs.graph import write_graph

    start = time.perf_counter()
    if dataset.is_batch:
        write_batch(build_batch(name, dataset, files=files), folder)
        return time.perf_counter() - start, 0, 0
    graph = build_graph(name, dataset, files=files)
    read = _peak_bytes()
    write_graph(graph, folder)
    seconds = time.perf_counter() - start
    columns = (graph.offsets, graph.targets, graph.weights, graph.lon, graph.lat)
    return seconds, read, sum(column.nbytes for column in columns if column is not None)


def _peak_bytes() -> int:
    # Kilobytes, but bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measured_apart(case: Case, dataset: Dataset) -> dict[str, float]:
    """Make a dataset in its own process, and return its figures.

    Raises
    ------
    UserError
        If a file cannot be fetched or the dataset cannot be made; gives the reason in one line.
    """
    files = [str(_fetched(file, dataset.terms)) for file in dataset.files]
    order = [case.dataset, case.repetitions, case.warm_up, files]
    command = [sys.executable, "-m", "relaxometer.datasets.bench", json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise UserError(lines[-1] if lines else f"the process ended with code {done.returncode}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _fetched(file: DataFile, terms: str) -> Path:
    """Return the path of a data file; fetch it if it is missing."""
    from relaxometer.datasets.download import Retries, all_mirrors, fetch

    assert file.file_name is not None, "the project's own datasets are downloads or need no file"
    path = DOWNLOADS / file.file_name
    if not path.is_file():
        config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
        fetch(
            file.urls,
            path,
            sha256=file.sha256,
            expected_bytes=file.bytes,
            mirrors=all_mirrors(config.get("data_mirrors", [])),
            terms=terms,
            retries=Retries(attempts=2),
        )
    return path


def main() -> int:
    """Print one line per target; return 1 if one is missed."""
    datasets = load_registry(REGISTRY, {})
    print(f"{'dataset':<18}{'figure':<33}{'at most':>12}{'measured':>14}")
    missed = False
    for case in CASES:
        try:
            figures = measured_apart(case, datasets[case.dataset])
        except UserError as error:
            print(f"{case.dataset:<18}not measured: {error}", flush=True)
            continue
        for figure, limit in case.limits.items():
            too_much = figures[figure] > limit
            missed |= too_much
            print(
                f"{case.dataset:<18}{figure:<33}{f'{limit:g} {UNITS[figure]}':>12}"
                f"{f'{figures[figure]:.2f} {UNITS[figure]}':>14}{'  missed' if too_much else ''}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        name, repetitions, warm_up, paths = json.loads(sys.argv[1])
        try:
            print(json.dumps(measure(name, repetitions, warm_up, [Path(path) for path in paths])))
        except UserError as error:
            sys.exit(str(error))
    else:
        sys.exit(main())
