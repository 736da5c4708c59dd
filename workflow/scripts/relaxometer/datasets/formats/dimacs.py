"""Road maps of the 9th DIMACS Implementation Challenge."""

from relaxometer.datasets.formats import Format

FORMATS = {
    "dimacs": Format("relaxometer.datasets.readers.dimacs", needs="file", companion="coordinates"),
}
