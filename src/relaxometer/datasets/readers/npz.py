"""Reader of sparse matrices as ``scipy.sparse.save_npz`` writes them."""

import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.parameters import OwnWeights
from relaxometer.datasets.readers.edge_weights import weights_of
from relaxometer.datasets.readers.text import check_vertices
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

_DAMAGES = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, AttributeError, NotImplementedError),
    *(IndexError, SyntaxError, UnicodeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    RuntimeError,
)
"""What SciPy, NumPy and zipfile raise for damaged files."""


def build(name: str, dataset: Dataset[OwnWeights], file: Path) -> Graph:
    """Make the graph of a matrix; see :data:`relaxometer.datasets.build.Reader`.

    An entry in row `i` and column `j`, zeros included, is an arc from `i` to `j`.
    """
    import scipy.sparse as sp

    try:
        matrix = sp.load_npz(file)
        if matrix.format not in ("csr", "csc", "coo"):
            raise UserError(f"{file}: a matrix of SciPy's format {matrix.format!r}; expected csr, csc or coo")
        if matrix.format != "coo":
            matrix.check_format(full_check=True)
        entries = matrix.tocoo()
        is_square = entries.ndim == 2 and entries.shape[0] == entries.shape[1]
        values = np.asarray(entries.data)
    except _DAMAGES as error:
        raise UserError(f"{file}: not a sparse matrix of SciPy ({quoted(error)}); fetch it again") from None
    if not is_square:
        raise UserError(f"{file}: a matrix of shape {entries.shape}; expected as many rows as columns")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{file}: its values are {values.dtype}; expected real numbers")
    n_vertices = int(entries.shape[0])
    check_vertices(str(file), n_vertices, len(values), "entries")
    given = None if values.dtype.kind == "b" else values.astype(np.float64)
    weights = weights_of(file, dataset.parameters, entries.row, entries.col, given, directed=True)
    metadata = {"entries_in_file": len(values)}
    return typed_graph(name, n_vertices, entries.row, entries.col, weights, metadata=metadata)
