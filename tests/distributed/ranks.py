"""Program of every rank of a test's job, which runs many cases, since starting ranks takes longer.

Called with a folder of graphs and the names of cases.
"""

import gc
import sys
import tracemalloc
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators import graph500
from relaxometer.distributed import build, certify, hybrid_2d, hybrid_peers, memory, model, stored
from relaxometer.distributed.certify import Certifier, reached_totals
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.graph500 import kronecker_block
from relaxometer.distributed.levels import Level
from relaxometer.distributed.partition import Block, Rows
from relaxometer.distributed.process import ending_together, share_cores
from relaxometer.distributed.sssp import sssp_1d, sssp_peers
from relaxometer.distributed.stored import stored_block
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.problems.problem import Answer
from sample_graphs import reference_distances

UNREACHED = 2**32 - 1


@cache
def whole(graph: str, folder: Path) -> Graph:
    """The whole graph; references are made of it on one rank only, since ranks share the cores."""
    if graph.startswith("kron-"):
        return graph500.kronecker_graph(Graph500Parameters(scale=int(graph[5:])))
    return read_graph(folder / graph)


def block_of(ranks: Ranks, graph: str, folder: Path, scheme: str, *, weighted: bool) -> Block:
    if graph.startswith("kron-"):
        parameters = Graph500Parameters(scale=int(graph[5:]))
        return kronecker_block(ranks, scheme, parameters, weighted=weighted, batch=1500, piece=900)
    return stored_block(ranks, scheme, folder / graph, weighted=weighted, batch=700, piece=400)


def levels_of(graph: Graph, source: int) -> np.ndarray:
    """Levels by sweeps over all arcs."""
    level = np.full(graph.n_vertices, UNREACHED, dtype=np.int64)
    level[source] = depth = 0
    tails = graph.tails
    while True:
        found = graph.targets[level[tails] == depth]
        found = found[level[found] == UNREACHED]
        if not len(found):
            return level
        depth += 1
        level[found] = depth


def assembled(ranks: Ranks, block: Block, column: np.ndarray, beyond: int = UNREACHED) -> np.ndarray:
    """A column for the whole graph, from its owners; it is `beyond` after the last vertex."""
    result = np.empty(block.layout.n_pieces * block.layout.piece, dtype=np.int64)
    for vertices, values in ranks.gather((block.owned.vertices(), column)):
        result[vertices] = values
    assert (result[block.n_vertices :] == beyond).all()
    return result[: block.n_vertices]


def sources_of(block: Block) -> list[int]:
    """The first vertex and the last, isolated in some graphs, and a search key of Graph500."""
    keys = block.metadata.get("search_keys", [])
    return sorted({0, block.n_vertices - 1, *keys[3:4]})


def check_block(ranks: Ranks, block: Block, graph: Graph | None) -> None:
    """The union of the blocks is the graph, which one rank has."""
    degrees = assembled(ranks, block, block.degrees, beyond=0)
    tails = np.repeat(block.tails.vertices(), np.diff(block.out.offsets))
    columns = [tails, block.heads.vertices()[block.out.targets]]
    if block.out.weights is not None:
        columns.append(block.out.weights)
    arcs = np.concatenate(ranks.gather(np.stack(columns, axis=1)))
    if graph is None:
        return
    assert block.n_arcs == graph.n_arcs
    np.testing.assert_array_equal(degrees, graph.degrees)
    expected = np.stack([graph.tails, graph.targets, graph.weights][: len(columns)], axis=1).astype(np.int64)
    np.testing.assert_array_equal(arcs[np.lexsort(arcs.T[::-1])], expected[np.lexsort(expected.T[::-1])])
    if keys := graph.metadata.get("search_keys"):
        assert block.metadata["search_keys"] == keys


