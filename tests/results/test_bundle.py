"""Bundles: what they hold, that every changed byte is noticed, and that wrong answers and tables are."""

import io
import json
import shutil
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bundles
from built import refusal
from relaxometer.cli.command import call
from relaxometer.core.errors import UserError
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.results import bundle_file
from relaxometer.results.bundle import pack
from relaxometer.results.recorded import read_recorded
from relaxometer.results.verify import contradictions, verify


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The bundle of a finished run, in that run's folder."""
    folder = tmp_path_factory.mktemp("run")
    with bundles.finished_run(folder) as plan:
        pack(plan, Path("results"), folder / "run.zip", "run")
    return folder / "run.zip"


@pytest.fixture(scope="module")
def with_trees(packed):
    """The bundle of the same run with a limit on its bytes, in which answers of trees are packed as such."""
    target = packed.with_name("trees.zip")
    with chdir(packed.parent):
        pack(bundles.plan(), Path("results"), target, "run", most_bytes=1e6)
    return target


def test_a_bundle_verifies_in_another_folder_and_keeps_equal_columns_once(packed, tmp_path):
    said = verify(packed, tmp_path / "results", "host")
    assert said.wrong == said.unchecked == []
    assert "answers: 4 of 4 proven" in said.lines
    assert "graph small-grid: generated, with the content that was measured" in said.lines
    assert "tables: 4 runs, 38 searches, their certificates and the summary" in said.lines
    found = bundle_file.read(packed)
    distances = {answer.columns["distance"] for answer in found.manifest.answers if answer.problem == "sssp"}
    assert len(distances) == 1
    assert "requirements.lock" in found.members
    assert {"sssp/conventional", "bfs/hybrid-cpu"} < found.manifest.kernels.keys()
    recorded = read_recorded(packed)
    assert len(recorded.timings) == 38
    assert recorded.graphs.keys() == {"small-grid", "flow-random-30"}
    assert recorded.of_run("sssp", "small-grid", "conventional")


def test_answers_of_all_types_are_proven_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = bundles.plan(bundles.TYPES)
    bundles.make_run(plan)
    summary = pd.read_csv("results/summary.csv").set_index(["graph", "variant"])
    answered = {(kind, "near-far") for kind in ("float32", "float64", "far")} | {("float32", "dijkstra-cpu")}
    assert set(summary.index[summary["status"] == "ok"]) == answered
    assert summary.loc[("narrow", "near-far"), "reason"] == LENGTHS["uint32"].too_long
    for graph, kind in (("float32", "float32"), ("far", "uint32 with distances of type uint64")):
        reason = f"takes weights of type uint32, not {kind}"
        assert summary.loc[(graph, "phast"), ["status", "reason"]].tolist() == ["skipped", reason]
    pack(plan, Path("results"), tmp_path / "run.zip", "run")
    said = verify(tmp_path / "run.zip", tmp_path / "elsewhere", "host")
    assert said.wrong == []
    assert "the answer of sssp phast on float32: no proven answer: skipped" in said.unchecked
    assert "answers: 4 of 4 proven" in said.lines
    for graph, kind in (("float32", pa.float32()), ("float64", pa.float64()), ("far", pa.uint64())):
        answer = pq.read_table(f"results/runs/sssp/{graph}/near-far/answer.parquet")
        assert answer["distance"].type == kind


def test_one_changed_byte_anywhere_is_noticed(packed, tmp_path):
    """In the structure of the archive, in names and contents, and in its comment."""
    content = packed.read_bytes()
    marks = [content.find(mark) for mark in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")]
    structure = [start + step for start in marks for step in range(46) if start + step < len(content)]
    end = range(len(content) - 120, len(content))
    anywhere = np.random.default_rng(1).integers(0, len(content), 100).tolist()
    damaged = tmp_path / "damaged.zip"
    for place in {*structure, *end, *anywhere}:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        damaged.write_bytes(changed)
        with pytest.raises(UserError, match=r"changed since it was written|not a bundle|its end of version"):
            bundle_file.read(damaged)


@pytest.mark.parametrize("cut", [0, 10, 5000])
def test_a_cut_or_longer_file_is_noticed(packed, tmp_path, cut):
    content, damaged = packed.read_bytes(), tmp_path / "damaged.zip"
    for changed in (content[: len(content) - cut - 1], content[:cut], content + b"x", b"x" + content):
        damaged.write_bytes(changed)
        with pytest.raises(UserError):
            bundle_file.read(damaged)


def test_other_files_are_no_bundles(packed, tmp_path):
    with ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "relaxometer-bundle"}))
    assert "not a bundle, or its end is damaged" in refusal(bundle_file.read, tmp_path / "x.zip")
    assert "is a folder; expected a bundle" in refusal(bundle_file.read, tmp_path)
    assert "not readable" in refusal(bundle_file.read, tmp_path / "missing.zip")


