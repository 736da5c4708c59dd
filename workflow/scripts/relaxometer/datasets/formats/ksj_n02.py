"""Japan's railways (National Land Numerical Information, N02)."""

from pydantic import Field, PositiveFloat

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section


class RailwayParameters(Section):
    """Parameters of the format ``ksj-n02``.

    Parameters
    ----------
    km_per_hour : float
        Speed on all lines; weights are travel times in milliseconds.
    """

    km_per_hour: PositiveFloat = Field(35, allow_inf_nan=False)


FORMATS = {
    "ksj-n02": Format("relaxometer.datasets.readers.ksj_n02", needs="file", parameters=RailwayParameters),
}
