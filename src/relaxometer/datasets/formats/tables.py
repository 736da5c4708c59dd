"""Tables of edges with named columns."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import OwnWeights, Values

ColumnName = str | Annotated[int, Field(ge=1)]


class TableParameters(OwnWeights):
    """Parameters of the format ``table``.

    Parameters
    ----------
    source, target : str or int, optional
        Name of the column, or its number from 1. By default the one with a usual name, such as `source`,
        `from` or `tail`, and `target`, `to` or `head`; without a header the first and the second.
    weight : str or int, optional
        Column of the weights. By default the one named `weight`, `cost`, `length` or `distance`, if there is
        one.
    weights : distribution, optional
        By default the values of the column of weights, or 1 without one.
    directed : bool, optional
        Each row is an arc instead of an edge. By default as the header of SNAP or KONECT says, otherwise
        false.
    separator : str, optional
        Of a text file, one character. By default a tab if the name ends in `.tsv`, otherwise a comma.
    header : bool
        The first row of a text file names the columns.
    """

    source: ColumnName | None = None
    target: ColumnName | None = None
    weight: ColumnName | None = None
    directed: bool | None = None
    separator: str | None = Field(None, pattern="^[\t !#-,/:-@\\[-`{-~]$")
    header: bool = True

    @model_validator(mode="after")
    def _uses_its_weights(self) -> Self:
        if self.weight is not None and self.weights and not isinstance(self.weights, Values):
            raise ValueError("`weight` names a column that `weights` does not use; leave one of them out")
        return self


FORMATS = {
    "table": Format("relaxometer.datasets.readers.tables", needs="file", parameters=TableParameters),
}
