"""Fixtures that many tests share, and the options of a test run."""

import functools
import gc
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

# Imports and the collection of tests leave little garbage; enabled again below.
gc.disable()

# Numba and OpenMP read these when they start; pytest's workers divide the cores. With more threads than
# cores, or threads that spin while they wait, parallel tests slow each other down thirtyfold.
_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_THREADS = max(2, len(os.sched_getaffinity(0)) // _PROCESSES)
os.environ.setdefault("NUMBA_NUM_THREADS", str(_THREADS))
os.environ.setdefault("OMP_NUM_THREADS", str(_THREADS))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# A process that has used GNU OpenMP cannot fork one that will.
os.environ.setdefault("NUMBA_THREADING_LAYER", "forksafe")
# Tests start hundreds of processes, each of which would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import pytest  # noqa: E402
from hypothesis import is_hypothesis_test, settings  # noqa: E402

from relaxometer.core import yaml_files  # noqa: E402
from relaxometer.device import Device, get_device  # noqa: E402
from relaxometer.device.cuda import obstacle  # noqa: E402
from relaxometer.race import reference  # noqa: E402

# The first call of a function that Numba compiles takes seconds.
# In CI, only a change must make a test fail, so examples are the same in each run; elsewhere they are new.
settings.register_profile("compiled", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("compiled")

DEFAULT_MIRROR = Path(__file__).parents[2] / "shared/data/roads"
NO_GPU = obstacle()
QUICK_EXAMPLES = 3
"""Random examples per property test with ``--quick``."""
NOT_QUICK = (
    *("workflow", "distributed", "reldom", "rivals", "studies", "cli", "fuzz", "core/test_cache.py"),
    *("datasets/test_kanto.py", "datasets/test_python_cfgs.py", "device/test_host_emulation.py"),
    *("dominators/test_auto.py", "race/test_measure.py", "report/test_publish.py"),
    *("results/test_board.py", "results/test_bundle.py", "results/test_compare.py"),
    *("sssp/test_auto.py", "sssp/test_float_maps.py", "sssp/test_negative.py", "sssp/test_phast_order.py"),
    "test_sanitize.py",
)
"""Folders and files that ``--quick`` leaves out: they start processes, compile much or take large graphs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add this project's options."""
    group = parser.getgroup("relaxometer")
    group.addoption("--quick", action="store_true", help="run one case of each test, but not the slow files")
    group.addoption(
        "--faults",
        action="store_true",
        help="run whole workflows with too little space, permission or memory",
    )
    group.addoption(
        "--all-devices", action="store_true", help="show the GPU's tests as skipped where there is none"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out slow folders and files with ``--quick``."""
    tests = Path(__file__).parent
    left_out = config.getoption("quick") and collection_path in {tests / name for name in NOT_QUICK}
    return left_out or None


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but do not examine modules and tests again and again."""
    gc.freeze()
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that takes `device` on the emulation and, where there is one, on the GPU."""
    if "device" in metafunc.fixturenames:
        kinds = ["host"]
        if NO_GPU is None or metafunc.config.getoption("all_devices"):
            kinds.append(pytest.param("cuda", marks=pytest.mark.gpu))
        metafunc.parametrize("device", kinds, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put slow tests first, so that all processes end together; with ``--quick``, drop most tests."""
    if not config.getoption("quick"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
        return
    kept = _quick_selection(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
    for item in items:
        function = getattr(item.obj, "__func__", item.obj)
        if is_hypothesis_test(function):
            thinned = settings(function._hypothesis_internal_use_settings, max_examples=QUICK_EXAMPLES)
            function._hypothesis_internal_use_settings = thinned


def _quick_selection(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return one case of each test that is not slow, and one for each variant that it names."""
    selection, seen = set(), set()
    for item in random.Random(0).sample(items, len(items)):
        if item.get_closest_marker("slow"):
            continue
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        named = {str(parameters[name]) for name in ("variant", "solver") if name in parameters}
        cases = {(item.function, name) for name in named} or {item.function}
        if not cases <= seen:
            selection.add(item)
            seen |= cases
    return selection


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    """Parse each YAML text once: hundreds of tests make a plan, most of whose time goes into the registry."""
    parse = functools.lru_cache(yaml_files._read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_files, "_read", lambda path, text: deepcopy(parse(path, text)))
        yield


@pytest.fixture(scope="session", autouse=True)
def short_references() -> Iterator[None]:
    """Time little fixed work around each of the hundreds of runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "CPU_STEPS", 10_000)
        patch.setattr(reference, "CPU_TRIES", 1)
        yield


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> Device:
    """Each kind of device in turn."""
    if request.param == "cuda" and NO_GPU is not None:
        pytest.skip(NO_GPU)
    return get_device(request.param)


@pytest.fixture(scope="session")
def host_device() -> Device:
    """The emulation on this machine's processor."""
    return get_device("host")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser without a network."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for option in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--no-first-run"),
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    opened.implicitly_wait(5)
    yield opened
    opened.quit()


@pytest.fixture(scope="session")
def road_file() -> Callable[[str], Path]:
    """Return a function from a file's name to its path in a mirror; it skips the test if none has it."""
    named = os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep)
    folders = [Path(folder) for folder in named if folder] or [DEFAULT_MIRROR]

    def find(name: str) -> Path:
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is in no folder of RELAXOMETER_DATA_MIRRORS")

    return find
