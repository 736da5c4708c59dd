"""One large graph and retained sizes by libreldom, against the answers of the Python package."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from dominator_samples import (
    NONE,
    graph_of,
    random_batch,
    random_parts,
    reference_of_batch,
    rooted_graphs,
    semi_nca,
    united,
)
from relaxometer.device import get_device
from relaxometer.problems.dominators._retained import retained_sizes, unproven

pytestmark = pytest.mark.slow  # the first one builds the library
ROOT = Path(__file__).parents[2]
INVALID, TOO_MANY, BAD_FIRST, BAD_OFFSETS, BAD_TARGET, BAD_ROOT, OVERFLOW, CUDA = 1, 3, 4, 5, 6, 8, 9, 1000
SAMPLES = {name: (graph, 0) for name, graph in rooted_graphs().items()}
SAMPLES |= {f"{name}-backwards": (graph, graph.n_vertices - 1) for name, graph in rooted_graphs().items()}
PATH = graph_of("path", 3, [(0, 1), (1, 2)])


@pytest.fixture(scope="session")
def functions(built):
    return ctypes.CDLL(str(built / "libreldom.so"))


def solve(functions, graph, root=0, sizes=None, n=None, **replaced):
    """Return the code of a call, the immediate dominators and the retained sizes."""
    arrays = {
        "offsets": graph.offsets.astype(np.int64),
        "targets": graph.targets.astype(np.uint32),
        "sizes": sizes,
        "idom": np.full(graph.n_vertices, 77, np.uint32),
        "retained": None if sizes is None else np.full(graph.n_vertices, 77, np.uint64),
    } | replaced
    offsets, targets, *rest = (
        ctypes.c_void_p(None if array is None or not array.size else array.ctypes.data)
        for array in arrays.values()
    )
    count = ctypes.c_int64(graph.n_vertices if n is None else n)
    code = functions.reldom_solve_graph(count, offsets, targets, ctypes.c_uint32(root), *rest)
    return code, arrays["idom"], arrays["retained"]


def check(functions, graph, root, idom):
    """Solve with random sizes and compare; the sum of all is close to 64 bits."""
    most = (2**64 - 1) // graph.n_vertices
    sizes = np.random.default_rng(1).integers(0, most, graph.n_vertices, np.uint64, endpoint=True)
    code, found, retained = solve(functions, graph, root, sizes)
    assert code == 0
    np.testing.assert_array_equal(found, idom)
    np.testing.assert_array_equal(retained, retained_sizes(get_device("host"), idom, sizes, root))


@pytest.mark.parametrize(("graph", "root"), SAMPLES.values(), ids=SAMPLES)
def test_samples(functions, graph, root):
    check(functions, graph, root, semi_nca(get_device("host"), graph, root))


def test_thousands_of_random_parts(functions):
    for graph, root, idom in united(random_parts()):
        check(functions, graph, root, idom)


def test_without_sizes(functions):
    code, idom, retained = solve(functions, PATH, root=1)
    assert (code, idom.tolist(), retained) == (0, [NONE, 1, 1], None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"root": 3}, BAD_ROOT),
        ({"n": 0, "offsets": np.zeros(1, np.int64)}, BAD_ROOT),
        ({"n": -1}, INVALID),
        ({"n": 2**31 + 1}, TOO_MANY),
        ({"offsets": np.array([0, 1, 2, 2**48 + 1])}, TOO_MANY),
        ({"offsets": np.array([0, 1, 2, 2**46])}, CUDA + 2),
        ({"offsets": np.array([1, 1, 2, 2])}, BAD_OFFSETS),
        ({"offsets": np.array([0, 2, 1, 2])}, BAD_OFFSETS),
        ({"offsets": np.array([0, 1, 2, -1])}, BAD_OFFSETS),
        ({"targets": np.array([1, 3], np.uint32)}, BAD_TARGET),
        ({"sizes": np.array([1, 1, 2**64 - 2], np.uint64)}, OVERFLOW),
        *(({name: None}, INVALID) for name in ("offsets", "targets", "idom")),
        ({"sizes": np.ones(3, np.uint64), "retained": None}, INVALID),
        ({"retained": np.ones(3, np.uint64)}, INVALID),
    ],
)
def test_refusals(functions, arguments, expected):
    assert solve(functions, PATH, **arguments)[0] == expected


def test_the_sum_of_reached_sizes_may_fill_64_bits(functions):
    sizes = np.array([9, 1, 2**64 - 2], np.uint64)
    assert solve(functions, PATH, 1, sizes)[2].tolist() == [0, 2**64 - 1, 2**64 - 2]


def test_memory_is_said_beforehand(functions):
    def memory(n, n_arcs, has_sizes):
        found = ctypes.c_int64()
        counts = map(ctypes.c_int64, (n, n_arcs))
        return functions.reldom_graph_bytes(*counts, has_sizes, ctypes.byref(found)), found.value

    n, n_arcs = 2**31, 2**33
    code, without = memory(n, n_arcs, 0)
    assert code == 0
    assert 0 < without - (24 * n + 16 * n_arcs) < 2**12
    assert memory(n, n_arcs, 1) == (0, without + 16 * n)
    assert memory(n + 1, 0, 0)[0] == memory(0, 2**48 + 1, 0)[0] == TOO_MANY
    assert memory(-1, 0, 0)[0] == memory(0, -1, 0)[0] == INVALID
    assert functions.reldom_graph_bytes(ctypes.c_int64(1), ctypes.c_int64(1), 0, None) == INVALID


def retain(functions, first_vertex, idom, sizes, n_graphs=None):
    """Return the code of a call and the retained sizes."""
    retained = np.full(len(sizes), 77, np.uint64)
    arrays = np.asarray(first_vertex, np.int64), np.asarray(idom, np.uint32), np.asarray(sizes, np.uint64)
    addresses = (ctypes.c_void_p(array.ctypes.data if array.size else None) for array in (*arrays, retained))
    count = ctypes.c_int64(len(first_vertex) - 1 if n_graphs is None else n_graphs)
    return functions.reldom_retain(count, *addresses), retained


def test_retained_sizes_of_a_batch(functions):
    batch = random_batch()
    idom = reference_of_batch(batch)
    sizes = np.random.default_rng(1).integers(0, 2**48, len(idom), np.uint64)
    code, retained = retain(functions, batch.first_vertex, idom, sizes)
    assert code == 0
    first = np.repeat(batch.first_vertex[:-1], np.diff(batch.first_vertex))
    joined = np.where(idom == NONE, NONE, idom + first).astype(np.uint32)
    assert unproven(joined, sizes, retained).size == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([0, 1, 2], [0, 0], [2**64 - 1, 2**64 - 1]), 0),
        (([0, 2], [0, 0], [2**64 - 1, 1]), OVERFLOW),
        (([0, 2, 3], [0, 2, 0], [1, 1, 1]), BAD_TARGET),
        (([0, 2, 1], [0, 0], [1, 1]), BAD_FIRST),
        (([0, 2], [], [1, 1]), INVALID),
        (([], [0], [1], 1), INVALID),
        (([0, 1], [0], [1], -1), INVALID),
        (([0, 1], [0], [1], 2**31 + 1), TOO_MANY),
        (([0, 2**31 + 1], [0], [1]), TOO_MANY),
        (([0, 0], [], []), 0),
    ],
)
def test_refusals_of_retained_sizes(functions, arguments, expected):
    assert retain(functions, *arguments)[0] == expected


@pytest.mark.parametrize(
    "options", [{}, {"order_seed": 1}, {"sanitize": "thread"}, {"sanitize": "undefined"}], ids=str
)
@pytest.mark.parametrize(
    ("targets", "facts"), [([1, 2, 3, 0, 4], [0, 0]), ([1, 2, 1, 0, 4], [0, 1]), ([1, 2, 3, 5, 4], [1, 0])]
)
def test_what_an_uploaded_graph_is(options, targets, facts):
    """Vertices 2 and 4 have no arcs."""
    module = get_device("host", **options).module(ROOT / "reldom/read_graph.cuh")
    offsets = np.array([0, 3, 4, 4, 5, 5])
    tails, lowest, found = np.zeros(5, np.uint32), np.full(5, NONE, np.uint32), np.zeros(2, np.uint32)
    arcs = offsets, np.array(targets, np.uint32), tails
    module.get_function("read_arcs")(2, 64, (np.uint32(5), np.uint64(5), *arcs, lowest, found))
    module.get_function("read_order")(2, 64, (np.uint32(5), lowest, found))
    assert tails.tolist() == [0, 0, 0, 1, 3]
    assert found.tolist() == facts
