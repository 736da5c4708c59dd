"""Faults of each kind, planted in small kernels: all are found, by kernel, line and thread.

The sound versions of the racing kernels pass. Kernels that are broken in other ways raise their own errors.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from relaxometer.device import KernelError, get_device

KERNELS = Path(__file__).parent / "kernels"
FAULTS, BROKEN = KERNELS / "faults.cu", KERNELS / "broken.cu"
THREAD_0 = "thread (0,0,0) of block (0,0,0)"
PAIR = np.dtype([("x", np.uint32), ("y", np.uint32)])

STORES = {
    "store_word": np.uint32,
    "store_pair": PAIR,
    "store_member": np.uint32,
    "minimum_of": np.uint32,
    "store_range": np.float64,
}
LOADS = {"load_byte": np.uint8, "load_read_only": np.uint32, "load_pair": PAIR, "load_range": np.uint32}
SIZES = (107, 1024)
"""Elements: an array whose bytes fill no page, and one whose elements of four bytes fill one."""

CHOSEN = "thread (21,0,0) of block (1,0,0)"

OVERRUNS = {
    "store_tile": (37, -1),
    "load_tile": (37, 100),
    "store_square": (9, 300),
    "store_dynamic": (37, -1),
    "count_in_tile": (37, 60),
}
TILES = {
    "store_tile": ("tile", 4, 0, 148),
    "load_tile": ("tile", 1, 0, 37),
    "store_square": ("square", 8, 216, 288),
    "store_dynamic": ("dynamic shared memory", 4, 0, 148),
    "count_in_tile": ("tile", 4, 0, 148),
}
"""Name, bytes between elements, bytes before the first, all bytes."""

ATOMICS = ("minimum", "counter", "flag", "queue", "shared_maximum")
BARRIERS = ("reversal", "tree_sum", "scan", "reused_tile")


@cache
def module(sanitize=None):
    expressions = [f"{name}<{faulty}>" for name in ATOMICS + BARRIERS for faulty in ("true", "false")]
    return get_device("host", sanitize=sanitize).module(FAULTS, name_expressions=expressions)


def lines_of(name):
    lines = enumerate(FAULTS.read_text().splitlines(), start=1)
    return "|".join(str(number) for number, line in lines if line.endswith(f"  // {name}"))


def report_of(kernel, *arguments, sanitize=None, shared_mem=0):
    """Launch a faulty kernel; return the report behind its name and line."""
    launch = module(sanitize).get_function(kernel)
    with pytest.raises(KernelError) as error:
        launch(2, 37, arguments, shared_mem=shared_mem)
    place = rf"kernel {re.escape(kernel)}: .*faults\.cu:({lines_of(kernel)}): "
    found = re.match(place, str(error.value))
    assert found, str(error.value)
    return str(error.value)[found.end() :]


def access(kernel, size, at, sanitize=None):
    """Access one element of an array by a kernel; return the report."""
    xp = get_device("host").xp
    array = xp.zeros(size, dtype={**STORES, **LOADS}[kernel])
    first = {"capacity": np.uint32(size), "items": array} if kernel == "store_member" else array
    out = () if kernel in STORES else (xp.zeros(1, dtype=np.uint32),)
    return report_of(kernel, first, np.int64(at), *out, sanitize=sanitize)


def expected(kernel, size, at):
    verb = "read of" if kernel in LOADS or kernel == "minimum_of" else "write to"
    name = "items" if kernel == "store_member" else "array"
    dtype = np.dtype({**STORES, **LOADS}[kernel])
    return f"{CHOSEN}: illegal {verb} {name}[{at}] ({size} elements of {dtype})"


# A range of accesses faults at its first element outside, and a range of reads begins inside.
ACCESSES = [
    *((kernel, "past the end", None) for kernel in {**STORES, **LOADS}),
    *((kernel, "far past the end", None) for kernel in STORES),
    *((kernel, "before", None) for kernel in STORES),
    *((kernel, "far before", None) for kernel in STORES if kernel != "store_range"),
    *((kernel, "before", "address") for kernel in LOADS if kernel != "load_range"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("kernel", "where", "sanitize"), ACCESSES)
def test_accesses_outside_of_an_array(kernel, where, sanitize, size):
    at = {"past the end": size, "far past the end": size + 4096, "before": -1, "far before": -4097}[where]
    first = size if kernel == "store_range" and at > 0 else at
    assert access(kernel, size, at, sanitize) == expected(kernel, size, first)


def test_the_first_statement_of_a_kernel(tmp_path):
    source = tmp_path / "first.cu"
    source.write_text('extern "C" __global__ void first(unsigned* out) { out[0] = out[64]; }\n')
    array = get_device("host").xp.zeros(64, dtype=np.uint32)
    with pytest.raises(KernelError, match=r"thread \(0,0,0\) of block \(0,0,0\): illegal read of out\[64\]"):
        get_device("host").module(source).get_function("first")(1, 1, (array,))


@pytest.mark.parametrize(("kernel", "at"), [(name, at) for name in OVERRUNS for at in OVERRUNS[name]])
@pytest.mark.parametrize("sanitize", [None, "address"])
def test_shared_memory_overruns(kernel, at, sanitize):
    out = get_device("host").xp.zeros(37, dtype=np.uint32)
    report = report_of(kernel, np.int64(at), out, sanitize=sanitize, shared_mem=37 * 4)
    name, width, bytes_before, size = TILES[kernel]
    where = f"byte {bytes_before + at * width} of {name} ({size} bytes of shared memory)"
    assert report in (f"{CHOSEN}: illegal {verb} {where}" for verb in ("read of", "write to"))


def launch_many(kernel, threads, sanitize="thread"):
    """Launch a kernel that may race, for two blocks; return what it wrote."""
    first = 2000 if kernel.startswith("minimum") else 0
    out = get_device("host").xp.full(1025, first, dtype=np.uint32)
    module(sanitize).get_function(kernel)(2, threads, (out,), shared_mem=threads * 4)
    return out


@pytest.mark.parametrize("threads", [64, 256])
@pytest.mark.parametrize("kernel", ATOMICS + BARRIERS)
class TestRaces:
    def test_they_are_found(self, kernel, threads):
        with pytest.raises(KernelError) as error:
            launch_many(f"{kernel}<true>", threads)
        place = rf"faults\.cu:({lines_of(kernel)})"
        thread = r"thread \(\d+,0,0\) of block \([01],0,0\)"
        now = rf"{place}: {thread}: race: nothing orders this (write to|read of) .*"
        before = rf"and the (write|read) by {thread} at .*{place}"
        report = str(error.value)
        assert re.fullmatch(rf"kernel {kernel}<true>: .*{now} {before}", report), report

    def test_the_sound_kernel_passes(self, kernel, threads):
        sound = launch_many(f"{kernel}<false>", threads)
        assert (sound == launch_many(f"{kernel}<false>", threads, None)).all()


ANNOUNCEMENT = """
extern "C" __global__ void announce(volatile unsigned* flag, unsigned* data, unsigned* out)
{
    if (threadIdx.x == 0) {
        *data = 42;
        __threadfence();
        *flag = 1;
    } else if (threadIdx.x == 32) {
        while (*flag == 0) __nanosleep(10);
        __threadfence();
        *out = *data;
    }
}
"""


@pytest.mark.parametrize("order_seed", [0, 5])
@pytest.mark.parametrize("fence", ["__threadfence();", ""])
def test_volatile_accesses_are_relaxed(tmp_path, fence, order_seed):
    source = tmp_path / "volatile.cu"
    source.write_text(ANNOUNCEMENT.replace("__threadfence();", fence))
    device = get_device("host", sanitize="thread", order_seed=order_seed)
    flag, data, out = (device.xp.zeros(1, dtype=np.uint32) for _ in range(3))
    kernel = device.module(source).get_function("announce")
    if fence:
        kernel(1, 64, (flag, data, out))
        assert out[0] == 42
    else:
        with pytest.raises(KernelError, match=r"race: nothing orders this read of data\[0\]"):
            kernel(1, 64, (flag, data, out))


def line_of(comment):
    """Return the file and line with this comment."""
    lines = BROKEN.read_text().splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if line.endswith(f"// {comment}"))
    return f"{BROKEN}:{number}"


def broken(name, block, *values, sanitize=None):
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
    report = broken(name, 32 if name not in ("two_barriers", "endless_wait") else 64, *values)

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


def test_dynamic_shared_memory_that_the_launch_does_not_give(tmp_path):
    path = tmp_path / "dynamic.cu"
    body = "extern __shared__ int words[];\nwords[0] = 1;"
    path.write_text(f'extern "C" __global__ void store() {{ {body} }}', encoding="utf-8")
    kernel = get_device("host").module(path).get_function("store")
    kernel(1, 1, (), shared_mem=4)
    with pytest.raises(
        KernelError, match=rf"dynamic\.cu:2: {re.escape(THREAD_0)}: illegal write to address 0x0$"
    ):
        kernel(1, 1, ())


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("signed_overflow", 50_000, "a product of signed integers overflows"),
        ("wide_shift", 33, "a shift"),
        ("index_beyond_array", 4, "an index beyond the bounds"),
    ],
)
def test_undefined_behaviour_is_found(name, value, what):
    report = broken(name, 32, np.int32(value), sanitize="undefined")
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
