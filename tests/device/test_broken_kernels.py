"""Broken kernels and the error that each must raise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, get_device

KERNELS = Path(__file__).parent / "kernels"
BROKEN = KERNELS / "broken.cu"


def line_of(comment):
    """Return the line with this comment."""
    lines = BROKEN.read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(f"// {comment}"))


def report_of(name, block, *values, sanitize=None):
    """Launch one block; return the error's text."""
    module = get_device("host", sanitize=sanitize).module(BROKEN)
    with pytest.raises(KernelError) as error:
        module.get_function(name)(1, block, (*values, np.zeros(1024, np.int32)))
    assert str(error.value).startswith(f"kernel {name}: ")
    return str(error.value)


class TestAlways:
    """Found in every run of the emulation."""

    def test_divergent_barrier(self):
        report = report_of("divergent_barrier", 32)
        assert "deadlock" in report
        first, second = (
            line_of("divergent_barrier: half the threads"),
            line_of("divergent_barrier: the other half"),
        )
        assert f"block (0,0,0), threads 0 to 15 wait in __syncthreads at {BROKEN}:{first}" in report
        assert f"threads 16 to 31 wait in __any_sync at {BROKEN}:{second}, mask 0xffffffff" in report

    def test_two_barriers(self):
        report = report_of("two_barriers", 64)
        assert f"{BROKEN}:{line_of('two_barriers: second')}: thread (32,0,0) of block (0,0,0)" in report
        assert f"divergent barrier: other threads of this block wait in __syncthreads at {BROKEN}" in report
        assert f":{line_of('two_barriers: first')}" in report

    def test_wrong_mask(self):
        report = report_of("wrong_mask", 32)
        assert f"{BROKEN}:{line_of('wrong_mask')}: thread (8,0,0)" in report
        assert "the mask 0x000000ff excludes the calling lane 8" in report

    def test_absent_lane(self):
        report = report_of("absent_lane", 32)
        assert f"{BROKEN}:{line_of('absent_lane')}" in report
        assert "the shuffle reads lane 16, which does not participate" in report

    def test_two_votes(self):
        report = report_of("two_votes", 32)
        assert f"{BROKEN}:{line_of('two_votes: second')}: thread (16,0,0)" in report
        assert f"the lanes of a warp meet in __any_sync here and in __any_sync at {BROKEN}" in report

    def test_failed_assert(self):
        report = report_of("failed_assert", 32)
        assert f"{BROKEN}:{line_of('failed_assert')}: thread (5,0,0)" in report
        assert "assertion failed: threadIdx.x < 5" in report

    def test_trap(self):
        assert f"{BROKEN}:{line_of('trap')}: thread (3,0,0) of block (0,0,0): __trap()" in report_of(
            "trap", 32
        )

    @pytest.mark.parametrize("block", [1, 64])
    def test_endless_wait(self, block):
        assert f"{BROKEN}:{line_of('endless_wait')}" in report_of("endless_wait", block)

    def test_grid_sync_needs_a_cooperative_launch(self, host_device):
        module = host_device.module(KERNELS / "not_cooperative.cu")
        with pytest.raises(
            KernelError, match=r"not_cooperative\.cu:8: .*load the module with cooperative=True"
        ):
            module.get_function("lonely")(1, 1, (np.zeros(1, np.int32),))

    @pytest.mark.parametrize("sanitize", [None, "undefined"])
    def test_illegal_access(self, sanitize):
        module = get_device("host", sanitize=sanitize).module(BROKEN)
        place = (
            rf"kernel null_access: .*broken\.cu:{line_of('null_access')}: thread \(7,0,0\) of block \(0,0,0\)"
        )
        for _ in range(2):
            with pytest.raises(KernelError, match=f"{place}: illegal write to address 0x1c"):
                module.get_function("null_access")(1, 32, (None,))

    def test_endless_recursion(self):
        assert "thread (0,0,0) of block (0,0,0): stack overflow at" in report_of(
            "endless_recursion", 32, np.int32(1)
        )

    def test_division_by_zero(self):
        report = report_of("division", 32, np.int32(0))
        assert f"{BROKEN}:{line_of('division')}: thread (0,0,0) of block (0,0,0): division by zero" in report

    def test_the_next_launch_works(self, host_device):
        module = host_device.module(BROKEN)
        out = np.zeros(512, np.int32)
        for _ in range(3):
            with pytest.raises(KernelError):
                module.get_function("two_barriers")(1, 64, (out,))
            module.get_function("no_race")(2, 256, (out,))
            assert (out[32:256] == np.arange(223, -1, -1)).all()


