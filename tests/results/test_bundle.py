"""Bundles: what they hold, that every changed byte is noticed, and that wrong answers are."""

import io
import json
import shutil
import sys
import zipfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

import bundles
from relaxometer.cli import verify as program
from relaxometer.core.errors import UserError
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.results import bundle_file
from relaxometer.results.bundle import Limits, pack, verify
from relaxometer.results.recorded import read_recorded


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The bundle of a finished run, in that run's folder."""
    folder = tmp_path_factory.mktemp("run")
    with bundles.finished_run(folder) as plan:
        pack(plan, Path("results"), folder / "run.zip", "run")
    return folder / "run.zip"


def test_a_bundle_verifies_in_another_folder_without_the_run(packed, tmp_path):
    said = verify(packed, tmp_path / "results", "host")
    assert said.wrong == said.unchecked == []
    assert "answers: 4 of 4 proven" in said.lines
    assert "graph small-grid: generated, with the content that was measured" in said.lines
    assert "tables: 4 runs, 38 searches, their certificates and the summary" in said.lines


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_answers_on_floats_are_proven_anew(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    plan = bundles.plan(bundles.floats(kind))
    bundles.make_run(plan)
    summary = pd.read_csv("results/summary.csv").set_index("variant")
    assert summary["status"].to_dict() == {"conventional": "ok", "phast": "skipped", "hybrid-cpu": "ok"}
    assert summary.loc["phast", "reason"] == f"takes weights of type uint32, not {kind}"
    pack(plan, Path("results"), tmp_path / "run.zip", "run")
    said = verify(tmp_path / "run.zip", tmp_path / "elsewhere", "host")
    assert said.wrong == []
    assert said.unchecked == ["the answer of sssp phast on floats: no proven answer: skipped"]
    assert "answers: 2 of 2 proven" in said.lines
    assert "graph floats: generated, with the content that was measured" in said.lines
    answer = pq.read_table("results/runs/sssp/floats/conventional/answer.parquet")
    assert answer["distance"].type == {"float32": pa.float32(), "float64": pa.float64()}[kind]


def test_answers_of_64_bits_are_proven_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = bundles.plan(bundles.WIDE)
    bundles.make_run(plan)
    summary = pd.read_csv("results/summary.csv").set_index(["graph", "variant"]).sort_index()
    assert summary.loc["far", "status"].to_dict() == {
        "dijkstra-cpu": "ok",
        "near-far": "ok",
        "dijkstra": "skipped",
    }
    refused = "takes weights of type float32 or uint32, not uint32 with distances of type uint64"
    assert summary.loc[("far", "dijkstra"), "reason"] == refused
    for variant in ("dijkstra-cpu", "near-far"):
        assert summary.loc[("narrow", variant), "status"] == "error"
        assert summary.loc[("narrow", variant), "reason"] == LENGTHS["uint32"].too_long
    assert "`distances: uint64`" in LENGTHS["uint32"].too_long
    pack(plan, Path("results"), tmp_path / "run.zip", "run")
    said = verify(tmp_path / "run.zip", tmp_path / "elsewhere", "host")
    assert said.wrong == []
    assert "answers: 2 of 2 proven" in said.lines
    answer = pq.read_table("results/runs/sssp/far/near-far/answer.parquet")
    assert answer["distance"].type == pa.uint64()


def test_graphs_of_the_results_folder_are_used(packed):
    said = verify(packed, packed.parent / "results", "host")
    assert any("from " in line and "results/graphs/small-grid" in line for line in said.lines)


def test_equal_columns_are_kept_once(packed):
    found = bundle_file.read(packed)
    distances = {answer.columns["distance"] for answer in found.manifest.answers if answer.problem == "sssp"}
    assert len(distances) == 1
    assert found.manifest.lock_sha256 == found.manifest.members["requirements.lock"].sha256
    assert set(found.manifest.kernels) == {
        "sssp/conventional",
        "sssp/dijkstra-cpu",
        "bfs/hybrid-cpu",
        "dominators/semi-nca",
    }


def test_a_bundle_can_be_compared(packed):
    recorded = read_recorded(packed)
    assert len(recorded.timings) == 38
    assert recorded.graphs.keys() == {"small-grid", "flow-random-30"}
    assert recorded.of_run("sssp", "small-grid", "conventional")


def positions(content):
    """Places of every kind: the structure of the archive, names, contents, and the comment."""
    marks = [content.find(mark) for mark in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")]
    structure = [start + step for start in marks for step in range(46) if start + step < len(content)]
    end = range(len(content) - 120, len(content))
    rng = np.random.default_rng(1)
    return sorted({*structure, *end, *rng.integers(0, len(content), 300).tolist()})


def test_one_changed_byte_anywhere_is_noticed(packed, tmp_path):
    content = packed.read_bytes()
    damaged = tmp_path / "damaged.zip"
    places = positions(content)
    assert len(places) > 400
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        damaged.write_bytes(changed)
        with pytest.raises(UserError, match=r"changed since it was written|not a bundle|more than"):
            bundle_file.read(damaged)


@pytest.mark.parametrize("cut", [0, 10, 100, 5000])
def test_a_cut_or_longer_file_is_noticed(packed, tmp_path, cut):
    content, damaged = packed.read_bytes(), tmp_path / "damaged.zip"
    for changed in (content[: len(content) - cut - 1], content[:cut], content + b"x", b"x" + content):
        damaged.write_bytes(changed)
        with pytest.raises(UserError):
            bundle_file.read(damaged)


def rewritten(packed, target, change, change_manifest=lambda manifest: None):
    """Write the bundle anew, as an honest writer would, with changed members."""
    found = bundle_file.read(packed)
    members = dict(found.members)
    change(members)
    manifest = found.manifest.model_dump()
    del manifest["members"]
    change_manifest(manifest)
    bundle_file.write(target, manifest, members)
    return target


def damaged_values(value):
    """Yield values that differ from one of a manifest at its top, and how."""
    if value is not None:
        yield "null", None
    if isinstance(value, bool):
        yield "inverted", not value
    elif isinstance(value, int | float):
        yield from (("longer", value + 1), ("negative", -1), ("huge", 2**64), ("text", str(value)))
    elif isinstance(value, str):
        yield from (
            ("longer", f"{value}x"),
            ("empty", ""),
            ("a number", 1),
            ("a control character", "\x1b[2K"),
        )
    elif isinstance(value, list):
        yield from ((f"{i} twice", [*value, one]) for i, one in enumerate(value))
        yield from ((f"{i} dropped", value[:i] + value[i + 1 :]) for i in range(len(value)))
    elif isinstance(value, dict):
        yield from ((f"{key} dropped", {k: v for k, v in value.items() if k != key}) for key in value)
        yield "a key more", {**value, "more": next(iter(value.values()), 1)}


def damaged_manifests(value, place=()):
    """Yield every value with one damage anywhere in it, and where."""
    yield from (((*place, how), other) for how, other in damaged_values(value))
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            for where, other in damaged_manifests(inner, (*place, key)):
                copy = value.copy()
                copy[key] = other
                yield where, copy


def is_free(where):
    """Whether another value in a place of a manifest contradicts nothing in the bundle.

    Whatever a dataset's entry says, a graph with other content is not checked.
    """
    text = where[-1] in {"longer", "empty"}
    names = where[0] in {"name", "made", "commit", "kernels"} and text
    return names or (where[0], where[-1]) == ("left_out", "longer") or "dataset" in where


@pytest.mark.slow
@pytest.mark.parametrize("part", ["graphs", "dataset", "answers", "the others"])
def test_any_damage_to_a_manifest_is_an_error(packed, tmp_path, monkeypatch, part):
    def leave_out(manifest):
        without_bfs(manifest)
        left_out_too(manifest)

    bundle = rewritten(packed, tmp_path / "b.zip", without_columns_of_bfs, leave_out)
    assert verify(bundle, tmp_path, "host").wrong == []
    # Members stay as they were.
    monkeypatch.setattr("relaxometer.results.bundle._wrong_tables", lambda found, samples: [])
    found = bundle_file.read(bundle)
    damages = list(damaged_manifests(found.manifest.model_dump()))
    assert len(damages) > 400
    for where, changed in (one for one in damages if part_of(one[0]) == part):
        bundle_file.write_archive(bundle, json.dumps(changed), found.members)
        said = outcome_of(bundle, tmp_path)
        assert is_free(where) or said, where
        assert all(line.isprintable() for line in said), where


def outcome_of(bundle, results):
    """Return what `verify` says is wrong; a refused bundle is one line."""
    try:
        return verify(bundle, results, "host").wrong
    except UserError as error:
        return [str(error)]


def part_of(where):
    if "dataset" in where:
        return "dataset"
    return where[0] if where[0] in ("graphs", "answers") else "the others"


def set_table(members, name, frame):
    content = io.BytesIO()
    frame.to_parquet(content)
    members[name] = content.getvalue()


def test_a_wrong_answer_is_named(packed, tmp_path):
    def corrupt(members):
        (name,) = [one for one in members if "sssp" in one and "distance" in one]
        frame = pd.read_parquet(io.BytesIO(members[name]))
        frame.loc[5, "distance"] += 1
        set_table(members, name, frame.astype("uint32"))

    said = verify(rewritten(packed, tmp_path / "b.zip", corrupt), tmp_path, "host")
    assert len(said.wrong) == 2
    assert said.wrong[0].startswith("the answer of sssp conventional on small-grid: rule")


def test_an_answer_to_another_source_is_named(packed, tmp_path):
    def other_source(manifest):
        answer = next(one for one in manifest["answers"] if one["problem"] == "bfs")
        answer["source"] = (answer["source"] + 1) % 72

    said = verify(rewritten(packed, tmp_path / "b.zip", lambda _: None, other_source), tmp_path, "host")
    assert [line for line in said.wrong if line.startswith("the answer of bfs hybrid-cpu on small-grid")]


def test_a_summary_or_certificate_that_contradicts_the_searches_is_named(packed, tmp_path):
    def faster(members):
        table = pd.read_csv(io.BytesIO(members["summary.csv"]))
        table["median_ms"] = table["median_ms"] / 2
        members["summary.csv"] = table.to_csv(index=False).encode()
        frame = pd.read_parquet(io.BytesIO(members["certificates.parquet"]))
        set_table(members, "certificates.parquet", frame[frame["problem"] != "bfs"])

    said = verify(rewritten(packed, tmp_path / "b.zip", faster), tmp_path, "host")
    assert "sssp small-grid conventional: median_ms of the summary is not that of the samples" in said.wrong
    assert any(line.startswith("bfs small-grid hybrid-cpu: a search from") for line in said.wrong)


def table(name, change):
    """Return a change of a bundle's members that changes one table."""

    def edit(members):
        csv = name.endswith(".csv")
        frame = change((pd.read_csv if csv else pd.read_parquet)(io.BytesIO(members[name])))
        if csv:
            members[name] = frame.to_csv(index=False).encode()
        else:
            set_table(members, name, frame)

    return edit


def of_bfs(**columns):
    def change(frame):
        for column, value in columns.items():
            frame.loc[frame["problem"] == "bfs", column] = value
        return frame

    return change


BFS = "bfs small-grid hybrid-cpu: "


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (table("certificates.parquet", of_bfs(holds=False)), f"{BFS}a search from "),
        (table("certificates.parquet", of_bfs(rule_tree=1)), f"{BFS}a search from "),
        (table("summary.csv", lambda frame: frame[frame["problem"] != "bfs"]), f"{BFS}not in the summary"),
        (table("samples.parquet", of_bfs(time_ms=0.0)), f"{BFS}a proven search of 0.0 ms"),
        (table("samples.parquet", lambda frame: pd.concat([frame, frame[-1:]])), "dominators flow-random-30"),
        (
            table("samples.parquet", of_bfs(reached_arcs=1)),
            "the answer of bfs hybrid-cpu on small-grid: it reaches 254 arcs",
        ),
    ],
)
def test_tables_that_contradict_each_other_are_named(packed, tmp_path, edit, said):
    found = verify(rewritten(packed, tmp_path / "b.zip", edit), tmp_path, "host")
    assert any(line.startswith(said) for line in found.wrong), found.wrong


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame[:-1], "is not a column level of 72 values"),
        (lambda frame: frame.astype("uint64"), "column level is of type uint64, expected uint32"),
    ],
)
def test_columns_of_another_kind_are_named(packed, tmp_path, change, said):
    def edit(members):
        (one,) = [name for name in members if name.startswith("answers/bfs/") and "level" in name]
        set_table(members, one, change(pd.read_parquet(io.BytesIO(members[one]))))

    found = verify(rewritten(packed, tmp_path / "b.zip", edit), tmp_path, "host")
    assert any(said in line for line in found.wrong), found.wrong


