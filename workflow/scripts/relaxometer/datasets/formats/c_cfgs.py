"""Control-flow graphs of C files."""

from pydantic import Field, PositiveInt

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section


class CCfgParameters(Section):
    """Parameters of the format ``c-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Leave out functions with fewer basic blocks.
    options : list of str
        Options for clang, such as `-O1` or `-DNAME`.
    """

    minimum_blocks: PositiveInt = 3
    options: list[str] = Field(["-O0"])


FORMATS = {
    "c-cfgs": Format(
        "relaxometer.datasets.readers.c_cfgs", needs="file", parameters=CCfgParameters, batch=True
    ),
}