def bfs(ranks: Ranks, folder: Path, graph_name: str, scheme: str, *options: str) -> None:
    """Levels are right and predecessors certified; each option is NAME=VALUE."""
    block = block_of(ranks, graph_name, folder, scheme, weighted=False)
    graph = whole(graph_name, folder) if ranks.rank == 0 else None
    check_block(ranks, block, graph)
    chosen = dict(option.split("=") for option in options)
    engine = hybrid_peers if chosen.pop("engine", "") == "peers" else hybrid_2d
    solver = engine.Solver(ranks, block, engine.Parameters.model_validate(chosen, strict=False))
    certifier = Certifier(ranks, block, "bfs")
    for source in sources_of(block):
        answer = solver.solve(source)
        level = assembled(ranks, block, answer.level)
        certificate = certifier.check(source, **named(answer))
        assert certificate.holds, certificate.reason
        totals = reached_totals(ranks, block, answer.level, certifier)
        levels: list[Level] = []
        solver.solve(source, levels)
        assert all(one.sent_bytes <= one.plain_bytes for one in levels)
        assert sum(one.relaxed_arcs for one in levels) > 0 or totals["reached"] == 1
        if engine is hybrid_2d and "parents" not in chosen:
            predicted = ranks.size * (model.fold(block.layout).bytes + model.expand(block.layout).bytes)
            assert {one.plain_bytes for one in levels[:-1]} == {predicted}
        if graph is None:
            assert sum(one.sent_bytes for one in levels) > 0 or 1 in (ranks.size, totals["reached"])
            continue
        expected = levels_of(graph, source)
        np.testing.assert_array_equal(level, expected)
        reached = expected != UNREACHED
        assert totals["reached"] == reached.sum()
        assert totals["reached_arcs"] == graph.degrees[reached].sum()
        if graph.input_degrees is not None:
            assert totals["input_edges"] == graph.input_degrees[reached].sum() // 2
        assert sum(one.updated for one in levels) == reached.sum() - 1
        if engine is hybrid_2d:
            depth = expected[reached].max()
            last = expected == depth
            leads_on = graph.degrees[last].sum() != last.sum() * (block.metadata.get("directed") is False)
            assert len(levels) - 1 == depth + (leads_on or depth == 0)


def sssp(ranks: Ranks, folder: Path, graph_name: str, *options: str) -> None:
    """Distances are right and predecessors certified."""
    chosen = dict(option.split("=") for option in options)
    name = "sssp-peers" if chosen.pop("engine", "") == "peers" else "sssp-1d"
    engine = ENGINES["sssp"][name]
    block = block_of(ranks, graph_name, folder, engine.scheme("auto", ranks.size), weighted=True)
    graph = whole(graph_name, folder) if ranks.rank == 0 else None
    check_block(ranks, block, graph)
    solver = engine.solver(ranks, block, engine.parameters.model_validate(chosen, strict=False))
    certifier = Certifier(ranks, block, "sssp")
    for source in sources_of(block):
        answer = solver.solve(source)
        distance = assembled(ranks, block, answer.distance)
        certificate = certifier.check(source, **named(answer))
        assert certificate.holds, certificate.reason
        if graph is not None:
            np.testing.assert_array_equal(distance, reference_distances(graph, source))


def named(answer: Answer) -> dict[str, np.ndarray]:
    value, predecessor = answer.columns.values()
    return {"value": value.copy(), "predecessor": predecessor.copy()}


def rows(ranks: Ranks, folder: Path, scheme: str) -> None:
    """The arrays of a block made in pieces are those that one sort of all its arcs makes, bit by bit."""
    for weighted, keep_parallel in product((False, True), repeat=2):
        p = Graph500Parameters(scale=11, keep_parallel=keep_parallel)
        block = kronecker_block(ranks, scheme, p, weighted=weighted, batch=2000, piece=1500)
        edges = graph500.kronecker_edges(p.scale, 0, p.edge_factor << p.scale)
        tails = np.concatenate([edges.tails, edges.heads])
        heads = np.concatenate([edges.heads, edges.tails])
        weights = np.tile(graph500.integer_weights(edges.weights, *p.weight_range), 2)
        own = block.layout.rank_of_arcs(tails, heads) == ranks.rank
        ends = np.bincount(block.heads.local(heads[own]), minlength=block.heads.size)
        np.testing.assert_array_equal(block.ends, ends)
        own &= keep_parallel | (tails != heads)
        arcs = block.tails.local(tails[own]), block.heads.local(heads[own]), weights[own] * weighted
        check_rows(block.out, *sorted_arcs(*arcs, merge=not keep_parallel))
        if block.into.targets is not None:
            check_rows(block.into, *sorted_arcs(*arcs, merge=not keep_parallel, by_head=True))