@pytest.mark.parametrize("source", [72, None])
def test_a_source_that_is_not_that_of_the_first_search_is_named(packed, tmp_path, source):
    def change(manifest):
        next(one for one in manifest["answers"] if one["problem"] == "bfs")["source"] = source

    found = verify(rewritten(packed, tmp_path / "b.zip", lambda _: None, change), tmp_path, "host")
    (line,) = found.wrong
    assert line.startswith(f"the answer of bfs hybrid-cpu on small-grid: source {source}; expected ")


def test_an_answer_from_a_source_that_is_no_vertex_is_not_proven(packed, tmp_path):
    first = bundle_file.read(packed).frame("samples.parquet").query("problem == 'bfs'")["source"].iloc[0]

    def from_nowhere(members):
        for name in ("samples.parquet", "certificates.parquet"):
            frame = pd.read_parquet(io.BytesIO(members[name]))
            rows = (frame["problem"] == "bfs") & (frame["source"] == first)
            frame.loc[rows, "source"] = 72
            if "reached_arcs" in frame:
                frame.loc[rows, "reached_arcs"] = 0
            set_table(members, name, frame)
        for name in [one for one in members if one.startswith("answers/bfs/")]:
            frame = pd.read_parquet(io.BytesIO(members[name]))
            set_table(members, name, pd.DataFrame(dict.fromkeys(frame, np.full(72, 2**32 - 1, np.uint32))))

    def change(manifest):
        next(one for one in manifest["answers"] if one["problem"] == "bfs")["source"] = 72

    found = verify(rewritten(packed, tmp_path / "b.zip", from_nowhere, change), tmp_path, "host")
    assert found.wrong == ["the answer of bfs hybrid-cpu on small-grid: source 72; expected 0 to 71"]
    assert found.proven == found.called_for - 1


