"""Fixtures that many tests share: the devices that kernels run on, and where real road maps are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from relaxometer.device import Device, get_device
from relaxometer.device.cuda import obstacle

_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
for _variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
    # pytest's workers divide the cores; Numba reads its variable when it is imported.
    os.environ.setdefault(_variable, str(max(1, len(os.sched_getaffinity(0)) // _WORKERS)))

DEFAULT_MIRROR = Path(__file__).parents[2] / "shared/data/roads"


@pytest.fixture(scope="session", params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    """Each kind of device in turn; CUDA only where there is a GPU."""
    if request.param == "cuda" and (reason := obstacle()) is not None:
        pytest.skip(reason)
    return get_device(request.param)


@pytest.fixture(scope="session")
def host_device() -> Device:
    """The emulation on this machine's processor."""
    return get_device("host")


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