def test_a_bundle_of_a_later_version_is_refused_by_its_version(packed, tmp_path, monkeypatch):
    found = bundle_file.read(packed)
    monkeypatch.setattr(bundle_file, "VERSION", 4)
    bundle_file.write(tmp_path / "b.zip", found.manifest.model_dump(), found.members)
    monkeypatch.undo()
    with pytest.raises(UserError, match="not a bundle of version 1 to 3, but of version 4; read it with"):
        bundle_file.read(tmp_path / "b.zip")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"version": 2}, "it is of version 2, its end of version 3"),
        ({"graphs": []}, r"graphs: Input should be"),
        ({"answers": [{}]}, r"answers\.0\.problem: Field required"),
    ],
)
def test_a_manifest_against_the_schema_is_refused(packed, tmp_path, monkeypatch, changes, line):
    found = bundle_file.read(packed)
    manifest = {**found.manifest.model_dump(), **changes}
    unchecked = SimpleNamespace(model_dump=lambda: manifest)
    monkeypatch.setattr(bundle_file.Manifest, "model_validate", lambda given: unchecked)
    bundle_file.write(tmp_path / "b.zip", {}, found.members)
    with pytest.raises(UserError, match=f"manifest.json violates the schema: {line}"):
        bundle_file.read(tmp_path / "b.zip")


def rewritten(packed, target, change=lambda members: None, change_manifest=lambda manifest: None):
    """Write the bundle anew, as an honest writer would, with changed members."""
    found = bundle_file.read(packed)
    members, manifest = dict(found.members), found.manifest.model_dump()
    change(members)
    change_manifest(manifest)
    bundle_file.write(target, manifest, members)
    return target


def table(name, change):
    """Return a change of a bundle's members that changes those tables whose names have a part."""

    def edit(members):
        for member in [one for one in members if name in one]:
            csv = member.endswith(".csv")
            frame = change((pd.read_csv if csv else pd.read_parquet)(io.BytesIO(members[member])))
            content = io.BytesIO()
            frame.to_csv(content, index=False) if csv else frame.to_parquet(content)
            members[member] = content.getvalue()

    return edit


def of_bfs(**columns):
    def change(frame):
        for column, value in columns.items():
            frame.loc[frame["problem"] == "bfs", column] = value
        return frame

    return change


def without(name):
    return lambda members: members.pop(name)


def slower(frame):
    """One search took longer, as nobody would notice without the summary."""
    frame.loc[frame["variant"] == "conventional", "time_ms"] *= 1.01
    return frame


BFS = "bfs small-grid hybrid-cpu: "
OF_BFS = "the answer of bfs hybrid-cpu on small-grid: "
CONVENTIONAL = "sssp small-grid conventional: "