def without_bfs(manifest):
    manifest["answers"] = [one for one in manifest["answers"] if one["problem"] != "bfs"]


def without_columns_of_bfs(members):
    for name in [name for name in members if name.startswith("answers/bfs/")]:
        del members[name]


def left_out_too(manifest):
    manifest["left_out"] = ["bfs hybrid-cpu on small-grid: too large"]


NO_SEARCHES = "bfs mine on small-grid: answers or left_out name it, but it has no searches"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_bfs, "bfs hybrid-cpu on small-grid: its first answer is neither in answers nor in left_out"),
        (
            lambda manifest: manifest["answers"].append(manifest["answers"][0]),
            "name it 2 times; expected once",
        ),
        (left_out_too, "bfs hybrid-cpu on small-grid: answers and left_out name it 2 times; expected once"),
        (lambda manifest: manifest["left_out"].append("bfs mine on small-grid: too large"), NO_SEARCHES),
        (
            lambda manifest: manifest.update(lock_sha256="0" * 64),
            "lock_sha256 of the manifest is not that of",
        ),
        (lambda manifest: manifest.update(lock_sha256=None), "lock_sha256 of the manifest is not that of"),
        (
            lambda manifest: manifest["kernels"].pop("bfs/hybrid-cpu"),
            "kernels of the manifest: no bfs/hybrid-cpu",
        ),
        (
            lambda manifest: manifest["kernels"].update(a="b"),
            "kernels of the manifest: a belongs to no search",
        ),
        (lambda manifest: manifest["graphs"].pop("small-grid"), "graphs of the manifest: no small-grid"),
        (
            lambda manifest: manifest["graphs"]["small-grid"].update(arcs=255),
            "graph small-grid: arcs 255; it has 254",
        ),
        (
            lambda manifest: manifest["graphs"]["small-grid"].update(vertices=9),
            "graph small-grid: vertices 9; it has 72",
        ),
    ],
)
def test_a_manifest_that_contradicts_the_searches_is_named(packed, tmp_path, change, said):
    found = verify(rewritten(packed, tmp_path / "b.zip", lambda _: None, change), tmp_path, "host")
    assert any(said in line for line in found.wrong), found.wrong


