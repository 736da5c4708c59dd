"""Every kernel compiles for GPUs, without one: NVRTC needs neither driver nor GPU.

It finds errors that g++ accepts: a missing include, a host function in a kernel, registers that spill into
memory. Templates that no kernel of the file instantiates are only parsed.
"""

import importlib
import re
from pathlib import Path

import pytest

from relaxometer.core.checkout import PACKAGE
from relaxometer.device import KernelError, compile_error
from relaxometer.device.cuda import compiler_options, numbered_source
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import LENGTHS

KERNELS = Path(__file__).parent / "kernels"

try:
    NVRTC = importlib.import_module("cupy.cuda").nvrtc
    NVRTC.getVersion()
except (ImportError, OSError, RuntimeError):
    NVRTC = None

pytestmark = pytest.mark.skipif(NVRTC is None, reason="NVRTC is not installed")

ARCHITECTURES = ("80", "90", "100")
# Options that CuPy adds at run time.
CUPY_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")

CACHES = (12, 9)
"""The first version of NVRTC with a cache; what comes from it has no log."""

USAGE = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)' for.*?bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads",
    re.DOTALL,
)

KNOWN_SPILLS = {
    "multi_source.cu search_trees": 1400,
    "hybrid_packed.cu hybrid_packed": 700,
    "multi_source.cu search_levels": 700,
    "sssp_peers.cu search": 320,
    "push_pull.cu search": 280,
    "hybrid_peers.cu hybrid_peers": 120,
    "_prepare_tiles.cu cut_tiles": 112,
    "near_far.cu near_far": 100,
    "_customize.cu customize": 80,
    "hybrid.cu hybrid": 24,
    "phast.cu phast": 12,
    "multi_source.cu sum_levels": 12,
    "_balls.cu fill_balls": 8,
}
"""Bytes that a thread may spill with NVRTC 13.0 to 13.5; launch bounds leave these kernels few registers."""


def spills_of(path: Path, architecture: str, options: tuple[str, ...] = ()) -> dict[str, int]:
    """Compile a file for an architecture such as ``"90"``; return the bytes that each kernel spills."""
    source = read_source(path, options=options)
    assemble = importlib.import_module("cupy._core.core").assemble_cupy_compiler_options
    given = assemble(compiler_options(source, options))
    given += (f"-arch=sm_{architecture}", "--ptxas-options=-v", *CUPY_OPTIONS)
    if NVRTC.getVersion() >= CACHES:
        given += ("--no-cache",)
    program = NVRTC.createProgram(numbered_source(source), source.path.name, (), ())
    try:
        NVRTC.compileProgram(program, given)
    except NVRTC.NVRTCError as error:
        raise compile_error(path, f"sm_{architecture}", NVRTC.getProgramLog(program)) from error
    return {found[1]: int(found[2]) + int(found[3]) for found in USAGE.finditer(NVRTC.getProgramLog(program))}


def check_spills(path: Path, architecture: str, options: tuple[str, ...] = ()) -> None:
    spills = spills_of(path, architecture, options)
    assert spills
    for kernel, n_bytes in spills.items():
        assert n_bytes <= KNOWN_SPILLS.get(f"{path.name} {kernel}", 0), (kernel, architecture)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.cu")), ids=lambda path: path.name)
def test_kernels_of_the_package(path):
    for architecture in ARCHITECTURES:
        check_spills(path, architecture)


SSSP = PACKAGE / "problems/sssp"
WIDE = [
    *(SSSP / f"{name}.cu" for name in ("certify", "_distance_proof", "_tight_tree", "push_pull/push_pull")),
    *(SSSP / f"bellman_ford/{name}.cu" for name in ("_edge_list", "edge_bf_atomic", "spmv_csr", "spmv_ell")),
    *(SSSP / "phase_synchronous").glob("*.cu"),
    *(SSSP / "label_correcting").glob("*.cu"),
    *(SSSP / "near_far").glob("*.cu"),
    *(SSSP / "tiled").glob("*.cu"),
]


@pytest.mark.parametrize("path", sorted(WIDE), ids=lambda path: path.name)
def test_kernels_for_distances_of_64_bits(path):
    check_spills(path, "90", LENGTHS["uint32/uint64"].options)


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.name)
def test_kernels_of_the_tests(path):
    assert set(spills_of(path, "90")) == set(read_source(path).exported())


def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "wrong.cu"
    path.write_text(
        '#include <vector>\n\nextern "C" __global__ void wrong(int* out) { out[0] = undeclared; }\n'
    )
    with pytest.raises(KernelError, match=r"/wrong\.cu .* for sm_80: wrong\.cu\(1\): .*error"):
        spills_of(path, "80")


def test_spills_are_found(tmp_path):
    path = tmp_path / "greedy.cu"
    path.write_text("""
        extern "C" __global__ void __launch_bounds__(1024, 2) greedy(const double* in, double* out)
        {
            double kept[64];
            #pragma unroll
            for (int i = 0; i < 64; ++i) kept[i] = in[threadIdx.x * 64 + i];
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < 64; ++i) out[threadIdx.x * 64 + i] = kept[63 - i] * kept[i];
        }
    """)
    assert spills_of(path, "90")["greedy"] > 0
