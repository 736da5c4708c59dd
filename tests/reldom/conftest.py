"""Builds libreldom and its driver, once for each state of their sources."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from relaxometer.device import Device
from relaxometer.device.host_build import cache_folder, find_compiler
from relaxometer.device.signature import PACKAGE

SOURCES = Path(__file__).parents[2] / "reldom"


def sources():
    """Return the files that a build reads."""
    folders = SOURCES, PACKAGE / "device", PACKAGE / "problems/dominators"
    suffixes = {".h", ".hpp", ".cuh", ".cu", ".cpp", ".txt"}
    found = (file for folder in folders for file in folder.rglob("*") if file.suffix in suffixes)
    return sorted(file for file in found if SOURCES / "build" not in file.parents)


def build(kind: str) -> Path:
    """Return the folder of the library and the driver for a kind of device."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake, which builds libreldom, is not installed")
    if kind == "cuda" and shutil.which("nvcc") is None:
        pytest.skip("nvcc, which builds libreldom for a GPU, is not installed")
    content = b"\0".join(file.read_bytes() for file in sources())
    key = hashlib.sha256(content + find_compiler().version.encode() + kind.encode()).hexdigest()[:24]
    target = cache_folder() / f"reldom-{kind}-{key}"
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache_folder()) as scratch:
        folder = Path(scratch) / "build"
        emulated = "ON" if kind == "host" else "OFF"
        for command in (["-S", SOURCES, "-B", folder, f"-DRELDOM_EMULATED={emulated}"], ["--build", folder]):
            result = subprocess.run(["cmake", *map(str, command)], capture_output=True, text=True)
            assert result.returncode == 0, result.stdout + result.stderr
        try:
            folder.rename(target)
        except OSError:
            assert target.is_dir()  # another process was faster
    return target


@pytest.fixture(scope="session")
def built(device: Device) -> Path:
    """The folder of the library and the driver, on the emulation and, where there is one, on the GPU."""
    return build(device.kind)