def levels(change):
    return table("answers/bfs/small-grid/level", change)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            table("answers/sssp/small-grid/distance", lambda frame: (frame + 1).astype("uint32")),
            "the answer of sssp conventional on small-grid: rule",
        ),
        (levels(lambda frame: frame[:-1]), f"{OF_BFS}answers/bfs/small-grid/level"),
        (
            levels(lambda frame: frame.astype("uint64")),
            f"{OF_BFS}column level is of type uint64, expected uint32",
        ),
        (table("samples.parquet", of_bfs(reached_arcs=1)), f"{OF_BFS}it reaches 254 arcs"),
    ],
)
def test_wrong_answers_are_named(packed, tmp_path, edit, said):
    found = verify(rewritten(packed, tmp_path / "b.zip", edit), tmp_path, "host")
    assert any(said in line for line in found.wrong), found.wrong


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (table("samples.parquet", slower), f"{CONVENTIONAL}median_ms of the summary is not that of"),
        (table("certificates.parquet", of_bfs(holds=False)), f"{BFS}a search from "),
        (table("certificates.parquet", of_bfs(rule_tree=1)), f"{BFS}a search from "),
        (
            table("certificates.parquet", lambda frame: frame[frame["round"] == 1]),
            "sssp small-grid dijkstra-cpu: a search from ",
        ),
        (table("summary.csv", lambda frame: frame[1:]), ": not once in the summary"),
        (table("summary.csv", lambda frame: pd.concat([frame, frame[:1]])), ": not once in the summary"),
        (table("summary.csv", of_bfs(prepare_ms=0.001)), f"{BFS}prepare_ms of the summary"),
        (table("summary.csv", of_bfs(**{"class": "gpu"})), f"{BFS}class of the summary"),
        (
            table("summary.csv", lambda frame: pd.concat([frame, frame[:1].assign(variant="mine")])),
            "mine: in the summary without a search",
        ),
        (
            lambda members: members.update({"context.json": b'{"common": {}, "runs": []}'}),
            "bfs hybrid-cpu on small-grid: it has no context",
        ),
    ],
)
def test_tables_that_contradict_the_searches_are_named(packed, tmp_path, edit, said):
    found = contradictions(bundle_file.read(rewritten(packed, tmp_path / "b.zip", edit)))
    assert any(said in line for line in found), found


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (table("samples.parquet", of_bfs(time_ms=0.0)), "time_ms: '0.0'; expected a time above 0 ms"),
        (table("samples.parquet", lambda frame: frame.assign(phases="x")), "phases: 'x'; expected a number"),
        (
            table("samples.parquet", of_bfs(variant="\x1b[2Kmine")),
            r"variant: '\\x1b\[2Kmine'; expected a name without control characters",
        ),
        (without("context.json"), r"no member context\.json"),
        (lambda members: members.update({"context.json": b"[1]"}), "context.json: not readable as JSON"),
        (
            lambda members: members.update({"device_rates.json": b"{}"}),
            "expected the keys device and copy_gb_s",
        ),
    ],
)
def test_tables_that_are_not_those_of_searches_are_refused(packed, tmp_path, edit, said):
    bundle = rewritten(packed, tmp_path / "b.zip", edit)
    for read in (read_recorded, lambda path: verify(path, tmp_path, "host")):
        with pytest.raises(UserError, match=said):
            read(bundle)


def answer_of_bfs(manifest):
    return next(one for one in manifest["answers"] if one["problem"] == "bfs")


def without_bfs(manifest):
    manifest["answers"].remove(answer_of_bfs(manifest))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_bfs, "bfs hybrid-cpu on small-grid: answers and left_out name it 0 times"),
        (
            lambda manifest: manifest["answers"].append(manifest["answers"][0]),
            "answers and left_out name it 2 times; expected once",
        ),
        (lambda manifest: manifest["graphs"].pop("small-grid"), "do not name its graph"),
    ],
)
def test_a_manifest_that_contradicts_the_searches_is_named(packed, tmp_path, change, said):
    bundle = rewritten(packed, tmp_path / "b.zip", change_manifest=change)
    assert any(said in line for line in contradictions(bundle_file.read(bundle)))


@pytest.mark.parametrize("source", [72, None])
def test_an_answer_to_another_search_is_named(packed, tmp_path, source):
    def change(manifest):
        answer_of_bfs(manifest)["source"] = source

    found = verify(rewritten(packed, tmp_path / "b.zip", change_manifest=change), tmp_path, "host")
    assert any(f"{OF_BFS}source {source}; expected " in line for line in found.wrong), found.wrong


def run_program(capsys, bundle, results):
    """Run `verify` on the command line; return its exit message, or nothing, and what it printed."""
    try:
        call(["verify", str(bundle), "--device", "host", "--results", str(results)])
        code = ""
    except SystemExit as ended:
        code = str(ended.code)
    return code, capsys.readouterr()


def test_the_last_line_says_what_was_not_checked_or_is_wrong(packed, tmp_path, capsys):
    _, said = run_program(capsys, packed, tmp_path)
    assert said.out.endswith(f"{packed} holds: 4 of 4 first answers proven, nothing left unchecked\n")

    def leave_out(manifest):
        without_bfs(manifest)
        manifest["left_out"] = ["bfs hybrid-cpu on small-grid: too \x1b[2Klarge"]

    bundle = rewritten(packed, tmp_path / "b.zip", change_manifest=leave_out)
    _, said = run_program(capsys, bundle, tmp_path)
    last = "3 of 4 first answers proven; not checked: the answer of bfs hybrid-cpu on small-grid: too"
    assert said.out.endswith(f"{bundle} holds: {last} \\x1b[2Klarge\n"), "a terminal obeys no bundle"

    wrong = rewritten(packed, tmp_path / "c.zip", table("samples.parquet", of_bfs(reached_arcs=1)))
    code, said = run_program(capsys, wrong, tmp_path)
    assert code.startswith(f"error: {wrong}: 1 wrong, 3 of 4 first answers proven")
    assert said.err.startswith(f"wrong: {OF_BFS}")


