"""Arrays of a caller: checked in one pass where they are used, and sent once; threads, memory."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import relaxometer as rx
from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.cuda import obstacle
from relaxometer.graphs import soundness
from relaxometer.graphs.resident import ResidentArrays
from relaxometer.library import graph as library_graph
from relaxometer.library.prepared import open_device

NEEDS_GPU = pytest.mark.skipif(obstacle() is not None, reason="needs a GPU")
KINDS = ["host", pytest.param("cuda", marks=[pytest.mark.gpu, NEEDS_GPU])]

N = 50


@pytest.fixture(autouse=True)
def _read_on_the_device(monkeypatch):
    """Have arrays of all sizes checked where large ones are."""
    monkeypatch.setattr(library_graph, "SMALL", -1)


@pytest.fixture(params=["numpy", *(["cupy"] if obstacle() is None else [])])
def xp(request):
    return pytest.importorskip(request.param)


def arrays(seed=3, weight_type="uint32"):
    """Offsets, targets and weights of a random graph with empty rows; heads ascend."""
    rng = np.random.default_rng(seed)
    tails, heads = (part.astype(np.uint32) for part in rng.integers(0, N // 2, (2, 200)) * 2)
    csr = rx.Graph.from_arcs(N, tails, heads, rng.integers(1, 40, 200)).csr
    return csr.offsets, csr.targets, csr.weights.astype(weight_type)


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


TYPES = [
    *itertools.product(["int64"], ["uint32"], ["uint32", "int32", "float32", "float64", "int64", None]),
    *(("int32", "int32", "float32"), ("uint64", "int64", "uint32"), ("uint32", "uint64", None)),
    ("int16", "uint8", "int64"),
]


@pytest.mark.parametrize("where", KINDS)
@pytest.mark.parametrize(("offset_type", "target_type", "weight_type"), TYPES)
def test_sound_arrays_are_resident_as_they_are(where, weight_type, offset_type, target_type):
    offsets, targets, weights = arrays(weight_type=weight_type or "uint32")
    graph = rx.Graph.from_csr(
        offsets.astype(offset_type), targets.astype(target_type), weights if weight_type else None
    )
    resident = graph.resident(open_device(where))
    assert isinstance(resident, ResidentArrays)
    assert graph.order is None
    host = resident.host
    for name in ("offsets", "targets", "weights"):
        on_device = resident.device.asnumpy(getattr(resident, name))
        column = getattr(host, name)
        assert np.array_equal(on_device, column.view(on_device.dtype)), name
    assert np.array_equal(host.offsets, offsets)
    assert np.array_equal(host.targets, targets)
    assert np.array_equal(host.weights, weights if weight_type else np.ones(len(targets)))
    assert (resident.n_vertices, resident.n_arcs, resident.lengths) == (N, host.n_arcs, host.lengths)


WRONG = {
    "offsets: descend after element 5": lambda o, t, w: (changed(o, 6, o[5] - 1), t, w),
    "offsets: expected to begin with 0": lambda o, t, w: (changed(o, 0, 1), t, w),
    "offsets: expected to begin with 0 and end with": lambda o, t, w: (changed(o, -1, o[-1] + 1), t, w),
    "targets: element 7 is 50; expected 0 to 49": lambda o, t, w: (o, changed(t, 7, N), w),
    "targets: element 7 is -1; expected 0 to 49": lambda o, t, w: (o, changed(t.astype(np.int32), 7, -1), w),
    "targets: element 2 is 4294967296": lambda o, t, w: (o, changed(t.astype(np.int64), 2, 2**32), w),
    "weight of arc 4 is 4294967295": lambda o, t, w: (o, t, changed(w, 4, 2**32 - 1)),
    "weight of arc 4 is -2147483648": lambda o, t, w: (o, t, changed(w.astype(np.int32), 4, -(2**31))),
    "weight of arc 4 is nan": lambda o, t, w: (o, t, changed(w.astype(np.float32), 4, np.nan)),
    "weight of arc 4 is inf": lambda o, t, w: (o, t, changed(w.astype(np.float64), 4, np.inf)),
    r"weight of arc 4 is -0\.5": lambda o, t, w: (o, t, changed(w.astype(np.float32), 4, -0.5)),
    r"weight of arc 4 is -1\.0": lambda o, t, w: (o, t, changed(w.astype(np.float64), 4, -1)),
}


@pytest.mark.parametrize("where", KINDS)
def test_what_is_launched_before_the_verdict_sees_a_graph(where):
    device, (offsets, targets, weights) = open_device(where), arrays()
    lengths = rx.Graph.from_csr(offsets, targets, weights).lengths
    wrong = device.asarrays(changed(offsets, 6, 10**12), changed(targets, 7, N), weights)
    assert not soundness.check(device, *wrong, lengths, mend=False)()
    assert not soundness.check(device, *wrong, lengths, mend=True)()
    assert soundness.check(device, *wrong, lengths, mend=True)()
    assert device.asnumpy(wrong[0]).tolist() == [0] * N + [len(targets)]


@pytest.mark.parametrize("where", ["cpu", *KINDS])
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_element_is_one_line(line, where, xp):
    graph = rx.Graph.from_csr(*map(xp.asarray, WRONG[line](*arrays())))
    # Of other types without a solver, whose kernels would have to be compiled for each.
    prepares = where == "cpu" or graph.lengths.title == "uint32"
    with pytest.raises(rx.GraphError, match=line) as error:
        rx.prepare(graph, device=where) if prepares else graph.resident(open_device(where))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("where", ["cpu", *KINDS])
def test_arcs_in_any_order_and_negative_zeros_are_searched(where):
    offsets, targets, weights = arrays(weight_type="float32")
    longest = int(np.diff(offsets).argmax())
    row = slice(offsets[longest], offsets[longest + 1])
    weights[row.start] = -0.0
    expected = rx.prepare(rx.Graph.from_csr(offsets, targets, weights), device="cpu").search(longest)
    mixed = targets.copy(), weights.copy()
    for array in mixed:
        array[row] = array[row][::-1]
    graph = rx.Graph.from_csr(offsets, *mixed)
    trees = rx.prepare(graph, device=where)
    assert np.array_equal(trees.search(longest).verify().distance, expected.distance)
    assert graph.order[row].tolist() == list(range(row.stop - 1, row.start - 1, -1))
    trees.customize(2 * mixed[1])
    assert np.array_equal(trees.search(longest).verify().distance, 2 * expected.distance)


@pytest.mark.parametrize("where", KINDS)
@pytest.mark.parametrize("problem", ["bfs", "dominators"])
def test_weights_stay_where_they_are_not_read(problem, where, monkeypatch):
    offsets, targets, weights = arrays()
    graph = rx.Graph.from_csr(offsets, targets, weights)
    sent, kind = [], type(open_device(where))
    asarrays = kind.asarrays
    monkeypatch.setattr(
        kind, "asarrays", lambda self, *all_of: sent.extend(all_of) or asarrays(self, *all_of)
    )
    names = {"bfs": ["auto", "tiled"], "dominators": ["auto"]}
    for variant in names[problem]:
        rx.prepare(graph, problem, variant=variant, device=where).search(0).verify()
    assert len(sent) >= 2
    assert not any(np.shares_memory(one, weights) for one in sent)


def test_memory_that_will_not_suffice_is_said_before_it_is_taken(monkeypatch):
    graph = rx.Graph.from_csr(*arrays())
    n_arcs, device = graph.n_arcs, open_device("host")
    assert graph.bytes_on_device() == 8 * (N + 1) + 8 * n_arcs + 8 * N
    assert graph.bytes_on_device("bfs") == 8 * (N + 1) + 4 * n_arcs + 8 * N
    assert graph.bytes_on_device("routes") == 8 * (N + 1) + 8 * n_arcs

    def refuse(self, size, what):
        raise DeviceOutOfMemory(f"{what}: {size:,} bytes; none is free")

    monkeypatch.setattr(type(device), "refuse", refuse)
    monkeypatch.setattr(type(device), "asarrays", lambda *_: pytest.fail("an array was sent"))
    with pytest.raises(DeviceOutOfMemory, match=r"^the graph and an answer: .* bytes; none is free$"):
        rx.prepare(graph, device="host")


@pytest.mark.gpu
@NEEDS_GPU
def test_a_gpu_refuses_more_than_it_has():
    device = open_device("cuda")
    device.refuse(1 << 20, "a little")
    with pytest.raises(DeviceOutOfMemory, match=r"^too much: 1,125,899,906,842,624 bytes; .* free$"):
        device.refuse(1 << 50, "too much")


def test_two_threads_search_at_once():
    offsets, targets, weights = arrays()
    expected = rx.prepare(rx.Graph.from_csr(offsets, targets, weights), device="cpu")
    wrong = []

    def work(kind, sources):
        for source in sources:
            graph = rx.Graph.from_csr(offsets, targets, weights)
            found = rx.prepare(graph, device=kind).search(source).distance
            if not np.array_equal(found, expected.search(source).distance):
                wrong.append(source)

    def on_a_stream(sources):
        if obstacle() is not None:
            work("host", sources)
            return
        import cupy

        with cupy.cuda.Stream(non_blocking=True):
            work("cuda", sources)

    threads = [threading.Thread(target=on_a_stream, args=(range(first, 8, 2),)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.gpu
@NEEDS_GPU
def test_a_search_on_another_stream_waits_for_the_preparation():
    import cupy

    offsets, targets, weights = arrays()
    expected = rx.prepare(rx.Graph.from_csr(offsets, targets, weights), device="cpu").search(0).distance
    for _ in range(20):
        with cupy.cuda.Stream(non_blocking=True):
            trees = rx.prepare(rx.Graph.from_csr(*map(cupy.asarray, (offsets, targets, weights))))
        with cupy.cuda.Stream(non_blocking=True):
            assert np.array_equal(trees.search(0).distance.get(), expected)


def exported(array):
    """Return an array that offers DLPack alone."""
    return SimpleNamespace(__dlpack__=array.__dlpack__, __dlpack_device__=array.__dlpack_device__)


def test_arrays_of_dlpack_are_taken_where_they_are(xp):
    given = [xp.asarray(array) for array in arrays()]
    graph = rx.Graph.from_csr(*map(exported, given))
    assert graph.on_device == (xp is not np)
    for adopted, array in zip(graph._given, given, strict=True):
        assert xp.shares_memory(adopted, array)
    assert rx.prepare(graph).search(0).verify().reached.any()


@pytest.mark.parametrize("where", KINDS)
@pytest.mark.parametrize("problem", ["sssp", "bfs", "dominators"])
def test_memory_goes_with_the_last_reference(problem, where):
    graph = rx.Graph.from_csr(*arrays())
    gc.collect()
    gc.disable()
    try:
        prepared = rx.prepare(graph, problem, device=where)
        answer = prepared.search(0)
        gone = weakref.ref(prepared._resident)
        del prepared
        answer = None  # noqa: F841
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.gpu
@NEEDS_GPU
def test_a_thousand_cycles_leave_no_memory():
    import cupy
    import psutil

    given, process = arrays(), psutil.Process()
    pool = cupy.get_default_memory_pool()
    used = []
    for turn in range(1000):
        rx.prepare(rx.Graph.from_csr(*given), "bfs" if turn % 2 else "sssp").search(turn % N)
        if turn in (99, 999):
            used.append((pool.used_bytes(), pool.total_bytes(), process.memory_info().rss))
    assert used[1][:2] == used[0][:2]
    assert used[1][2] - used[0][2] < 16 << 20
