"""Several machines on one board: ranks, the page and CSV."""

import contextlib
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from built import refusal
from relaxometer.cli.board import write
from relaxometer.cli.publish import MOST_BYTES
from relaxometer.core.errors import UserError
from relaxometer.report.board import page, readme, texts
from relaxometer.results import bundle_file
from relaxometer.results.board import board
from relaxometer.results.recorded import CONTEXT, Recorded
from synthetic_runs import query_sets, quiet, rival, searches, spread

CALM = quiet()
CALM["graph"] = CALM["variant"]  # each alone, so that they are not ranked


def machine(name, gpu, ms, *, seed_of_sources=0, **options):
    table = pd.concat(
        [
            CALM,
            searches("tiled", spread(ms)),
            searches("near-far", spread(3 * ms), status=options.pop("status", "ok")),
            rival("boost", spread(9.0)),
            searches("emulated", spread(1.0), device_kind="host"),
        ]
    )
    is_gpu = table["device_kind"] == "cuda"
    table = table.assign(device=table["device"].where(~is_gpu, gpu), source=table["source"] + seed_of_sources)
    context = {"commit": f"c-{name}", "date": "2026-01-02T00:00:00+00:00"}
    return Recorded(name, table, [context], **options)


def rows_of(merged, **wanted):
    for column, value in wanted.items():
        merged = merged[merged[column] == value]
    return merged


def test_two_machines_merge_and_each_class_has_its_own_ranks():
    merged = board([machine("one", "NVIDIA X", 1.0), machine("two", "<b>", 0.5)])
    for gpu, bundle in (("NVIDIA X", "one"), ("<b>", "two")):
        rows = rows_of(merged, device=gpu, graph="town")
        assert rows["variant"].tolist() == ["tiled", "near-far"]
        assert rows["rank"].tolist() == [1, 2]
        assert rows["bundle"].unique().tolist() == [bundle]
    boost = rows_of(merged, variant="boost")
    assert boost["rank"].tolist() == [1, 1], "two machines of one class, not told apart"
    emulated = rows_of(merged, variant="emulated")
    assert emulated["rank"].isna().all()
    assert emulated[["median_ms", "prepare_ms", "cold_ms"]].isna().all(axis=None)
    assert merged.loc[merged["variant"] != "emulated", "prepare_ms"].notna().all()
    assert merged["race"].isna().all(), "all share their sources"
    assert texts(merged)["Race"].eq("").all()
    html = page(merged)
    heads = re.findall(r'<button type="button">([^<]*)</button>', html)
    assert heads[heads.index("Median [ms]") + 2] == "Preparation [ms]"
    assert "Race" not in heads
    assert 'class="sortable" id="board"' in html
    assert "sortBy" in html
    assert "<b>" not in html
    assert "2 bundles on 13 graphs" in html


def test_only_bundles_that_share_sources_are_ranked_together():
    """The fast one, from other sources, is a race of its own."""
    runs = [
        machine("one", "NVIDIA X", 1.0),
        machine("two", "NVIDIA X", 0.5, seed_of_sources=100),
        machine("zoo", "NVIDIA X", 2.0),
    ]
    merged = board(runs)
    rows = rows_of(merged, graph="town", device="NVIDIA X")
    assert [*rows[["race", "bundle", "variant", "rank"]].itertuples(index=False, name=None)] == [
        *((1, "one", "tiled", 1), (1, "zoo", "tiled", 2), (1, "one", "near-far", 3)),
        *((1, "zoo", "near-far", 4), (2, "two", "tiled", 1), (2, "two", "near-far", 2)),
    ]
    assert "Race</button>" in page(merged)


def routes(name, factor, hashes=()):
    times = {"pairs": spread(factor), "table": spread(9 * factor)}
    return Recorded(name, pd.concat([CALM, query_sets("hierarchy", times, hashes)]))


def test_query_sets_are_ranked_by_name_where_they_are_equal():
    merged = rows_of(board([routes("one", 1.0), routes("two", 2.0)]), problem="routes")
    assert merged[["graph", "bundle", "rank", "sources"]].to_numpy().tolist() == [
        *(["town: pairs", "one", 1, 12], ["town: pairs", "two", 2, 12]),
        *(["town: table", "one", 1, 12], ["town: table", "two", 2, 12]),
    ]


