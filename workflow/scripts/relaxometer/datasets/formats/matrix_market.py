"""Sparse matrices in the Matrix Market exchange format."""

from pydantic import Field

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import FileWeights, Section, Unit


class MatrixParameters(Section):
    """Parameters of the format ``matrix-market``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights; `values` takes the matrix entries.
    banner : str, optional
        Field and symmetry of a file without a banner line, such as `pattern symmetric`.
    """

    weights: FileWeights = Unit()
    banner: str | None = Field(None, pattern="^(pattern|integer|real) (general|symmetric)$")


FORMATS = {
    "matrix-market": Format(
        "relaxometer.datasets.readers.matrix_market", needs="file", parameters=MatrixParameters
    ),
}
