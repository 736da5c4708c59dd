"""The devices that tests run on: always the emulation, and a GPU where there is one."""

import pytest

from relaxometer.device import cuda, get_device


@pytest.fixture(scope="session")
def host_device():
    """The emulation on this machine's processor."""
    return get_device("host")


@pytest.fixture(scope="session", params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Each device in turn; the GPU is skipped where CuPy sees none."""
    if request.param == "cuda":
        obstacle = cuda.obstacle()
        if obstacle:
            pytest.skip(obstacle)
    return get_device(request.param)
