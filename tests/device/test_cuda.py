"""The CUDA device only: late errors, exhausted memory, the reason why there is no GPU."""

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.device import DeviceOutOfMemory, KernelError, compile_error, cuda, get_device
from relaxometer.device.arguments import Arguments
from relaxometer.device.signature import read_source

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


class FakeDriver:
    """Stands for CuPy's driver and device: notes what launches get instead of launching."""

    errors = (OSError,)
    multiprocessors = 2
    last_launched = ""

    def __init__(self) -> None:
        self.launched: list[tuple] = []
        self.fails = False
        self.xp = SimpleNamespace(ndarray=np.ndarray, cuda=SimpleNamespace(driver=self))
        self.raw = SimpleNamespace(kernel=SimpleNamespace(ptr=1234), shared_size_bytes=0)

    def current_stream(self):
        return SimpleNamespace(ptr=77)

    def occupancyMaxActiveBlocksPerMultiprocessor(self, *_):  # noqa: N802 - as in CuPy
        return 3

    def launchKernel(self, *given):  # noqa: N802
        *_, parameters, extra = given
        assert extra == 0
        self._note("plain", given, parameters)

    def launchCooperativeKernel(self, *given):  # noqa: N802
        self._note("cooperative", given, given[-1])

    def translated(self, error, subject):
        return KernelError(f"{subject}: {error}")

    def _note(self, how, given, parameters):
        if self.fails:
            raise OSError("no such luck")
        n, value, out = (ctypes.c_void_p * 3).from_address(parameters)
        values = ctypes.c_uint32.from_address(n).value, ctypes.c_double.from_address(value).value
        self.launched.append((how, given[:9], *values, ctypes.c_void_p.from_address(out).value))


@pytest.fixture
def fake(tmp_path):
    text = 'extern "C" __global__ void k(unsigned n, double value, float* out) {}'
    (tmp_path / "k.cu").write_text(text)
    device = FakeDriver()
    arguments = Arguments("k", read_source(tmp_path / "k.cu").parameters("k"), np.ndarray)

    def kernel(*, cooperative):
        return cuda.CudaKernel("k", device.raw, arguments, device, cooperative=cooperative)

    return device, kernel


@pytest.mark.parametrize("cooperative", [False, True])
def test_the_driver_gets_shape_and_addresses_of_arguments(fake, cooperative):
    device, kernel = fake
    out = np.zeros(3, np.float32)
    launch = kernel(cooperative=cooperative).bind(
        3, (32, 2), (np.uint32(7), np.float64(0.5), None), shared_mem=1024
    )
    kernel(cooperative=cooperative)(1, 32, (np.uint32(1), np.float64(2), out))
    launch()
    launch(n=np.uint32(8), out=out)
    how = "cooperative" if cooperative else "plain"
    address = out.ctypes.data
    assert device.launched == [
        (how, (1234, 1, 1, 1, 32, 1, 1, 0, 77), 1, 2.0, address),
        (how, (1234, 3, 1, 1, 32, 2, 1, 1024, 77), 7, 0.5, None),
        (how, (1234, 3, 1, 1, 32, 2, 1, 1024, 77), 8, 0.5, address),
    ]
    assert device.last_launched == "k"


def test_a_prepared_launch_fails_as_any_other(fake):
    device, kernel = fake
    arguments = np.uint32(7), np.float64(0.5), None
    with pytest.raises(KernelError, match="a cooperative launch of 7 blocks; at most 6 run at once"):
        kernel(cooperative=True).bind(7, 32, arguments)
    launch = kernel(cooperative=True).bind(6, 32, arguments)
    device.fails = True
    with pytest.raises(KernelError, match=r"kernel k, \(6, 1, 1\) blocks of \(32, 1, 1\) threads: no such"):
        launch()


@pytest.mark.gpu
def test_memory_that_runs_out(cuda_device):
    with pytest.raises(DeviceOutOfMemory):
        cuda_device.xp.zeros(2**46, dtype=np.uint8)
    assert cuda_device.item(cuda_device.xp.ones(1)) == 1


def test_only_with_a_driver_the_advice_is_how_to_install_cupy(monkeypatch):
    monkeypatch.setattr(cuda, "may_be_there", lambda: True)
    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: None)
    assert cuda.missing(cupy=False) is None
    advice = "CuPy is not installed; install it with: "
    assert cuda.missing().startswith(f"{advice}sh workflow/envs/install_cupy.sh ")
    monkeypatch.setattr(cuda, "ROOT", cuda.PACKAGE)
    assert cuda.missing() == f"{advice}pip install 'relaxometer[cuda13]'"

    monkeypatch.setattr(cuda, "may_be_there", lambda: False)
    monkeypatch.setattr(cuda.shutil, "which", lambda name: None)
    assert cuda.missing() == cuda.missing(cupy=False) == cuda.NO_DRIVER


@pytest.mark.skipif(cuda.obstacle() is None, reason="there is a GPU")
def test_without_a_gpu_the_reason_is_given_in_one_line():
    with pytest.raises(UserError, match=r"^device cuda: (CuPy |this machine has no NVIDIA driver)") as error:
        get_device("cuda")
    assert "\n" not in str(error.value)
    assert get_device("auto").kind == "host"


def test_a_gpu_too_old_for_the_kernels_is_named(monkeypatch):
    runtime = SimpleNamespace(
        CUDARuntimeError=RuntimeError,
        getDeviceCount=lambda: 1,
        getDevice=lambda: 0,
        getDeviceProperties=lambda number: {"name": b"Tesla T4"},
    )
    fake = SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(compute_capability="75"))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=fake))
    assert cuda.obstacle() == "Tesla T4 has compute capability 7.5; the kernels need 8.0 or higher"
    assert get_device("auto").kind == "host"


@pytest.mark.gpu
def test_auto_prefers_cuda(cuda_device):
    assert get_device("auto").kind == "cuda"
    assert get_device("auto", sanitize="undefined").kind == "host"
    with pytest.raises(UserError, match="sanitizer"):
        get_device("cuda", sanitize="undefined")


@pytest.mark.parametrize(
    ("static", "dynamic", "granted"), [(1024, 47 * 1024, None), (1024, 47 * 1024 + 4, 48132)]
)
def test_static_and_dynamic_shared_memory_share_the_default(fake, static, dynamic, granted):
    device, kernel = fake
    device.raw.shared_size_bytes = static
    device.raw.max_dynamic_shared_size_bytes = None
    kernel(cooperative=False).bind(1, 32, (np.uint32(7), np.float64(0.5), None), shared_mem=dynamic)()
    assert device.raw.max_dynamic_shared_size_bytes == granted


@pytest.mark.parametrize(
    ("messages", "first"),
    [
        (
            "/own/k.cu(1): warning #177-D: no error: 1\n\n/own/k.cu(7): error #20: gone\n    y = x;",
            "k.cu(7): error #20: gone",
        ),
        ("/own/k.cu(1): catastrophic error: no lost.cuh", "k.cu(1): catastrophic error: no lost.cuh"),
        ("/other/k.cuh:7:3: fatal error: gone", "/other/k.cuh:7:3: fatal error: gone"),
        ("\nlinker: no such symbol\x1b[2J\nlinker: the end", "linker: no such symbol\\x1b[2J"),
        ("", "no message"),
    ],
)
def test_the_first_line_of_a_compile_error_is_the_first_error(messages, first):
    said, *rest = str(compile_error(Path("/own/k.cu"), "CUDA", messages)).splitlines()
    assert said == f"/own/k.cu does not compile for CUDA: {first}"
    assert "\n".join(rest) == messages.strip()
