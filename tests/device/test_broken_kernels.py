"""Broken kernels and the error that each must raise; accesses and races are in test_planted_faults.py."""

import re
from pathlib import Path

import numpy as np
import pytest

from relaxometer.device import KernelError, get_device

KERNELS = Path(__file__).parent / "kernels"
BROKEN = KERNELS / "broken.cu"
THREAD_0 = "thread (0,0,0) of block (0,0,0)"


def line_of(comment):
    """Return the file and line with this comment."""
    lines = BROKEN.read_text().splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if line.endswith(f"// {comment}"))
    return f"{BROKEN}:{number}"


def report_of(name, block, *values, sanitize=None):
    """Launch one block; return the error's text."""
    module = get_device("host", sanitize=sanitize).module(BROKEN)
    with pytest.raises(KernelError) as error:
        module.get_function(name)(1, block, (*values, np.zeros(1024, np.int32)))
    assert str(error.value).startswith(f"kernel {name}: ")
    return str(error.value)


ERRORS = {
    "divergent_barrier": (
        "deadlock",
        "block (0,0,0), threads 0 to 15 wait in __syncthreads at @half",
        "threads 16 to 31 wait in __any_sync at @the rest, mask 0xffffffff",
    ),
    "two_barriers": (
        "@second: thread (32,0,0) of block (0,0,0): divergent barrier: other threads of this block wait in "
        "__syncthreads at @first",
    ),
    "wrong_mask": ("@: thread (8,0,0)", "the mask 0x000000ff excludes the calling lane 8"),
    "absent_lane": ("@:", "the shuffle reads lane 16, which does not participate"),
    "two_votes": (
        "@second: thread (16,0,0)",
        "the lanes of a warp meet in __any_sync here and in __any_sync at @first",
    ),
    "failed_assert": ("@: thread (5,0,0)", "assertion failed: threadIdx.x < 5"),
    "trap": ("@: thread (3,0,0) of block (0,0,0): __trap()",),
    "endless_wait": ("@",),
    "endless_recursion": (f"{THREAD_0}: stack overflow at",),
    "division": (f"@: {THREAD_0}: division by zero",),
}
"""Parts of each report; an @ stands for the place with a comment of the kernel's name and the word behind."""


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_names_line_and_threads(name):
    values = {"endless_recursion": (np.int32(1),), "division": (np.int32(0),)}.get(name, ())
    report = report_of(name, 32 if name not in ("two_barriers", "endless_wait") else 64, *values)

    def place(found):
        return line_of(f"{name}: {found[1]}" if found[1] else name)

    for part in ERRORS[name]:
        assert re.sub("@(half|the rest|first|second|)", place, part) in report


def test_grid_sync_needs_a_cooperative_launch(host_device):
    kernel = host_device.module(KERNELS / "cooperative.cu").get_function("rounds")
    with pytest.raises(KernelError, match=r"cooperative\.cu:15: .*load the module with cooperative=True"):
        kernel(1, 1, (np.uint32(1), *np.zeros((2, 1), np.uint32)))


@pytest.mark.parametrize("sanitize", [None, "undefined"])
def test_an_access_to_no_array(sanitize):
    kernel = get_device("host", sanitize=sanitize).module(BROKEN).get_function("null_access")
    for _ in range(2):
        with pytest.raises(KernelError) as error:
            kernel(1, 32, (None,))
        place = f"{line_of('null_access')}: thread (7,0,0) of block (0,0,0)"
        assert f"{place}: illegal write to address 0x1c" in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("signed_overflow", 50_000, "a product of signed integers overflows"),
        ("wide_shift", 33, "a shift"),
        ("index_beyond_array", 4, "an index beyond the bounds"),
    ],
)
def test_undefined_behaviour_is_found(name, value, what):
    report = report_of(name, 32, np.int32(value), sanitize="undefined")
    assert f"{line_of(name)}: {THREAD_0}: undefined behaviour: {what}" in report


@pytest.mark.slow
@pytest.mark.parametrize("sanitize", [None, "undefined", "address", "thread"])
def test_after_an_error_the_next_launch_works_and_clean_kernels_stay_clean(sanitize):
    module = get_device("host", sanitize=sanitize).module(BROKEN)
    out = np.zeros(512, np.int32)
    for _ in range(3):
        with pytest.raises(KernelError):
            module.get_function("two_barriers")(1, 64, (out,))
        module.get_function("no_race")(2, 256, (out,))
        assert (out[32:256] == np.arange(223, -1, -1)).all()


@pytest.mark.parametrize("name", ["missing_syncwarp", "two_blocks_write"])
def test_races_in_a_warp_and_between_blocks(name):
    kernel = get_device("host", sanitize="thread").module(BROKEN).get_function(name)
    with pytest.raises(KernelError, match="race: nothing orders this") as error:
        kernel(4, 32, (np.zeros(1024, np.int32),))
    assert line_of(name) in str(error.value)