def test_what_failed_has_no_rank_and_says_why():
    merged = board([machine("one", "NVIDIA X", 1.0, status="invalid")])
    row = texts(rows_of(merged, variant="near-far")).iloc[0]
    assert (row["Rank"], row["Median [ms]"], row["Status"]) == ("", "", "invalid: rule broken")


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "no bundle to read"),
        ([machine("one", "X", 1.0), machine("one", "Y", 1.0)], "two bundles have the name 'one'"),
        ([machine("one", "X", 1.0), machine("two", "X", 1.0)], "one and two hold the same run"),
        (
            [machine(name, "X", 1.0, graphs={"town": name}) for name in ("one", "two")],
            "graph town is not the same in one and two",
        ),
    ],
)
def test_mistakes_are_one_line(others, message):
    with pytest.raises(UserError, match=message):
        board(others)


def test_the_program_writes_a_page_and_a_table_and_keeps_no_folder(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    machine("one", "NVIDIA X", 1.0).timings.to_parquet(folder / "timings.parquet")
    assert "is a folder; expected a bundle" in refusal(write, [folder], tmp_path / "board", keep=True)
    assert not (tmp_path / "board").exists()
    files = write([folder], tmp_path / "board")
    assert [file.name for file in files] == ["index.html", "board.csv"]
    assert len(pd.read_csv(files[1])) == 16


DOCS = Path(__file__).parents[2] / "docs/board"


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The board of the bundles in the documents, made again in a folder of the same name."""
    folder = tmp_path_factory.mktemp("board")
    with contextlib.chdir(folder):
        write([*sorted(DOCS.glob("*.zip"), reverse=True)], Path("docs/board"), keep=True)
    return folder / "docs/board"


def test_the_board_in_the_documents_is_what_its_bundles_give(again):
    assert {path.name for path in again.iterdir()} == {path.name for path in DOCS.iterdir()}
    for path in [path for path in DOCS.iterdir() if path.suffix != ".csv"]:
        assert (again / path.name).read_bytes() == path.read_bytes(), path
    # Its numbers have all digits, whose last ones depend on the processor.
    tables = [pd.read_csv(place / "board.csv") for place in (DOCS, again)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)
    assert all(path.stat().st_size <= MOST_BYTES for path in DOCS.glob("*.zip"))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("run", "sssp", "run is 'sssp'; expected problem/graph/variant"),
        ("device_kind", "abacus", "device_kind is 'abacus'; expected one of cuda, host, cpu"),
        ("reference_ms.before", "fast", "reference_ms.before is 'fast'; expected a time or null"),
    ],
)
def test_a_bundle_with_another_context_is_refused_in_one_line(tmp_path, key, value, line):
    found = bundle_file.read(DOCS / "h200.zip")
    context = found.json(CONTEXT)
    context["runs"][0][key] = value
    members = found.members | {CONTEXT: json.dumps(context).encode()}
    manifest = found.manifest.model_dump() | {"version": bundle_file.VERSION}
    bundle_file.write(tmp_path / "one.zip", manifest, members)
    with pytest.raises(UserError, match=re.escape(line)):
        write([tmp_path / "one.zip"], tmp_path / "board", keep=True)


def test_drift_that_was_not_measured_is_an_empty_cell():
    context = {"run": "sssp/town/tiled", "device_kind": "cuda"}
    timed = {**context, "reference_ms.before": 1.0, "reference_ms.after": 1.1}
    runs = [
        Recorded(name, machine(name, "NVIDIA X", 1.0).timings, contexts)
        for name, contexts in (("none", []), ("untimed", [context]), ("timed", [timed]))
    ]
    text = readme(runs, ["0", "1", "2"], "kept")
    cells = [line.split(" | ")[4] for line in text.splitlines() if line.startswith("| [`")]
    assert [cell.strip() for cell in cells] == ["", "", "10%"]
