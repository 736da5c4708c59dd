"""libreldom, called as a C library: batches, one large graph, retained sizes, limits and refusals."""

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dominator_samples import (
    NONE,
    all_graphs_of_four,
    graph_of,
    random_batch,
    random_parts,
    reference_of_batch,
    rooted_graphs,
    semi_nca,
    united,
)
from relaxometer.device import get_device
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators._retained import retained_sizes, unproven
from relaxometer.problems.variants import load_solver

pytestmark = pytest.mark.slow  # the first one builds the library
ROOT = Path(__file__).parents[2]
INVALID, TOO_LARGE, TOO_MANY, BAD_FIRST, BAD_OFFSETS, BAD_TARGET, BAD_ROOT, OVERFLOW = 1, 2, 3, 4, 5, 6, 8, 9
CUDA = 1000
CAPACITY = 100_000
LONG_CHAIN = 65, [(v, v + 1) for v in range(64)]
"""Too large for a warp, so a batch with it is uploaded."""


@dataclass
class Flow:
    """A batch as the library takes it."""

    first_vertex: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray

    @classmethod
    def of(cls, graphs):
        """Join graphs, each a number of vertices and a list of arcs in any order."""
        sizes = [n for n, _ in graphs]
        arcs = [sorted(arcs, key=lambda arc: arc[0]) for _, arcs in graphs]
        degrees = [
            np.bincount([a for a, _ in of], minlength=n)[:n] for n, of in zip(sizes, arcs, strict=True)
        ]
        return cls(
            np.cumsum([0, *sizes]),
            np.cumsum([0, *np.concatenate([np.empty(0, int), *degrees])]).astype(np.int64),
            np.array([head for of in arcs for _, head in of], dtype=np.uint32),
        )


class Library:
    """The functions of the library."""

    def __init__(self, folder):
        self.functions = ctypes.CDLL(str(folder / "libreldom.so"))
        self.functions.reldom_error.restype = ctypes.c_char_p
        self.functions.reldom_device.restype = ctypes.c_char_p
        self.functions.reldom_device.argtypes = (ctypes.c_void_p,)
        self.functions.reldom_close.argtypes = (ctypes.c_void_p,)

    def error(self, code):
        return self.functions.reldom_error(code).decode()

    def open(self, vertices=CAPACITY, arcs=CAPACITY, graphs=CAPACITY):
        """Return the code and the solver."""
        solver = ctypes.c_void_p(1)
        limits = map(ctypes.c_int64, (vertices, arcs, graphs))
        return self.functions.reldom_open(ctypes.byref(solver), *limits), solver

    def call(self, solver, flow, count=None, idom=None):
        """Return the code of a call and the answer."""
        count = len(flow.first_vertex) - 1 if count is None else count
        answer = np.full(max(len(flow.offsets) - 1, 1), 77, dtype=np.uint32) if idom is None else idom
        arrays = flow.first_vertex, flow.offsets, flow.targets, answer
        addresses = [ctypes.c_void_p(array.ctypes.data if array.size else None) for array in arrays]
        code = self.functions.reldom_solve(solver, ctypes.c_int64(count), *addresses)
        return code, answer[: len(flow.offsets) - 1]


@pytest.fixture(scope="session")
def library(built):
    return Library(built)


@pytest.fixture(scope="session")
def solver(library):
    code, solver = library.open()
    assert code == 0
    yield solver
    library.functions.reldom_close(solver)


def solve(library, solver, flow):
    code, idom = library.call(solver, flow)
    assert code == 0, library.error(code)
    return idom


def reference(graphs):
    """Immediate dominators by two algorithms of the package, which agree."""
    device = get_device("host")
    module = load_solver("dominators", "lengauer-tarjan")
    found = [np.empty(0, dtype=np.uint32)]
    for n, arcs in graphs:
        if n == 0:
            continue
        graph = graph_of("drawn", n, arcs)
        found.append(semi_nca(device, graph, 0))
        second = module.Solver(ResidentGraph.upload(device, graph), module.Parameters()).solve(0)
        np.testing.assert_array_equal(second.idom, found[-1])
    return np.concatenate(found)


@st.composite
def flow_graph(draw):
    n = draw(st.integers(0, 10) | st.integers(30, 36) | st.integers(60, 68))
    if n == 0:
        return 0, []
    # Chains make large graphs interesting; backwards, they have to be renumbered.
    chain = draw(st.sampled_from([[], range(n), [0, *range(n - 1, 0, -1)]]))
    vertex = st.integers(0, n - 1)
    drawn = draw(st.lists(st.tuples(vertex, vertex), max_size=30))
    return n, [*pairwise(chain), *drawn]


