"""Results of another configuration are told apart by what they recorded of theirs."""

import json
from copy import deepcopy
from pathlib import Path

import pyarrow as pa
import pytest

import bundles
from built import refusal
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_table
from relaxometer.plan.plan import Plan
from relaxometer.race.requests import request_for_queries, request_for_sources, with_request
from relaxometer.results.configured import check_configured
from relaxometer.results.gather import gather

CONFIG = {
    **bundles.CONFIG,
    "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0, "calls": 1},
    "sssp": {"graphs": ["small-grid"], "variants": {"near-far": {"delta": 9}}},
    "bfs": {"graphs": []},
    "dominators": {"graphs": []},
    "datasets": {
        **bundles.CONFIG["datasets"],
        "again": {"format": "reweighted", "extracted_from": "small-grid", "parameters": {"type": "float32"}},
    },
}
SOURCES = Path("results/sources/small-grid.parquet")
CONTEXT = Path("results/runs/sssp/small-grid/near-far/context.json")
GRAPH = Path("results/graphs/small-grid/graph.json")


def plan(changes: dict | None = None) -> Plan:
    """Return the plan of the configuration with values changed, by keys joined by dots."""
    config = deepcopy(CONFIG)
    for key, value in (changes or {}).items():
        *sections, last = key.split(".")
        section = config
        for one in sections:
            section = section.setdefault(one, {})
        section[last] = value
    return bundles.plan(config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a finished run and the sources that the workflow draws."""
    made = tmp_path_factory.mktemp("configured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        bundles.make_run(plan())
        drawn = with_request(pa.table({"source": [3, 5]}), request_for_sources(2, 1))
        write_table(drawn, SOURCES)
    return made


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    """The current folder is that of the run."""
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"timing.sources": 1}, "timing.sources of sssp near-far on small-grid was 2, is now 1"),
        ({"timing.enough_s": 2}, "timing.enough_s of sssp near-far on small-grid was none, is now 2.0"),
        (
            {"sssp.variants.near-far.delta": 8},
            "parameters.delta of sssp near-far on small-grid was 9, is now 8",
        ),
        (
            {"sssp.variants.near-far": {}},
            "parameters.delta of sssp near-far on small-grid was 9, is now none",
        ),
        ({"seed": 2}, "seed of sources on small-grid was 1, is now 2"),
        ({"device": "cuda"}, "device of sssp near-far on small-grid was 'host', is now 'cuda'"),
        ({"datasets.small-grid.seed": 2}, "seed of graph small-grid was 1, is now 2"),
        ({"datasets.small-grid.parameters.rows": 9}, "parameters.rows of graph small-grid was 8, is now 9"),
        (
            {"datasets.small-grid.distances": "uint64"},
            "distance_type of graph small-grid was 'uint32', is now 'uint64'",
        ),
    ],
)
def test_another_value_is_one_line_that_names_run_and_key(changes, said):
    message = refusal(check_configured, plan(changes))
    assert message == (
        f"results/summary.csv is of another configuration: {said}; name that one, as in make report "
        "CONFIG=my.yaml, or run the workflow with this configuration first: make run"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"device": "auto"},
        {"datasets.small-grid.description": "a small grid"},
        {"datasets.small-grid.license": "CC0-1.0"},
        {"report.papers": []},
    ],
)
def test_what_makes_nothing_again_is_the_same_configuration(changes):
    check_configured(plan(changes))


def test_the_graph_that_another_is_made_from_counts():
    only = {"sssp.graphs": ["again"], "datasets.small-grid.seed": 2}
    assert "seed of graph small-grid was 1, is now 2" in refusal(check_configured, plan(only))


def rewritten(file, target, change):
    """Write a JSON file of the current folder, changed, to another folder."""
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    (target / file).parent.mkdir(parents=True)
    (target / file).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("damage", [{"run": 3}, {"run": ["seed"]}, {"run": None}, {"parameters": 3}], ids=str)
def test_a_damaged_context_is_one_line_that_names_the_file(tmp_path, monkeypatch, damage):
    rewritten(CONTEXT, tmp_path, lambda content: content.update(damage))
    monkeypatch.chdir(tmp_path)
    for read in (lambda: check_configured(plan()), lambda: gather([CONTEXT.parent], "runs.parquet")):
        with pytest.raises(UserError, match=rf"^{CONTEXT}: not readable as the context of a run \([^\n]*$"):
            read()


def test_a_damaged_description_of_a_graph_is_one_line(tmp_path, monkeypatch):
    rewritten(GRAPH, tmp_path, lambda content: content.update(parameters=[3]))
    monkeypatch.chdir(tmp_path)
    line = rf"^{GRAPH}: parameters is '\[3\]', expected keys and values; [^\n]*$"
    with pytest.raises(UserError, match=line):
        check_configured(plan())


def test_what_an_earlier_version_did_not_record_is_taken_to_be_the_same(tmp_path, monkeypatch):
    rewritten(CONTEXT, tmp_path, lambda content: content["run"].pop("cost"))
    rewritten(GRAPH, tmp_path, lambda content: content["parameters"].pop("weights"))
    monkeypatch.chdir(tmp_path)
    check_configured(plan())


def test_other_query_sets_are_named(tmp_path, monkeypatch):
    def asked(pairs, seed=1):
        routes = {"graphs": ["small-grid"], "variants": {"dijkstra-cpu": {}}}
        return plan({"routes": {**routes, "queries": {"near": {"pairs": pairs}}}, "seed": seed})

    monkeypatch.chdir(tmp_path)
    request = request_for_queries(asked(4).queries["routes"], 2, 1)
    table = with_request(pa.table({"source": [3]}), request)
    write_table(table, tmp_path / "results/queries/routes/small-grid.parquet")
    check_configured(asked(4))
    for other, said in (
        (asked(5), "queries.near.pairs of query sets on small-grid was 4, is now 5"),
        (asked(4, 2), "seed of query sets on small-grid was 1, is now 2"),
    ):
        with pytest.raises(UserError, match=said):
            check_configured(other)