def with_json(name, content):
    return lambda members: members.update({name: json.dumps(content).encode()})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (with_json("context.json", {}), "context.json: expected the keys common and runs"),
        (
            with_json("context.json", {"common": [], "runs": []}),
            "context.json: common: expected keys and values",
        ),
        (
            with_json("context.json", {"common": {}, "runs": [3]}),
            "context.json: runs: expected a list of keys",
        ),
        (
            with_json("context.json", {"common": {}, "runs": []}),
            "context.json: runs: no bfs/small-grid/hybrid-cpu",
        ),
        (with_json("device_rates.json", [1]), "device_rates.json: expected the keys device and copy_gb_s"),
        (lambda members: members.update(extra=b""), "members of the manifest: extra belongs to no search"),
        (table("summary.csv", lambda frame: pd.concat([frame, frame[:1]])), ": twice in the summary"),
        (table("certificates.parquet", lambda frame: frame[frame["round"] == 1]), "a search from "),
    ],
)
def test_members_that_contradict_the_searches_are_named(packed, tmp_path, edit, said):
    found = verify(rewritten(packed, tmp_path / "b.zip", edit), tmp_path, "host")
    assert any(said in line for line in found.wrong), found.wrong


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("source", "x", "source: 'x'; expected an integer"),
        ("class", None, "class is missing; expected one of gpu"),
        ("phases", "x", "phases: 'x'; expected a number"),
        ("graph", [1], r"graph: '\[1\]'; expected a name"),
    ],
)
def test_a_column_of_another_type_is_refused(packed, tmp_path, column, value, said):
    def other(frame):
        return frame.assign(**{column: [value] * len(frame)})

    bundle = rewritten(packed, tmp_path / "b.zip", table("samples.parquet", other))
    with pytest.raises(UserError, match=f"samples.parquet: {said}"):
        verify(bundle, tmp_path, "host")


