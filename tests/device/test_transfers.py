"""Copies of large arrays by several threads, with a GPU and with memory of the host in its place."""

from __future__ import annotations

import ctypes
import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.device import cuda, get_device, transfers
from relaxometer.device.transfers import LARGE, LEAST_PIECE, PER_THREAD, Loans, Staging


class FakeArray:
    """An array of the host in the place of one on a GPU."""

    def __init__(self, shape, dtype):
        self.content = np.empty(shape, dtype)
        self.shape, self.dtype, self.nbytes = self.content.shape, self.content.dtype, self.content.nbytes
        self.data = SimpleNamespace(ptr=self.content.ctypes.data)


class FakeCuda:
    """Stands for CuPy: copies end when an event is waited for, as late as CUDA's may.

    If two threads are to `meet`, their first copies wait for each other. If it `fails`, then after these.
    """

    memcpyHostToDevice, memcpyDeviceToHost = 1, 2  # noqa: N815 - as in CUDA

    def __init__(self):
        self.cuda = self.runtime = self
        self.empty, self.locked, self.meet, self.fails = FakeArray, set(), False, False
        self.numbers, self.copies, self.recorded, self.used = iter(range(1, 10**6)), {}, {}, set()
        self.guard, self.both = threading.Lock(), threading.Barrier(2)

    def getDevice(self):  # noqa: N802
        return 0

    def setDevice(self, number):  # noqa: N802
        assert number == 0

    def alloc_pinned_memory(self, size):
        return bytearray(size)

    PinnedMemory = alloc_pinned_memory

    def PinnedMemoryPointer(self, memory, offset):  # noqa: N802
        assert offset == 0
        return memory

    def Stream(self, *, non_blocking):  # noqa: N802
        number = next(self.numbers)
        return SimpleNamespace(ptr=number, synchronize=lambda: self.streamSynchronize(number))

    def Event(self, *, disable_timing):  # noqa: N802
        return SimpleNamespace(ptr=next(self.numbers), record=lambda: None)

    def get_current_stream(self):
        return SimpleNamespace(ptr=0)

    def pointerGetAttributes(self, address):  # noqa: N802
        return SimpleNamespace(devicePointer=address if address in self.locked else 0)

    def streamWaitEvent(self, stream, event):  # noqa: N802
        if stream == 0:  # what the caller's stream waits for is done for the test
            self.eventSynchronize(event)

    def memcpyAsync(self, target, source, size, kind, stream):  # noqa: N802
        if self.fails and stream in self.used:
            raise OSError("no such luck")
        with self.guard:
            self.copies.setdefault(stream, []).append((target, source, size))
            first = stream not in self.used
            self.used.add(stream)
        if self.meet and first:
            self.both.wait(60)

    def eventRecord(self, event, stream):  # noqa: N802
        self.recorded[event] = stream

    def eventSynchronize(self, event):  # noqa: N802
        self.streamSynchronize(self.recorded.get(event))

    def streamSynchronize(self, stream):  # noqa: N802
        with self.guard:
            for target, source, size in self.copies.pop(stream, []):
                ctypes.memmove(target, source, size)


def arrays(seed=0):
    """Arrays of several types and sizes, in all more than one round of all buffers."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, 2**40, 3 * LEAST_PIECE // 8 + 5),
        rng.random((4 * PER_THREAD // 8000, 1000)),
        np.empty(0, np.uint32),
        rng.integers(0, 2**32, 17, dtype=np.uint32),
    ]


@pytest.mark.parametrize("lent", [0, transfers.LENT])
def test_what_is_uploaded_comes_back(monkeypatch, lent):
    monkeypatch.setattr(transfers, "LENT", lent)
    fake = FakeCuda()
    staging = Staging(fake, workers=2, piece=LEAST_PIECE)
    given = arrays()
    fake.meet = True
    uploaded = staging.upload(given)
    fake.meet = False
    assert len(fake.used) == 2
    for array, copy in zip(given, uploaded, strict=True):
        assert copy.dtype == array.dtype
        assert np.array_equal(copy.content, array)
    for array, copy in zip(given, staging.download(uploaded), strict=True):
        assert np.array_equal(copy, array)


def test_page_locked_memory_is_copied_without_threads():
    fake = FakeCuda()
    staging, given = Staging(fake, workers=2, piece=LEAST_PIECE), arrays()[:2]
    fake.locked = {array.ctypes.data for array in given}
    assert all(
        np.array_equal(one.content, array) for one, array in zip(staging.upload(given), given, strict=True)
    )
    assert fake.used == {0}


def test_an_error_of_a_thread_reaches_the_caller_once_no_copy_is_in_flight():
    fake = FakeCuda()
    staging = Staging(fake, workers=2, piece=LEAST_PIECE)
    fake.meet = fake.fails = True
    with pytest.raises(OSError, match="no such luck"):
        staging.upload(arrays())
    assert len(fake.used) == 2
    assert not any(fake.copies.values())
    fake.fails = False
    assert np.array_equal(staging.upload(arrays())[0].content, arrays()[0])


def test_lent_memory_comes_back_with_the_last_view(monkeypatch):
    monkeypatch.setattr(transfers, "LENT", 4096)
    loans = Loans(FakeCuda())

    def lend(size):
        return loans.empty((size // 4,), np.dtype(np.uint32))

    first = lend(4096)
    address, view = first.ctypes.data, first[3:]
    assert lend(1024) is None
    del first
    gc.collect()
    assert lend(4096) is None, "a view is alive"
    del view
    gc.collect()
    again = lend(4096)
    assert again.ctypes.data == address
    del again
    gc.collect()
    assert lend(1024) is not None, "idle memory of another size makes room"


def in_two_threads(work):
    """Run `work(number)` in two threads at once; return both results."""
    results, barrier = {}, threading.Barrier(2)

    def run(number):
        barrier.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0], results[1]


def test_two_threads_copy_at_once():
    staging = Staging(FakeCuda(), workers=2, piece=LEAST_PIECE)

    def there_and_back(number):
        given = arrays(number)
        copies = [staging.download(staging.upload(given)) for _ in range(5)]
        return all(np.array_equal(*pair) for back in copies for pair in zip(given, back, strict=True))

    assert in_two_threads(there_and_back) == (True, True)


@pytest.mark.gpu
@pytest.mark.skipif(cuda.obstacle() is not None, reason="needs a GPU")
def test_copies_are_ordered_with_the_streams_of_two_threads():
    device = get_device("cuda")
    xp = device.xp

    def work(number):
        with xp.cuda.Stream(non_blocking=True):
            for turn in range(20):
                base = np.arange(2 * LARGE, dtype=np.uint32) + np.uint32(number)
                uploaded = device.asarray(base)
                base.fill(0)  # may be changed at once
                for _ in range(turn):
                    uploaded += np.uint32(1)
                back = device.asnumpy(uploaded)
                if not np.array_equal(back, np.arange(2 * LARGE) + number + turn):
                    return turn
        return None

    assert in_two_threads(work) == (None, None)


@pytest.mark.gpu
@pytest.mark.skipif(cuda.obstacle() is not None, reason="needs a GPU")
def test_a_fetch_that_nobody_waits_for_writes_into_no_other_copy():
    device = get_device("cuda")
    busy, zeros = device.xp.zeros(1 << 26, dtype=np.uint32), device.xp.zeros(8, dtype=np.uint64)
    for turn in range(1, 9):
        for _ in range(20):
            busy += 1  # so that the fetch is still to come when the next array is staged
        device.fetch(zeros)
        assert (device.asnumpy(device.asarray(np.full(8, turn, dtype=np.uint64))) == turn).all()