def sorted_arcs(
    tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, *, merge: bool, by_head: bool = False
) -> np.ndarray:
    """Columns of arcs, sorted by both ends and weight; with `merge`, only the lightest of parallel ones."""
    arcs = np.stack([heads, tails, weights] if by_head else [tails, heads, weights])
    arcs = arcs[:, np.lexsort(arcs[::-1])]
    first = np.concatenate([[True], (arcs[:2, 1:] != arcs[:2, :-1]).any(axis=0)])
    return arcs[:, first] if merge else arcs


def check_rows(found: Rows, rows: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
    size = len(found.offsets) - 1
    np.testing.assert_array_equal(found.offsets, np.searchsorted(rows, np.arange(size + 1)))
    np.testing.assert_array_equal(found.targets, targets)
    assert (found.offsets.dtype, found.targets.dtype) == (np.int64, np.uint32)
    if found.weights is not None:
        np.testing.assert_array_equal(found.weights, weights)


def numbered(ranks: Ranks, folder: Path, graph_name: str, piece: str) -> None:
    """The arcs of `sssp-peers`, sorted in pieces, are those that one sort of all makes, bit by bit."""
    build.PIECE = int(piece)
    block = block_of(ranks, graph_name, folder, f"{ranks.size}x1-dealt", weighted=True)
    graph = sssp_peers.Numbered.of(ranks, block)
    rows = np.repeat(np.arange(block.tails.size), np.diff(block.out.offsets))
    tails, heads = graph.tail_numbers[rows], graph.head_of[block.out.targets]
    for (offsets, arcs), rows, ends in ((graph.out, tails, heads), (graph.into, heads, tails)):
        assert (offsets.dtype, arcs.dtype) == (np.int64, np.uint64)
        order = np.lexsort([ends, block.out.weights, rows])
        np.testing.assert_array_equal(offsets, np.searchsorted(rows[order], np.arange(len(offsets))))
        np.testing.assert_array_equal(arcs >> np.uint64(32), block.out.weights[order])
        np.testing.assert_array_equal(arcs & np.uint64(2**32 - 1), ends[order])


def corrupt_bfs(ranks: Ranks, folder: Path) -> None:
    """Each rule of Graph500 can be broken."""
    block = block_of(ranks, "kron-9", folder, "2x2", weighted=False)
    graph = whole("kron-9", folder)
    source = graph.metadata["search_keys"][0]
    certifier = Certifier(ranks, block, "bfs")
    answer = hybrid_2d.Solver(ranks, block, hybrid_2d.Parameters()).solve(source)
    expected, vertices = levels_of(graph, source), block.owned.vertices()
    child = int(np.flatnonzero(expected == 2)[0])
    neighbours = graph.targets[graph.offsets[child] : graph.offsets[child + 1]]
    stranger = next(v for v in np.flatnonzero(expected == 1) if v not in neighbours)
    furthest = int(expected[expected != UNREACHED].max())

    is_child, is_last = vertices == child, answer.level == furthest
    check_rules(
        certifier,
        source,
        answer,
        ({}, set()),
        ({"predecessor": (vertices == source, child)}, {"tree"}),
        ({"predecessor": (is_child, child)}, {"tree", "tree_levels", "tree_arcs"}),
        ({"value": (is_child, 3)}, {"tree_levels", "arc_levels"}),
        ({"predecessor": (is_child, stranger)}, {"tree_arcs"}),
        ({"value": (is_last, UNREACHED), "predecessor": (is_last, UNREACHED)}, {"spanning"}),
    )


def corrupt_sssp(ranks: Ranks, folder: Path) -> None:
    """Each rule of shortest paths can be broken; the graph is a ring with a tail."""
    block = block_of(ranks, "zero-weights", folder, f"1x{ranks.size}", weighted=True)
    certifier = Certifier(ranks, block, "sssp")
    answer = sssp_1d.Solver(ranks, block, sssp_1d.Parameters()).solve(60)
    vertices = block.owned.vertices()
    ring, far = vertices < 40, vertices == 50
    longer = answer.distance[far] + 1
    check_rules(
        certifier,
        60,
        answer,
        ({}, set()),
        ({"predecessor": (ring, (vertices[ring] + 1) % 40)}, {"tree"}),
        ({"value": (far, longer)}, {"overstretched", "predecessor"}),
        ({"value": (ring, UNREACHED), "predecessor": (ring, UNREACHED)}, {"left_out"}),
        ({"predecessor": (vertices == 60, 59)}, {"source"}),
    )


def check_rules(certifier: Certifier, source: int, answer: Answer, *corruptions: tuple[dict, set]) -> None:
    """Check which rules each corruption breaks: by column, where it changes and to what."""
    for changes, expected in corruptions:
        columns = named(answer)
        for name, (where, value) in changes.items():
            columns[name][where] = value
        certificate = certifier.check(source, **columns)
        assert all(certificate.violations[rule] > 0 for rule in certificate.first)
        found = {rule for rule, count in certificate.violations.items() if count}
        assert found == expected, f"broken {sorted(found)}, expected {sorted(expected)}"


def allocated(ranks: Ranks, folder: Path, problem: str, name: str) -> None:
    """The forecast of one rank is within 5% of what is allocated.

    Differences between two scales, so that what every graph needs cancels out, after all was imported. Parts
    are small; sending takes most, since rows are not divided.
    """
    build.PIECE, stored.BATCH, certify.PART = 1 << 12, 1 << 15, 1 << 10
    _, small, large = (taken_and_forecast(ranks, problem, name, scale) for scale in (11, 11, 14))
    for phase in ("building", "preparing", "searching", "proving"):
        taken, expected = (large[k][phase] - small[k][phase] for k in (0, 1))
        assert abs(expected - taken) < 0.05 * taken, f"{phase}: {expected} instead of {taken} bytes"


def taken_and_forecast(
    ranks: Ranks, problem: str, name: str, scale: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of a rank in each phase, as allocated and as forecast."""
    p, engine, taken = Graph500Parameters(scale=scale), ENGINES[problem][name], {}
    scheme = engine.scheme("auto", ranks.size)

    def note(phase: str) -> None:
        taken[phase] = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()

    gc.collect()
    tracemalloc.start()
    parts = {"batch": stored.BATCH // 2, "piece": build.PIECE}
    block = kronecker_block(ranks, scheme, p, weighted=problem == "sssp", **parts)
    note("building")
    solver, certifier = engine.solver(ranks, block, engine.parameters()), Certifier(ranks, block, problem)
    note("preparing")
    for source in block.metadata["search_keys"][:2]:
        answer = solver.solve(source)
        note("searching")
        assert certifier.check(source, *answer.columns.values()).holds
        reached_totals(ranks, block, next(iter(answer.columns.values())), certifier)
        note("proving")
        del answer
    tracemalloc.stop()
    return taken, memory.forecast(name, block.layout, memory.Size.generated(p))


def wrapped(ranks: Ranks, folder: Path, problem: str, name: str, graph: str) -> None:
    """Answers stay the same where the numbers of barriers begin again, within a search and after it."""
    engine = ENGINES[problem][name]
    scheme = engine.scheme("auto", ranks.size)
    block = block_of(ranks, graph, folder, scheme, weighted=problem == "sssp")
    first, again = (engine.solver(ranks, block, engine.parameters()) for _ in range(2))
    meetings = again._peers.members["meetings"]
    meetings[1] = 3 * 2**30 - 3
    if problem == "sssp":
        again._state.view(np.uint32)[0] = 3 * 2**30 - 4
    ranks.barrier()
    for source in sources_of(block):
        expected, answer = named(first.solve(source)), named(again.solve(source))
        np.testing.assert_array_equal(answer["value"], expected["value"])
    assert 0 < meetings[1] < 1000
    assert problem == "bfs" or 0 < again._state.view(np.uint32)[0] < 1000


CASES = {
    "rows": rows,
    "allocated": allocated,
    "numbered": numbered,
    "bfs": bfs,
    "sssp": sssp,
    "corrupt-bfs": corrupt_bfs,
    "corrupt-sssp": corrupt_sssp,
    "wrapped": wrapped,
}


def main() -> None:
    folder = Path(sys.argv[1])
    with ending_together():
        ranks = Ranks("host")
        share_cores(ranks.local_size)
        for words in (argument.split(",") for argument in sys.argv[2:]):
            certify.PART, build.PIECE = 200, 900  # answers are checked in several parts, arcs sorted in some
            try:
                CASES[words[0]](ranks, folder, *words[1:])
            except AssertionError as error:
                raise AssertionError(f"{' '.join(words)}: {error}") from error
            if ranks.rank == 0:
                print("ok", *words, flush=True)


if __name__ == "__main__":
    main()