def of_grid(**changes):
    """A change of a manifest's entry of the grid."""
    return lambda manifest: manifest["graphs"]["small-grid"]["dataset"].update(changes)


FROM_A_FILE = of_grid(format="dimacs", urls=["https://example.org/a.gr"], seed=None, parameters={})
DIFFERS = "made here, its content differs; check with the commit"


@pytest.mark.parametrize(
    ("change", "reason"), [(of_grid(seed=2), DIFFERS), (of_grid(format="of a later version"), "its entry is")]
)
def test_a_graph_that_cannot_be_had_is_not_checked(packed, tmp_path, change, reason):
    said = verify(rewritten(packed, tmp_path / "b.zip", change_manifest=change), tmp_path, "host")
    assert said.wrong == []
    assert len(said.unchecked) == 1
    assert said.unchecked[0].startswith(f"3 answers on small-grid: {reason}")
    assert "answers: 1 of 4 proven" in said.lines


def test_files_of_graphs_are_downloads_or_fetched(packed, tmp_path, monkeypatch):
    """The graph of the file is another one, so that its answers are not checked."""
    bundle = rewritten(packed, tmp_path / "b.zip", change_manifest=FROM_A_FILE)
    monkeypatch.setenv("RELAXOMETER_DATA_MIRRORS", "")

    def reason(**options):
        (line,) = verify(bundle, tmp_path, "host", **options).unchecked
        return line.removeprefix("3 answers on small-grid: ")

    downloads = tmp_path / "downloads"
    assert reason() == f"its file a.gr is not in {downloads}; FETCH=1 downloads it"
    fetched = []

    def fetch(urls, target, **options):
        fetched.extend(urls)
        target.write_text("p sp 2 1\na 1 2 3\n", encoding="ascii")

    monkeypatch.setattr("relaxometer.results.verify.fetch", fetch)
    assert reason(download=True).startswith(DIFFERS)
    assert fetched == ["https://example.org/a.gr"]
    downloads.mkdir()
    fetch([], downloads / "a.gr")
    assert reason().startswith(DIFFERS)