@pytest.mark.parametrize("column", ["class", "process_variance"])
def test_a_run_on_two_kinds_of_machines_is_refused(packed, tmp_path, column):
    other = {"class": "cpu-1", "process_variance": 0.5}[column]

    def two(frame):
        frame.loc[(frame["problem"] == "bfs") & (frame["round"] == 2), column] = other
        return frame

    bundle = rewritten(packed, tmp_path / "b.zip", table("samples.parquet", two))
    for read in (read_recorded, lambda path: verify(path, tmp_path, "host")):
        with pytest.raises(UserError, match=f"{column}: .*; expected the same in all searches of a run"):
            read(bundle)


def test_a_bundle_without_a_context_is_refused(packed, tmp_path):
    bundle = rewritten(packed, tmp_path / "b.zip", lambda members: members.pop("context.json"))
    with pytest.raises(UserError, match=r"no member context\.json"):
        verify(bundle, tmp_path, "host")


def run_program(monkeypatch, capsys, bundle, results):
    """Run `verify` on the command line; return its exit message, or nothing, and what it printed."""
    monkeypatch.setattr(sys, "argv", ["verify", str(bundle), "--device", "host", "--results", str(results)])
    try:
        program.main()
        code = ""
    except SystemExit as ended:
        code = str(ended.code)
    return code, capsys.readouterr()


def test_the_last_line_says_what_was_not_checked(packed, tmp_path, monkeypatch, capsys):
    _, said = run_program(monkeypatch, capsys, packed, tmp_path)
    assert said.out.endswith(f"{packed} holds: 4 of 4 first answers proven, nothing left unchecked\n")

    def leave_out(manifest):
        without_bfs(manifest)
        left_out_too(manifest)

    bundle = rewritten(packed, tmp_path / "b.zip", without_columns_of_bfs, leave_out)
    _, said = run_program(monkeypatch, capsys, bundle, tmp_path)
    last = "3 of 4 first answers proven; not checked: the answer of bfs hybrid-cpu on small-grid: too large\n"
    assert said.out.endswith(f"{bundle} holds: {last}")


def test_control_characters_of_a_table_do_not_reach_the_terminal(packed, tmp_path, monkeypatch, capsys):
    edit = table("samples.parquet", of_bfs(variant="\x1b[2Kmine"))
    code, said = run_program(monkeypatch, capsys, rewritten(packed, tmp_path / "b.zip", edit), tmp_path)
    assert "\x1b" not in code + said.out + said.err
    assert "samples.parquet: variant: '\\x1b[2Kmine'; expected a name without control characters" in code


