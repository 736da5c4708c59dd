"""SciPy's own tests of shortest paths and traversal, with this package's functions in place of SciPy's."""

from functools import partial
from importlib.util import find_spec, module_from_spec

import pytest

from relaxometer import csgraph
from relaxometer.device.cuda import obstacle
from relaxometer.library.csgraph import __all__ as replaced

SUITES = ("test_shortest_path", "test_traversal")

DESELECTED = {
    "test_predecessors": "compares trees where two shortest paths are equally long; SciPy promises neither"
}
"""Tests that are left out on a device other than the CPU, and why."""

if any(find_spec(f"scipy.sparse.csgraph.tests.{suite}") is None for suite in SUITES):
    pytest.skip("this SciPy was installed without its tests", allow_module_level=True)


def adopted(suite, device):
    """Return a suite's tests, by new names, that call functions of `relaxometer.csgraph` on a device."""
    spec = find_spec(f"scipy.sparse.csgraph.tests.{suite}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {name for name in replaced if hasattr(module, name)}
    for name in own - {"NegativeCycleError"}:
        setattr(module, name, partial(getattr(csgraph, name), device=device))
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    for name in tests.keys() & DESELECTED.keys() if device != "cpu" else ():
        tests[name] = pytest.mark.skip(reason=DESELECTED[name])(tests[name])
    if device == "cuda":
        tests = {name: pytest.mark.gpu(test) for name, test in tests.items()}
    return {f"{name}_{device}": test for name, test in tests.items()}


for suite in SUITES:
    for device in ("cpu", "host") if obstacle() else ("cpu", "host", "cuda"):
        globals().update(adopted(suite, device))
