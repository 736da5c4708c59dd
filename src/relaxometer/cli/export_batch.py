"""Write a batch for the driver of libreldom: ``relaxometer export-batch FOLDER FILE``."""

import argparse
from pathlib import Path

import numpy as np

from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.core.files import replacing
from relaxometer.graphs.batch import Batch, read_batch

MAGIC = b"reldom1\n"


def write(batch: Batch, file: Path) -> None:
    """Write a batch in the format of ``reldom/flow_graphs.cpp``; all numbers are little-endian.

    `MAGIC`, the numbers of graphs, vertices and arcs, `first_vertex` and `offsets` as int64, `targets` as
    uint32, and the names of the graphs in UTF-8, each with a zero byte behind it.
    """
    counts = np.array([len(batch), batch.n_vertices, batch.n_arcs])
    with replacing(file) as temporary, temporary.open("wb") as target:
        target.write(MAGIC)
        for array in (counts, batch.first_vertex, batch.offsets):
            target.write(array.astype("<i8").tobytes())
        target.write(batch.targets.astype("<u4").tobytes())
        target.write(b"".join(str(name).encode().replace(b"\0", b"") + b"\0" for name in batch.names))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="of a batch, such as results/batches/cfg-python-stdlib")
    parser.add_argument("file", type=Path, help="for the driver to read")


def main(given: argparse.Namespace) -> None:
    try:
        with naming_lacks():
            write(read_batch(given.folder), given.file)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; name a file that can be written") from None