def test_the_program_fails_if_anything_is_wrong(packed, tmp_path, monkeypatch, capsys):
    wrong = rewritten(packed, tmp_path / "b.zip", table("samples.parquet", of_bfs(time_ms=0.0)))
    monkeypatch.setattr(sys, "argv", ["verify", str(wrong), "--device", "host", "--results", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert str(ended.value.code).startswith(f"error: {wrong}: ")
    assert "holds" not in capsys.readouterr().out


@pytest.mark.parametrize("column", ["prepare_ms", "cold_ms", "ci95_low_ms", "class"])
def test_every_column_of_the_summary_is_checked(packed, tmp_path, column):
    def other(members):
        table = pd.read_csv(io.BytesIO(members["summary.csv"]))
        table[column] = "gpu" if column == "class" else 0.001
        members["summary.csv"] = table.to_csv(index=False).encode()

    said = verify(rewritten(packed, tmp_path / "b.zip", other), tmp_path, "host")
    assert any(f"{column} of the summary is not that of the samples" in line for line in said.wrong)


def test_a_line_without_searches_is_named(packed, tmp_path):
    def longer(members):
        table = pd.read_csv(io.BytesIO(members["summary.csv"]))
        more = table.iloc[:1].assign(variant="mine", status="disputed", median_ms=0.001)
        members["summary.csv"] = pd.concat([table, more]).to_csv(index=False).encode()

    said = verify(rewritten(packed, tmp_path / "b.zip", longer), tmp_path, "host")
    assert any(line.endswith("mine: in the summary without a search") for line in said.wrong)


def test_control_characters_of_a_manifest_are_refused(packed):
    """They could erase a line of the verdict in a terminal."""
    manifest = bundle_file.read(packed).manifest.model_dump()
    with pytest.raises(ValidationError, match="control characters"):
        bundle_file.Manifest.model_validate({**manifest, "left_out": ["\x1b[2K\x1b[1Aall fine"]})


def test_a_table_of_equal_values_cannot_fill_the_memory(packed, tmp_path, monkeypatch):
    def long(members):
        set_table(members, "samples.parquet", pd.DataFrame({"time_ms": np.zeros(3_000_000)}))

    found = bundle_file.read(rewritten(packed, tmp_path / "b.zip", long))
    monkeypatch.setattr(bundle_file, "MAX_BYTES", 20_000_000)
    with pytest.raises(UserError, match=r"its rows take 24,000,000 bytes, more than 20,000,000"):
        found.table("samples.parquet")


def test_a_graph_that_cannot_be_had_is_not_checked(packed, tmp_path):
    def from_a_file(manifest):
        entry = manifest["graphs"]["small-grid"]["dataset"]
        entry |= {"format": "dimacs", "urls": ["https://example.org/town.gr"], "seed": None, "parameters": {}}

    said = verify(rewritten(packed, tmp_path / "b.zip", lambda _: None, from_a_file), tmp_path, "host")
    assert said.wrong == []
    where = f"its file town.gr is not in {tmp_path / 'downloads'}; FETCH=1 downloads it"
    assert said.unchecked == [f"3 answers on small-grid: {where}"]
    assert "answers: 1 of 4 proven" in said.lines


def test_another_generator_is_not_checked(packed, tmp_path):
    def other_seed(manifest):
        manifest["graphs"]["small-grid"]["dataset"]["seed"] = 2

    said = verify(rewritten(packed, tmp_path / "b.zip", lambda _: None, other_seed), tmp_path, "host")
    assert len(said.unchecked) == 1
    assert "made here, its content differs" in said.unchecked[0]


def test_answers_on_large_graphs_are_left_out(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    pack(bundles.plan(), Path("results"), tmp_path / "b.zip", "b", Limits(most_vertices=50))
    said = verify(tmp_path / "b.zip", Path("results"), "host")
    assert "the answer of sssp conventional on small-grid: more than 50 vertices" in said.unchecked


def test_answers_to_query_sets_are_left_out_and_their_searches_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    routes = {"queries": {"a": {"pairs": 9}, "b": {"origins": 2, "targets": 3, "paths": True}}}
    routes |= {"graphs": ["small-grid"], "variants": {"dijkstra-cpu": {}}}
    config = {key: bundles.CONFIG[key] for key in ("device", "timing", "datasets")} | {"routes": routes}
    plan = bundles.Plan(config, bundles.ROOT / "resources/datasets.yaml", "test", gpu=False)
    bundles.make_run(plan)
    pack(plan, Path("results"), tmp_path / "b.zip", "b")
    said = verify(tmp_path / "b.zip", Path("results"), "host")
    assert said.wrong == []
    assert said.unchecked == ["the answer of routes dijkstra-cpu on small-grid: a bundle holds no query sets"]
    assert "tables: 1 runs, 24 searches, their certificates and the summary" in said.lines

    def add(members):
        for column in ("distance", "size", "path"):
            set_table(members, f"answers/{column}.parquet", pd.DataFrame({column: np.zeros(72, np.uint32)}))

    def name(manifest):
        run = {"problem": "routes", "graph": "small-grid", "variant": "dijkstra-cpu", "source": 0}
        columns = {column: f"answers/{column}.parquet" for column in ("distance", "size", "path")}
        manifest["answers"] = [{**run, "columns": columns, "tree": None, "hashes": {}}]
        manifest["left_out"] = []

    said = verify(rewritten(tmp_path / "b.zip", tmp_path / "c.zip", add, name), Path("results"), "host")
    assert said.wrong == ["the answer of routes dijkstra-cpu on small-grid: a bundle holds no query sets"]


def test_a_run_of_another_configuration_is_refused(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    config = {**bundles.CONFIG, "sssp": {"graphs": []}}
    other = bundles.Plan(config, bundles.ROOT / "resources/datasets.yaml", "test", gpu=False)
    with pytest.raises(UserError, match="not in this configuration; name the one that was run: SUITE= "):
        pack(other, Path("results"), tmp_path / "b.zip", "b")


@pytest.mark.parametrize("base", ["small-grid", "elsewhere"])
def test_a_graph_that_is_extracted_from_itself_or_another_bundle_is_refused(packed, tmp_path, base):
    def change(manifest):
        manifest["graphs"]["small-grid"]["base"] = base

    with pytest.raises(ValueError, match=rf"graphs\.small-grid\.base: {base} is "):
        rewritten(packed, tmp_path / "b.zip", lambda _: None, change)


def test_a_foreign_archive_is_no_bundle(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "relaxometer-bundle"}))
    with pytest.raises(UserError, match="not a bundle of version 1"):
        bundle_file.read(tmp_path / "x.zip")


def test_a_folder_is_no_bundle(tmp_path):
    with pytest.raises(UserError, match="is a folder; expected a bundle"):
        bundle_file.read(tmp_path)


@pytest.mark.parametrize("comment", ["2", "3"])
def test_a_bundle_of_another_version_is_refused_by_its_version(packed, tmp_path, monkeypatch, comment):
    found = bundle_file.read(packed)
    manifest = found.manifest.model_dump() | {"version": 3, "a key of version 3": 1}
    monkeypatch.setattr(bundle_file, "VERSION", comment)
    bundle_file.write_archive(tmp_path / "b.zip", json.dumps(manifest), found.members)
    monkeypatch.undo()
    with pytest.raises(
        UserError, match=r"not a bundle of version 1 or 2, but of version '?3'?; read it with the version"
    ):
        bundle_file.read(tmp_path / "b.zip")


def test_a_manifest_of_another_version_than_the_file_is_refused(packed, tmp_path):
    found = bundle_file.read(packed)
    manifest = found.manifest.model_dump() | {"version": 1}
    for answer in manifest["answers"]:
        del answer["tree"], answer["hashes"]
    bundle_file.write_archive(tmp_path / "b.zip", json.dumps(manifest), found.members)
    with pytest.raises(
        UserError, match=r"manifest.json is of version 1, its end of version 2; pack it again"
    ):
        bundle_file.read(tmp_path / "b.zip")


def test_a_manifest_against_the_schema_is_refused(packed, tmp_path):
    with pytest.raises(ValueError, match="version"):
        rewritten(packed, tmp_path / "b.zip", lambda _: None, lambda manifest: manifest.update(version=3))


def test_the_same_results_make_the_same_file(tmp_path):
    manifest = {
        **{"format": "relaxometer-bundle", "version": 2, "name": "a", "made": "now", "commit": "b"},
        **{"graphs": {}, "kernels": {}, "lock_sha256": None, "answers": [], "left_out": []},
    }
    table = pa.table({"a": [1]})
    members = {"b.json": b"{}", "a.parquet": table.to_pandas().to_csv().encode()}
    hashes = {bundle_file.write(tmp_path / name, manifest, members) for name in ("1.zip", "2.zip")}
    assert len(hashes) == 1
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


@pytest.fixture
def unfinished(packed, tmp_path, monkeypatch):
    """The folder of a run as `relaxometer.cli.all_runs` leaves it: no tables over all runs, no graphs."""
    shutil.copytree(packed.parent / "results/runs", tmp_path / "results/runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_and_graphs_that_only_the_workflow_writes_are_made(packed, unfinished):
    pack(bundles.plan(), Path("results"), unfinished / "b.zip", "run")
    ours, theirs = bundle_file.read(unfinished / "b.zip"), bundle_file.read(packed)
    assert ours.members == theirs.members
    assert ours.manifest.graphs == theirs.manifest.graphs
    assert not Path("results/summary.csv").exists()


def test_runs_and_answers_that_are_not_there_are_left_out(unfinished):
    shutil.rmtree("results/runs/bfs")
    shutil.rmtree("results/runs/sssp/small-grid/dijkstra-cpu/rounds")
    Path("results/runs/sssp/small-grid/conventional/answer.parquet").unlink()
    pack(bundles.plan(), Path("results"), unfinished / "b.zip", "run")
    said = verify(unfinished / "b.zip", Path("results"), "host")
    assert said.wrong == []
    assert said.unchecked == ["the answer of sssp conventional on small-grid: its file was not kept"]
    assert "answers: 2 of 3 proven" in said.lines
    summary = bundle_file.read(unfinished / "b.zip").frame("summary.csv").set_index("variant")
    assert summary.loc["hybrid-cpu", ["status", "reason"]].tolist() == ["error", "not run"]
    assert summary.loc["dijkstra-cpu", "sources"] == 6


DAMAGED = [
    ("timings.parquet", b"hello"),
    ("timings.parquet", "cut"),
    ("timings.parquet", "other columns"),
    ("runs/sssp/small-grid/conventional/runs.parquet", "cut"),
    ("runs/sssp/small-grid/conventional/runs.parquet", "other columns"),
    ("certificates.parquet", "cut"),
    ("graphs/small-grid/graph.json", b"{}"),
    ("context.json", b"{"),
    ("context.json", b'{"common": {}, "runs": 3}'),
    ("device_rates.json", b'{"device": "H200"}'),
    ("summary.csv", "cut"),
    ("summary.csv", b"\xff"),
]


def damage(file, how):
    """Cut a file in half, leave a table of another column in it, or give it other content."""
    if how == "other columns":
        pd.DataFrame({"a": [1]}).to_parquet(file)
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if how == "cut" else how)


@pytest.mark.parametrize(("name", "how"), DAMAGED)
def test_a_damaged_folder_is_not_packed(packed, tmp_path, monkeypatch, name, how):
    shutil.copytree(packed.parent / "results", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    damage(Path("results", name), how)
    with pytest.raises(UserError) as refused:
        pack(bundles.plan(), Path("results"), tmp_path / "b.zip", "run")
    said = str(refused.value)
    assert "\n" not in said
    assert Path(name).name in said or "in the summary" in said
    assert said.startswith("results")
    assert not (tmp_path / "b.zip").exists()


READ_BY_COMPARE = {"timings.parquet", "context.json", "device_rates.json"}


@pytest.mark.parametrize(("name", "how"), [one for one in DAMAGED if one[0] in READ_BY_COMPARE])
def test_a_damaged_folder_is_not_compared(packed, tmp_path, name, how):
    shutil.copytree(packed.parent / "results", tmp_path / "results")
    damage(tmp_path / "results" / name, how)
    with pytest.raises(UserError, match=rf"{Path(name).name}: .*; delete it and run again") as refused:
        read_recorded(tmp_path)
    assert "\n" not in str(refused.value)


def test_without_any_run_there_is_nothing_to_pack(tmp_path):
    with pytest.raises(UserError, match="no run of this configuration; run the workflow first"):
        pack(bundles.plan(), tmp_path, tmp_path / "b.zip", "run")


def test_answers_that_would_make_the_file_too_large_are_left_out(packed, with_trees, tmp_path, monkeypatch):
    monkeypatch.chdir(packed.parent)
    # The time of packing changes the size of the compressed manifest by a few bytes.
    limit, target = with_trees.stat().st_size - 50, tmp_path / "b.zip"
    pack(bundles.plan(), Path("results"), target, "run", Limits(most_bytes=limit))
    assert target.stat().st_size <= limit
    said = verify(target, Path("results"), "host")
    assert said.wrong == []
    assert 0 < len(said.unchecked) < 4
    assert said.unchecked[-1].endswith(f"the bundle would have more than {limit:,} bytes")


@pytest.fixture(scope="module")
def with_trees(packed):
    """The bundle of the same run with a limit on its bytes, in which answers of trees are packed as such."""
    target = packed.with_name("trees.zip")
    with chdir(packed.parent):
        pack(bundles.plan(), Path("results"), target, "run", Limits(most_bytes=1e6))
    return target


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


def trees_of(members):
    return [name for name in members if name.startswith("answers/sssp/small-grid/tree-")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda places: places + np.uint32(5),
            "a place in its tree is beyond the neighbours of the vertex",
        ),
        (lambda places: 0 * places, "column distance of its tree is not the one that was measured"),
        (lambda places: places[:-1], "its tree is not one of this graph and problem"),
        (lambda places: places.astype("int64"), "is not a column tree of a graph's answer"),
    ],
)
def test_a_wrong_tree_is_named(with_trees, tmp_path, change, said):
    def corrupt(members):
        for name in trees_of(members):
            places = pd.read_parquet(io.BytesIO(members[name]))["tree"].to_numpy()
            set_table(members, name, pd.DataFrame({"tree": change(places).astype(change(places).dtype)}))

    found = verify(rewritten(with_trees, tmp_path / "b.zip", corrupt), tmp_path, "host")
    named = [line for line in found.wrong if line.startswith("the answer of sssp ")]
    assert len(named) == 2
    assert all(said in line for line in named)


def test_a_tree_whose_lengths_are_not_the_measured_ones_is_named(with_trees, tmp_path):
    def other_hash(manifest):
        for answer in manifest["answers"]:
            if answer["tree"]:
                answer["hashes"]["predecessor"] = "0" * 64

    def lacking(manifest):
        for answer in manifest["answers"]:
            answer["hashes"].pop("predecessor", None)

    wrong = verify(
        rewritten(with_trees, tmp_path / "a.zip", lambda _: None, other_hash), tmp_path, "host"
    ).wrong
    assert len(wrong) == 3
    assert all("column predecessor of its tree is not the one that was measured" in line for line in wrong)
    wrong = verify(rewritten(with_trees, tmp_path / "b.zip", lambda _: None, lacking), tmp_path, "host").wrong
    assert len(wrong) == 3
    assert all("; expected " in line for line in wrong)
