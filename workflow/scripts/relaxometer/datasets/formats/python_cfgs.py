"""Control-flow graphs of Python's standard library."""

from pydantic import PositiveInt

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section


class PythonCfgParameters(Section):
    """Parameters of the format ``python-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Leave out functions with fewer basic blocks; most functions have one.
    modules : list of str, optional
        Top-level modules and packages of the standard library to take; all if left out.
    tests : bool
        Take the library's own tests as well.
    """

    minimum_blocks: PositiveInt = 3
    modules: list[str] | None = None
    tests: bool = False


FORMATS = {
    "python-cfgs": Format(
        "relaxometer.datasets.readers.python_cfgs", parameters=PythonCfgParameters, batch=True
    ),
}
