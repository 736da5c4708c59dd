"""The CUDA device only: late errors, exhausted memory, the reason why there is no GPU."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.device import DeviceOutOfMemory, cuda, get_device

KERNELS = Path(__file__).parent / "kernels"
PACKAGE_ROOT = cuda.PACKAGE.parent


@pytest.fixture(scope="module")
def cuda_device():
    reason = cuda.obstacle()
    if reason is not None:
        pytest.skip(reason)
    return get_device("cuda")


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda_device")
def test_a_fault_is_an_error_where_the_host_waits():
    # In another process: CUDA does not recover from it.
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(PACKAGE_ROOT)!r})
        from pathlib import Path
        from relaxometer.device import KernelError, get_device
        device = get_device("cuda")
        device.module(Path({str(KERNELS / "broken.cu")!r})).get_function("null_access")(1, 32, (None,))
        try:
            device.synchronize()
        except KernelError as error:
            print(error, flush=True)
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert result.stdout.startswith("kernel null_access or one before it: ")
    assert "llegal" in result.stdout


@pytest.mark.gpu
def test_memory_that_runs_out(cuda_device):
    with pytest.raises(DeviceOutOfMemory):
        cuda_device.xp.zeros(2**46, dtype=np.uint8)
    assert cuda_device.item(cuda_device.xp.ones(1)) == 1


@pytest.mark.gpu
def test_the_context_names_the_hardware(cuda_device):
    context = cuda_device.context()
    assert context["compute_capability"].count(".") == 1
    assert context["memory_bytes"] > 2**30


@pytest.mark.skipif(cuda.obstacle() is None, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_given_in_one_line():
    with pytest.raises(UserError, match=r"^device cuda: CuPy ") as error:
        get_device("cuda")
    assert "\n" not in str(error.value)
    assert get_device("auto").kind == "host"


@pytest.mark.gpu
def test_auto_prefers_cuda(cuda_device):
    assert get_device("auto").kind == "cuda"
    assert get_device("auto", sanitize="undefined").kind == "host"
    with pytest.raises(UserError, match="sanitizer"):
        get_device("cuda", sanitize="undefined")
