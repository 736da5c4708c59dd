"""Query sets: their configuration, how they are drawn and read, and how searches are measured."""

import gzip
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_table
from relaxometer.core.validation import validated
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import Run, Timing
from relaxometer.problems.queries import QuerySets, content_hash
from relaxometer.problems.routes import PROBLEM, _balls, dijkstra_cpu
from relaxometer.problems.routes._queries import Spec, draw_queries, read_queries
from relaxometer.race.measurement import write_measurement
from relaxometer.race.variant import measure
from route_samples import random_queries, right_distances, some_queries
from sample_graphs import reference_distances, sample_graphs

GRAPH = sample_graphs()["grid"]


def spec(**keys):
    return validated(Spec, keys, "config")


def drawn(tmp_path, specs, graph=GRAPH, draws=2, seed=5):
    """Draw, write and read query sets."""
    table = draw_queries(graph, specs, draws, seed)
    write_table(table, tmp_path / "queries.parquet")
    return table, read_queries(tmp_path / "queries.parquet", graph)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "one of pairs, origins and targets, origins and ranks, file is needed; given: none"),
        ({"pairs": 4, "file": "a.csv"}, "is needed; given: pairs and file"),
        ({"origins": 4}, "is needed; given: origins"),
        ({"ranks": [2]}, "is needed; given: ranks"),
        ({"origins": 5000, "targets": 5000}, "25,000,000 queries; a set has at most 16,777,216"),
        ({"pairs": 0}, "pairs: 0 is invalid: should be greater than or equal to 1"),
        ({"pairs": 4, "cutoff": 2**32 - 1}, "cutoff: 4294967295 is invalid"),
        ({"pairs": 4, "path": True}, "did you mean 'paths'?"),
        ({"origins": 2, "ranks": []}, "ranks: [] is invalid"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(keys, reason):
    with pytest.raises(UserError) as error:
        spec(**keys)
    assert reason in str(error.value)


def test_sets_are_numbered_draw_by_draw_and_the_last_are_untimed(tmp_path):
    specs = {"random": spec(pairs=30), "table": spec(origins=3, targets=4, cutoff=70)}
    table, sets = drawn(tmp_path, specs)
    assert table["name"].to_pylist() == ["random", "table"] * 3
    assert table["draw"].to_pylist() == [0, 0, 1, 1, -1, -1]
    assert sets.timed(2).tolist() == [0, 1, 2, 3]
    assert sets.timed(1).tolist() == [0, 1]
    assert sets.untimed == [4, 5]
    pairs = [sets.sets[number] for number in (0, 2, 4)]
    assert len({tuple(one.origins) for one in pairs}) == 3
    assert [(one.name, len(one), one.columns, one.paths) for one in pairs] == [("random", 30, 0, False)] * 3
    filled = sets.sets[1]
    assert (filled.columns, filled.cutoff, len(filled)) == (4, 70, 12)
    assert (filled.origins.reshape(3, 4) == filled.origins[::4, None]).all()
    assert (filled.targets.reshape(3, 4) == filled.targets[:4]).all()
    assert len({*filled.targets[:4]}) == 4


def test_cutoff_paths_and_name_change_no_pair(tmp_path):
    _, sets = drawn(tmp_path, {"a": spec(pairs=9), "b": spec(pairs=9, paths=True, cutoff=3)})
    assert (sets.sets[0].origins == sets.sets[1].origins).all()
    assert (sets.sets[0].targets == sets.sets[1].targets).all()
    assert (sets.sets[1].paths, sets.sets[1].cutoff) == (True, 3)


def test_a_seed_draws_the_same_again():
    specs = {"random": spec(pairs=30)}
    first, second, other = (draw_queries(GRAPH, specs, 2, seed) for seed in (1, 1, 2))
    assert first.equals(second)
    assert not first.equals(other)


def test_targets_have_their_ranks(tmp_path):
    table, sets = drawn(tmp_path, {"ranks": spec(origins=4, ranks=[1, 16, 600, 64])})
    one, ranks = sets.sets[0], np.array(table["ranks"][0].as_py())
    assert ranks.tolist() == [1, 16, 64, 600] * 4
    for origin, target, rank in zip(one.origins, one.targets, ranks, strict=True):
        distance = reference_distances(GRAPH, int(origin))
        assert (distance < distance[target]).sum() <= rank < (distance <= distance[target]).sum()


def test_the_number_of_cores_plays_no_part():
    csr = GRAPH.offsets, GRAPH.targets, GRAPH.weights
    origins, ranks = np.array([3, 700, 3, 50, 99], dtype=np.uint32), np.array([1, 20, 600, 712, 713])
    tables = [_balls._settle(_balls.Csr(*csr), origins, ranks, threads) for threads in (1, 2, 5)]
    assert all(np.array_equal(table, tables[0]) for table in tables)
    assert np.array_equal(_balls.vertices_of_ranks(*csr, origins, ranks), tables[0])
    assert (tables[0][:, 3] >= 0).all()
    assert (tables[0][:, 4] == -1).all()


def test_ranks_that_an_origin_does_not_have_are_left_out(tmp_path):
    islands = sample_graphs()["two-islands"]
    table, _ = drawn(tmp_path, {"ranks": spec(origins=5, ranks=[1, 2, 3])}, islands)
    found = table["ranks"][0].as_py()
    assert set(found) == {1, 2}
    with pytest.raises(
        UserError, match="no vertex has rank 3 from any of the 5 origins drawn; ask for lower"
    ):
        draw_queries(islands, {"ranks": spec(origins=5, ranks=[3])}, 1, 1)


def test_ends_have_arcs(tmp_path):
    graph = sample_graphs()["one-way"]
    _, sets = drawn(tmp_path, {"pairs": spec(pairs=50), "table": spec(origins=5, targets=5)}, graph)
    ends = {*np.concatenate([sets.sets[k].origins for k in (0, 1)]).tolist()}
    assert ends == {0, 7}
    with pytest.raises(UserError, match="no vertex has arcs"):
        draw_queries(Graph.from_arcs("bare", 3, [], [], []), {"pairs": spec(pairs=5)}, 1, 1)


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.csv.gz"])
def test_a_file_is_one_set(tmp_path, name):
    text = b"# mine\n3,700\n\n 5 , 6\r\n7\t8\n9 9\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    specs = {"mine": spec(file=str(tmp_path / name), paths=True), "random": spec(pairs=3)}
    table, sets = drawn(tmp_path, specs, draws=3)
    assert table["name"].to_pylist() == ["mine", "random", "random", "random", "mine", "random"]
    assert sets.sets[0].origins.tolist() == [3, 5, 7, 9]
    assert sets.sets[0].targets.tolist() == [700, 6, 8, 9]
    assert sets.sets[0].paths
    assert len(sets.sets[4]) == 4


@pytest.mark.parametrize("ids", [["Ay", "Le Havre", "Nice"], [3, 40, 2**40]])
def test_a_file_names_vertices_by_the_ids_that_a_graph_keeps(tmp_path, ids):
    graph = Graph.from_arcs("towns", 3, [0, 1], [1, 2], [1, 1], undirected=True, ids=pa.array(ids))
    path = tmp_path / "pairs.csv"
    path.write_text(f"{ids[1]}, {ids[0]}\n{ids[2]}\t{ids[1]}\n", encoding="utf-8")
    _, sets = drawn(tmp_path, {"mine": spec(file=str(path))}, graph)
    assert (sets.sets[0].origins.tolist(), sets.sets[0].targets.tolist()) == ([1, 2], [0, 1])
    path.write_text(f"# 1\n{ids[0]}, 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"pairs\.csv:2: .*no vertex has the id '1'"):
        draw_queries(graph, {"mine": spec(file=str(path))}, 1, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "no such file"),
        ("", "no queries; expected lines '<origin>,<target>'"),
        ("1,2\n3\n", ":2: '3': 1 field; expected '<origin>,<target>'"),
        ("1,2,3\n", ":1: '1,2,3': 3 fields"),
        ("# a\n1,x\n", ":2: '1,x': target x is not an integer from 0 to 712"),
        ("713,1\n", ":1: '713,1': origin 713 is not an integer from 0 to 712"),
        ("1,-1\n", "target -1 is not an integer"),
        ("origin,target\n1,2\n", ":1: 'origin,target': origin origin is not an integer"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(tmp_path, text, reason):
    path = tmp_path / "pairs.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        draw_queries(GRAPH, {"mine": spec(file=str(path))}, 1, 1)
    assert str(error.value).startswith(str(path))
    assert reason in str(error.value)


class TestDamagedTables:
    """A table of query sets that is not as it was written."""

    def read(self, tmp_path, table, graph=GRAPH):
        pq.write_table(table, tmp_path / "damaged.parquet")
        with pytest.raises(UserError, match=r"damaged\.parquet: .*delete the file, and it is drawn again"):
            read_queries(tmp_path / "damaged.parquet", graph)

    def table(self):
        return draw_queries(GRAPH, {"a": spec(pairs=9), "b": spec(origins=2, targets=3)}, 1, 1)

    def test_columns_vertices_numbers_and_sizes_are_checked(self, tmp_path):
        table = self.table()
        self.read(tmp_path, table.drop_columns("targets"))
        self.read(tmp_path, table, sample_graphs()["two-islands"])
        self.read(tmp_path, table.slice(1))
        wrong = table.set_column(3, "queries", pa.array([8, 6, 9, 6]))
        self.read(tmp_path, wrong)
        self.read(tmp_path, table.set_column(4, "columns", pa.array([0, 2, 0, 2])))


def test_weights_of_another_type_are_refused():
    graph = Graph.from_arcs("seconds", 2, [0], [1], [0.5], weight_type="float32")
    with pytest.raises(UserError, match="graph seconds: routes takes weights of type uint32, not float32"):
        draw_queries(graph, {"random": Spec(pairs=4)}, 1, 1)


def test_the_hash_tells_sets_apart_by_what_they_ask_and_not_by_their_names():
    sets = some_queries(GRAPH)
    assert len({content_hash(one) for one in sets}) == len(sets), "pairs, tables, paths and cutoffs"
    assert content_hash(replace(sets[0], name="other")) == content_hash(sets[0])
    other_end = sets[0].targets.copy()
    other_end[-1] = (other_end[-1] + 1) % GRAPH.n_vertices
    assert content_hash(replace(sets[0], targets=other_end)) != content_hash(sets[0])


ORIGINAL = dijkstra_cpu.Solver
GRAPH = sample_graphs()["grid"]
PLAIN = random_queries(GRAPH, 6)
QUERIES = QuerySets(
    {0: PLAIN, 1: replace(PLAIN, paths=True), 2: random_queries(GRAPH, 6, seed=9)}, {0: 0, 1: 0, 2: None}
)


def measured(monkeypatch, change):
    """Measure Dijkstra's algorithm, whose answers `change` changes."""

    class Solver(ORIGINAL):
        def solve(self, queries, phases=None):
            return change(super().solve(queries, phases), queries.host)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    timing = Timing(repetitions=1, rounds=1, warmup=1)
    run = Run(problem="routes", graph="g", variant="v", solver="dijkstra-cpu", parameters={}, timing=timing)
    return measure(run, GRAPH, QUERIES.timed(1), "host", queries=QUERIES)


def test_every_set_has_a_row_and_the_first_answer_is_kept(monkeypatch, tmp_path):
    result = measured(monkeypatch, lambda answer, queries: answer)
    assert [(row.source, row.status, row.reached) for row in result.runs] == [(0, "ok", 6), (1, "ok", 6)]
    assert all(row.reached_arcs is None and row.time_ms > 0 for row in result.runs)
    assert [(row.queries, row.queries_hash) for row in result.runs] == [
        (QUERIES.sets[source].name, content_hash(QUERIES.sets[source])) for source in (0, 1)
    ]
    asked = [QUERIES.sets[row.source].options["paths"] for row in result.runs]
    assert [row.answer for row in result.runs] == [("distances", "paths")[paths] for paths in asked]
    assert result.answer["distance"].tolist() == right_distances(GRAPH, PLAIN).tolist()
    write_measurement(result, "routes", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("runs.parquet", "certificates.parquet", "phases.parquet", "answer.parquet", "context.json")
    }


def test_an_answer_with_wrong_sizes_is_kept_without_paths():
    right = {"distance": np.uint32([5, 7]), "size": np.uint32([1, 2]), "path": np.uint32([3, 3, 4])}
    assert PROBLEM.as_table(right)["path"].to_pylist() == [[3], [3, 4]]
    for wrong in ({"path": right["path"][1:]}, {"size": right["size"] + np.uint32(2**32 - 1)}):
        assert PROBLEM.as_table(right | wrong).column_names == ["distance"]


@pytest.mark.parametrize(
    ("change", "statuses"),
    [
        (
            lambda answer, _: replace(answer, distance=answer.distance + np.uint32(1)),
            [
                "rule distance broken 6 times, first at query 0",
                "rule distance broken 6 times, first at query 0",
            ],
        ),
        (
            lambda answer, queries: (
                replace(answer, path=answer.path[::-1].copy()) if queries.paths else answer
            ),
            [None, "rule ends broken"],
        ),
        (
            lambda answer, _: replace(answer, distance=answer.distance[:-1]),
            ["column distance has type uint32 and shape (5,); expected uint32 and (6,)"] * 2,
        ),
        (
            lambda answer, _: replace(answer, distance=answer.distance.astype(np.int64)),
            ["column distance has type int64 and shape (6,); expected uint32 and (6,)"] * 2,
        ),
        (
            lambda answer, _: replace(answer, path=np.zeros(6 * GRAPH.n_vertices + 1, np.uint32)),
            ["column path has type uint32 and shape (4279,); expected uint32 and (0,)"] * 2,
        ),
    ],
)
def test_a_faulty_answer_is_invalid(monkeypatch, change, statuses):
    rows = measured(monkeypatch, change).runs
    for row, reason in zip(rows, statuses, strict=True):
        assert row.status == ("invalid" if reason else "ok")
        assert row.reason.startswith(reason or "")
