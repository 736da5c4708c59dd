"""Every kernel compiles for GPUs, and the check finds errors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, nvrtc_check
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import LENGTHS

KERNELS = Path(__file__).parent / "kernels"
PACKAGE_ROOT = nvrtc_check.PACKAGE.parent

try:
    nvrtc_check.load_nvrtc()
    MISSING = None
except UserError as error:
    MISSING = str(error)

needs_nvrtc = pytest.mark.skipif(MISSING is not None, reason="NVRTC is not installed")


KNOWN_SPILLS = {
    "multi_source.cu search_trees": 1400,
    "hybrid_packed.cu hybrid_packed": 700,
    "multi_source.cu search_levels": 700,
    "sssp_peers.cu search": 500,
    "push_pull.cu search": 120,
    "_prepare_tiles.cu cut_tiles": 112,
    "near_far.cu near_far": 100,
    "_customize.cu customize": 80,
    "hybrid.cu hybrid": 24,
    "phast.cu phast": 12,
    "_balls.cu fill_balls": 8,
}
"""Bytes that a thread may spill with NVRTC 13.0 to 13.5; launch bounds leave these kernels few registers."""


@needs_nvrtc
@pytest.mark.parametrize("path", sorted(nvrtc_check.PACKAGE.rglob("*.cu")), ids=lambda path: path.name)
def test_kernels_of_the_package(path, capsys):
    complaints = nvrtc_check.check([path], nvrtc_check.ARCHITECTURES)
    for complaint in complaints:
        spill = re.search(r": (\w+) spills (\d+) bytes", complaint)
        assert spill, complaint
        assert int(spill[2]) <= KNOWN_SPILLS.get(f"{path.name} {spill[1]}", 0), complaint
    assert path.name in capsys.readouterr().out


SSSP = nvrtc_check.PACKAGE / "problems/sssp"
WIDE = [
    *(SSSP / f"{name}.cu" for name in ("certify", "_distance_proof", "_tight_tree", "push_pull/push_pull")),
    *(SSSP / f"bellman_ford/{name}.cu" for name in ("_edge_list", "edge_bf_atomic", "spmv_csr", "spmv_ell")),
    *(SSSP / "phase_synchronous").glob("*.cu"),
    *(SSSP / "label_correcting").glob("*.cu"),
    *(SSSP / "near_far").glob("*.cu"),
    *(SSSP / "tiled").glob("*.cu"),
]


@needs_nvrtc
@pytest.mark.parametrize("path", sorted(WIDE), ids=lambda path: path.name)
def test_kernels_for_distances_of_64_bits(path):
    options = LENGTHS["uint32/uint64"].options
    usages = nvrtc_check.compile_source(read_source(path, options=options), "90", options)
    assert usages
    for usage in usages:
        assert usage.spilled_bytes <= KNOWN_SPILLS.get(f"{path.name} {usage.kernel}", 0), usage


@needs_nvrtc
@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.name)
def test_kernels_of_the_tests(path):
    names = {
        usage.kernel for usage in nvrtc_check.compile_source(read_source(path, [nvrtc_check.PACKAGE]), "90")
    }
    source = read_source(path, [nvrtc_check.PACKAGE])
    assert names == set(source.exported())


@needs_nvrtc
def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "wrong.cu"
    path.write_text(
        '#include <vector>\n\nextern "C" __global__ void wrong(int* out) { out[0] = undeclared; }\n'
    )
    with pytest.raises(KernelError, match=r"/wrong\.cu .* for sm_80: wrong\.cu\(1\): .*error"):
        nvrtc_check.compile_source(read_source(path, []), "80")


@needs_nvrtc
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
    (complaint,) = nvrtc_check.check([path], ["90"])
    assert "greedy spills" in complaint


@pytest.mark.skipif(MISSING is None, reason="NVRTC is installed")
def test_without_nvrtc_it_says_so_in_one_line():
    command = [sys.executable, "-m", "relaxometer.device.nvrtc_check"]
    result = subprocess.run(command, cwd=PACKAGE_ROOT, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("NVRTC is not installed: pip install")
    assert result.stderr.count("\n") == 1