class TestUndefinedBehaviour:
    @pytest.mark.parametrize(
        ("name", "value", "what"),
        [
            ("signed_overflow", 50_000, "a product of signed integers overflows"),
            ("wide_shift", 33, "a shift"),
            ("index_beyond_array", 4, "an index beyond the bounds"),
        ],
    )
    def test_findings_are_kernel_errors(self, name, value, what):
        report = report_of(name, 32, np.int32(value), sanitize="undefined")
        assert (
            f"{BROKEN}:{line_of(name)}: thread (0,0,0) of block (0,0,0): undefined behaviour: {what}"
            in report
        )

    def test_clean_kernels_stay_clean(self):
        module = get_device("host", sanitize="undefined").module(BROKEN)
        out = np.zeros(512, np.int32)
        module.get_function("no_race")(2, 256, (out,))
        module.get_function("signed_overflow")(1, 32, (np.int32(5), out))
        assert out[0] == 25

    def test_unknown_sanitizers_are_refused(self):
        with pytest.raises(UserError, match="'memory' is none of undefined, address, thread"):
            get_device("host", sanitize="memory")


def launched(kernel, grid, block, arguments, **options):
    """Launch a kernel with new arrays for "input" and "out"."""
    arrays = {"input": np.zeros(1000, np.int32), "out": np.zeros(1024, np.int32)}
    kernel(
        grid, block, [arrays.get(one, one) if isinstance(one, str) else one for one in arguments], **options
    )


class TestAddressSanitizer:
    @pytest.mark.parametrize(
        ("name", "launch", "shared_mem"),
        [
            ("off_by_one", (4, 256, (np.uint32(1000), "input", "out")), 0),
            ("dynamic_overrun", (1, 64, ("out",)), 63 * 4),
            ("static_overrun", (1, 32, (np.uint32(1), "out")), 0),
        ],
    )
    def test_accesses_beyond_memory(self, name, launch, shared_mem):
        kernel = get_device("host", sanitize="address").module(BROKEN).get_function(name)
        with pytest.raises(KernelError, match=rf"broken\.cu:{line_of(name)}: thread .*: illegal"):
            launched(kernel, *launch, shared_mem=shared_mem)

    def test_clean_kernels_stay_clean(self):
        module = get_device("host", sanitize="address").module(BROKEN)
        for _ in range(3):
            with pytest.raises(KernelError, match="divergent barrier"):
                launched(module.get_function("two_barriers"), 1, 64, ("out",))
            launched(module.get_function("no_race"), 4, 256, ("out",))


class TestThreadSanitizer:
    @pytest.mark.parametrize(
        ("name", "launch", "comment"),
        [
            ("missing_barrier", (2, 256, ("out",)), "missing_barrier: write"),
            ("missing_syncwarp", (1, 32, ("out",)), "missing_syncwarp: write"),
            ("two_blocks_write", (4, 32, ("out",)), "two_blocks_write"),
        ],
    )
    def test_races(self, name, launch, comment):
        kernel = get_device("host", sanitize="thread").module(BROKEN).get_function(name)
        with pytest.raises(
            KernelError,
        ) as error:
            launched(kernel, *launch)
        assert f"broken.cu:{line_of(comment)}" in str(error.value)
        assert "race: nothing orders this" in str(error.value)

    def test_clean_kernels_stay_clean(self):
        kernel = get_device("host", sanitize="thread").module(BROKEN).get_function("no_race")
        launched(kernel, 4, 256, ("out",))