def test_answers_on_large_graphs_are_left_out(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    pack(bundles.plan(), Path("results"), tmp_path / "b.zip", "b", most_vertices=50)
    said = verify(tmp_path / "b.zip", Path("results"), "host")
    assert "the answer of sssp conventional on small-grid: more than 50 vertices" in said.unchecked
    assert any("graph flow-random-30: from results/graphs/flow-random-30," in line for line in said.lines)


def test_answers_to_query_sets_are_left_out_and_their_searches_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    routes = {"queries": {"a": {"pairs": 9}, "b": {"origins": 2, "targets": 3, "paths": True}}}
    routes |= {"graphs": ["small-grid"], "variants": {"dijkstra-cpu": {}}}
    config = {key: bundles.TYPES[key] for key in ("device", "timing")} | {"routes": routes}
    plan = bundles.plan(config | {"datasets": bundles.CONFIG["datasets"]})
    bundles.make_run(plan)
    pack(plan, Path("results"), tmp_path / "b.zip", "b")
    said = verify(tmp_path / "b.zip", Path("results"), "host")
    assert said.wrong == []
    assert said.unchecked == ["the answer of routes dijkstra-cpu on small-grid: a bundle holds no query sets"]
    assert "tables: 1 runs, 4 searches, their certificates and the summary" in said.lines


def test_a_run_of_another_configuration_is_refused(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    other = bundles.plan({**bundles.CONFIG, "sssp": {"graphs": []}})
    with pytest.raises(UserError, match="not in this configuration; name the one that was run: SUITE= "):
        pack(other, Path("results"), tmp_path / "b.zip", "b")
    with pytest.raises(UserError, match="no run of this configuration; run the workflow first"):
        pack(bundles.plan(), tmp_path, tmp_path / "b.zip", "run")


@pytest.fixture
def unfinished(packed, tmp_path, monkeypatch):
    """The folder of a run as `relaxometer.cli.all_runs` leaves it: no tables over all runs, no graphs."""
    shutil.copytree(packed.parent / "results/runs", tmp_path / "results/runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runs_and_answers_that_are_not_there_are_left_out(unfinished):
    shutil.rmtree("results/runs/bfs")
    shutil.rmtree("results/runs/sssp/small-grid/dijkstra-cpu/rounds")
    Path("results/runs/sssp/small-grid/conventional/answer.parquet").unlink()
    pack(bundles.plan(), Path("results"), unfinished / "b.zip", "run")
    said = verify(unfinished / "b.zip", Path("results"), "host")
    assert said.wrong == []
    assert said.unchecked == ["the answer of sssp conventional on small-grid: its file was not kept"]
    assert "answers: 2 of 3 proven" in said.lines
    summary = pd.read_csv(io.BytesIO(bundle_file.read(unfinished / "b.zip").content("summary.csv")))
    summary = summary.set_index("variant")
    assert summary.loc["hybrid-cpu", ["status", "reason"]].tolist() == ["error", "not run"]
    assert summary.loc["dijkstra-cpu", "sources"] == 6


DAMAGED = [
    ("timings.parquet", "cut"),
    ("timings.parquet", "other columns"),
    ("runs/sssp/small-grid/conventional/runs.parquet", "cut"),
    ("certificates.parquet", "other columns"),
    ("graphs/small-grid/graph.json", b"{}"),
    ("context.json", b'{"common": {}, "runs": 3}'),
    ("device_rates.json", b'{"device": "H200"}'),
    ("summary.csv", "cut"),
]


@pytest.mark.parametrize(("name", "how"), DAMAGED)
def test_a_damaged_folder_is_neither_packed_nor_compared(packed, tmp_path, monkeypatch, name, how):
    shutil.copytree(packed.parent / "results", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    file = Path("results", name)
    if how == "other columns":
        pd.DataFrame({"a": [1]}).to_parquet(file)
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if how == "cut" else how)
    said = refusal(pack, bundles.plan(), Path("results"), tmp_path / "b.zip", "run")
    assert file.name in said or "in the summary" in said
    assert said.startswith("results")
    assert not (tmp_path / "b.zip").exists()
    if name in ("timings.parquet", "context.json", "device_rates.json"):
        with pytest.raises(UserError, match=rf"{file.name}: .*; delete it and run again[^\n]*$"):
            read_recorded(tmp_path)


def test_answers_that_would_make_the_file_too_large_are_left_out(packed, with_trees, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    limit, target = with_trees.stat().st_size, tmp_path / "b.zip"
    pack(bundles.plan(), Path("results"), target, "run", most_bytes=limit)
    assert target.stat().st_size <= limit
    said = verify(target, Path("results"), "host")
    assert said.wrong == []
    assert 0 < len(said.unchecked) < 4
    assert said.unchecked[-1].endswith(f"the bundle would have more than {limit:,} bytes")


def test_trees_are_packed_as_such_where_bytes_are_limited(packed, with_trees, tmp_path):
    answers = {answer.variant: answer for answer in bundle_file.read(with_trees).manifest.answers}
    assert {name: bool(answer.tree) for name, answer in answers.items()} == {
        "conventional": True,
        "dijkstra-cpu": True,
        "hybrid-cpu": True,
        "semi-nca": False,
    }
    assert all(bool(answer.columns) != bool(answer.tree) for answer in answers.values())
    said = verify(with_trees, tmp_path / "results", "host")
    assert said.wrong == said.unchecked == []
    assert "answers: 4 of 4 proven" in said.lines
    assert not any(answer.tree for answer in bundle_file.read(packed).manifest.answers)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda places: places + np.uint32(5), "a place in its tree is beyond the neighbours of the vertex"),
        (lambda places: 0 * places, "it reaches "),
        (lambda places: places[:-1], "is not a column tree of 72 values"),
        (lambda places: places.astype("int64"), "column tree is of type int64"),
    ],
)
def test_a_wrong_tree_is_named(with_trees, tmp_path, change, said):
    edit = table("/tree-", lambda frame: pd.DataFrame({"tree": change(frame["tree"].to_numpy())}))
    found = verify(rewritten(with_trees, tmp_path / "b.zip", edit), tmp_path, "host")
    named = [line for line in found.wrong if line.startswith("the answer of sssp ")]
    assert len(named) == 2
    assert all(said in line or "rule " in line for line in named), named


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("name", "proven"), [("board/epyc.zip", 25), ("results/edge-bf/bundle.zip", 10)])
def test_answers_in_published_bundles_of_versions_1_and_2_are_proven(tmp_path, name, proven):
    """On graphs that are generated; those of version 2 are trees."""
    said = verify(DOCS / name, tmp_path, "host")
    assert (said.wrong, said.proven) == ([], proven)