class TestAnswers:
    """Answers are those of the package's own algorithms, whatever the solver solved before."""

    @given(graphs=st.lists(flow_graph(), max_size=6), is_uploaded=st.booleans())
    @example(graphs=[], is_uploaded=False)
    @example(graphs=[(0, []), (1, [(0, 0)]), (0, []), (2, [(1, 0)])], is_uploaded=False)
    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    def test_any_batch(self, library, solver, graphs, is_uploaded):
        graphs = graphs + [LONG_CHAIN] * is_uploaded
        answer = solve(library, solver, Flow.of(graphs))
        np.testing.assert_array_equal(answer, reference(graphs))

    @pytest.mark.parametrize("batch", [random_batch(), all_graphs_of_four()], ids=lambda batch: batch.name)
    def test_thousands_of_graphs(self, library, solver, batch):
        flow = Flow(batch.first_vertex, batch.offsets, batch.targets)
        np.testing.assert_array_equal(solve(library, solver, flow), reference_of_batch(batch))

    def test_a_tree_too_large_for_shared_memory(self, library, solver):
        n = 9000
        arcs = [(v // 2, v) for v in range(1, n)] + [(v, v - 1) for v in range(2, n, 7)]
        np.testing.assert_array_equal(solve(library, solver, Flow.of([(n, arcs)])), reference([(n, arcs)]))

    def test_threads_have_solvers_of_their_own(self, library):
        batches = [[LONG_CHAIN, (3, [(0, 2), (2, 1)])], [(4, [(0, 1), (1, 2), (0, 3)])] * 50]

        def repeat(case):
            flow, expected = case
            code, solver = library.open()
            same = [code == 0 and np.array_equal(solve(library, solver, flow), expected) for _ in range(50)]
            library.functions.reldom_close(solver)
            return all(same)

        cases = [(Flow.of(graphs), reference(graphs)) for graphs in batches]
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(repeat, cases * 2))


class TestRefusals:
    """What is wrong ends in a code and a text, and the solver can be used on."""

    GOOD = ((3, [(0, 1), (1, 2)]), (2, [(0, 1)]))

    def refused(self, library, solver, flow, **arguments):
        code, _ = library.call(solver, flow, **arguments)
        good = Flow.of(self.GOOD)
        assert solve(library, solver, good).tolist() == [0, 0, 1, 0, 0]
        return code

    @pytest.mark.parametrize("large", [False, True], ids=["small", "uploaded"])
    @pytest.mark.parametrize(
        ("array", "place", "value", "expected"),
        [
            *(("targets", 2, target, BAD_TARGET) for target in (2, 3, 2**32 - 1)),
            *(("offsets", 2, value, BAD_OFFSETS) for value in (0, 99, -1, -(2**63), 2**63 - 1)),
            ("offsets", 0, 1, BAD_OFFSETS),
            ("offsets", -1, -1, BAD_OFFSETS),
            ("offsets", slice(1, 3), (2**63 - 1, -(2**63) + 5), BAD_OFFSETS),
            *(
                ("first_vertex", place, value, BAD_FIRST)
                for place, value in ((0, 1), (1, 9), (1, -1), (2, -5))
            ),
        ],
    )
    def test_arrays_that_are_no_batch(self, library, solver, array, place, value, expected, large):
        """Targets outside their graph, and offsets and first vertices that fall, also by an overflow."""
        flow = Flow.of([*self.GOOD, *[LONG_CHAIN] * large])
        getattr(flow, array)[place] = value
        assert self.refused(library, solver, flow) == expected

    @pytest.mark.parametrize("lacking", ["vertices", "arcs", "graphs"])
    def test_capacity(self, library, lacking):
        flow = Flow.of(self.GOOD)
        exact = {"vertices": 5, "arcs": 3, "graphs": 2}
        for less, expected in ((0, 0), (1, TOO_LARGE)):
            code, solver = library.open(**exact | {lacking: exact[lacking] - less})
            assert code == 0
            assert library.call(solver, flow)[0] == expected
            library.functions.reldom_close(solver)

    def test_null_pointers_and_negative_counts(self, library, solver):
        flow, none = Flow.of(self.GOOD), np.empty(0, dtype=np.uint32)
        for name in ("first_vertex", "offsets", "targets"):
            lacking = Flow(**vars(flow) | {name: none})
            assert library.call(solver, lacking, count=2, idom=np.empty(5, np.uint32))[0] == INVALID, name
        assert self.refused(library, solver, flow, idom=none) == INVALID
        assert self.refused(library, solver, flow, count=-1) == INVALID
        assert library.call(None, flow)[0] == INVALID
        library.functions.reldom_close(None)
        assert library.functions.reldom_device(None) == b"none"

    @pytest.mark.parametrize(
        ("limits", "expected"),
        [
            ((-1, 0, 0), INVALID),
            ((0, 0, -1), INVALID),
            ((0, 2**32, 0), TOO_MANY),
            ((2**31, 0, 2**31), TOO_MANY),
        ],
    )
    def test_capacities(self, library, limits, expected):
        code, solver = library.open(*limits)
        assert (code, solver.value) == (expected, None)
        assert library.functions.reldom_open(None, *[ctypes.c_int64(0)] * 3) == INVALID

    def test_texts(self, library):
        codes = [*range(10), CUDA + 2, -5, 999]
        texts = [library.error(code) for code in codes]
        assert all(texts)
        assert len(set(texts[:11])) == 11
        assert texts[10:] == ["out of memory", "unknown code", "unknown code"]

    def test_no_memory(self, built, device):
        if device.kind == "cuda":
            pytest.skip("only the emulation's memory can be limited")
        program = (
            "import ctypes, resource, sys; library = ctypes.CDLL(sys.argv[1]); solver = ctypes.c_void_p();"
            "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); "
            "limits = map(ctypes.c_int64, (2**31, 2**31, 1));"
            "print(library.reldom_open(ctypes.byref(solver), *limits), solver.value)"
        )
        command = [sys.executable, "-c", program, built / "libreldom.so"]
        assert subprocess.run(command, capture_output=True, text=True).stdout == f"{CUDA + 2} None\n"


class TestTheKernel:
    """The kernel that looks through an uploaded batch, under the emulation's checks."""

    @pytest.mark.parametrize(
        "options", [{}, {"order_seed": 1}, {"sanitize": "thread"}, {"sanitize": "undefined"}], ids=str
    )
    def test_it_lists_what_the_others_cannot_take(self, options):
        device = get_device("host", **options)
        kernel = device.module(ROOT / "reldom/find_unordered.cuh").get_function("find_unordered")
        good = [(0, []), (1, []), LONG_CHAIN, (40, [(0, v) for v in range(40)]), (2, [(1, 0), (0, 1)])]
        bad = [
            (2, []),
            (2, [(1, 1)]),
            (40, [(0, v) for v in range(39)]),
            (3, [(0, 2), (2, 1)]),
            (2, [(0, 2)]),
        ]
        flow = Flow.of([graph for pair in zip(good, bad, strict=True) for graph in pair])
        found = np.zeros(11, dtype=np.uint32)
        mark = np.empty(len(flow.offsets) - 1, dtype=np.uint32)
        kernel(3, 128, (np.uint32(10), flow.first_vertex, flow.offsets, flow.targets, mark, found))
        assert found[0] == 5
        assert sorted(found[1:6]) == [1, 3, 5, 7, 9]


def test_a_c_program(built, tmp_path):
    program = tmp_path / "caller"
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    link = [f"-L{built}", "-lreldom", f"-Wl,-rpath,{built}"]
    source = Path(__file__).with_name("caller.c")
    subprocess.run(["gcc", *flags, f"-I{ROOT / 'reldom'}", source, "-o", program, *link], check=True)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.stdout == "0: 0\n1: 0\n2: 0\n3: 0\n4 is unreached\n", result.stderr


SAMPLES = {name: (graph, 0) for name, graph in rooted_graphs().items()}
SAMPLES |= {f"{name}-backwards": (graph, graph.n_vertices - 1) for name, graph in rooted_graphs().items()}
PATH = graph_of("path", 3, [(0, 1), (1, 2)])


@pytest.fixture(scope="session")
def functions(library):
    return library.functions


def solve_graph(functions, graph, root=0, sizes=None, n=None, **replaced):
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


def check_graph(functions, graph, root, idom):
    """Solve with random sizes and compare; the sum of all is close to 64 bits."""
    most = (2**64 - 1) // graph.n_vertices
    sizes = np.random.default_rng(1).integers(0, most, graph.n_vertices, np.uint64, endpoint=True)
    code, found, retained = solve_graph(functions, graph, root, sizes)
    assert code == 0
    np.testing.assert_array_equal(found, idom)
    np.testing.assert_array_equal(retained, retained_sizes(get_device("host"), idom, sizes, root))


@pytest.mark.parametrize(("graph", "root"), SAMPLES.values(), ids=SAMPLES)
def test_sample_graphs(functions, graph, root):
    check_graph(functions, graph, root, semi_nca(get_device("host"), graph, root))


def test_thousands_of_random_parts(functions):
    for graph, root, idom in united(random_parts()):
        check_graph(functions, graph, root, idom)


def test_a_graph_without_sizes(functions):
    code, idom, retained = solve_graph(functions, PATH, root=1)
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
def test_refusals_of_a_graph(functions, arguments, expected):
    assert solve_graph(functions, PATH, **arguments)[0] == expected


def test_the_sum_of_reached_sizes_may_fill_64_bits(functions):
    sizes = np.array([9, 1, 2**64 - 2], np.uint64)
    assert solve_graph(functions, PATH, 1, sizes)[2].tolist() == [0, 2**64 - 1, 2**64 - 2]


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
