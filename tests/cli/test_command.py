"""The command ``relaxometer``: its list of commands, a race on one graph, and a search that is written."""

import re
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from relaxometer.cli import command, pick
from tiny_workflow import write_tiny_map


def relaxometer(monkeypatch, *arguments):
    """Run the command in this process."""
    monkeypatch.setattr(sys, "argv", ["relaxometer", *map(str, arguments)])
    command.main()


@pytest.fixture
def town(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tiny_map(tmp_path / "town.gr")
    return "town.gr"


def test_help_lists_the_commands_and_a_mistake_is_named(monkeypatch, capsys):
    relaxometer(monkeypatch, "--help")
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in command.COMMANDS)
    with pytest.raises(SystemExit, match="unknown command 'pikc'"):
        relaxometer(monkeypatch, "pikc")


@pytest.mark.parametrize("problem", ["sssp", "bfs", "dominators"])
def test_pick_ranks_proven_variants_and_its_lines_run(town, monkeypatch, capsys, problem):
    relaxometer(monkeypatch, "pick", town, "--problem", problem, "--device", "cpu", "--sources", 2)
    said = capsys.readouterr().out
    assert "108 vertices" in said
    ranking = re.search(r"searches, ms\n(.*?)\n\n", said, re.DOTALL)[1].splitlines()
    totals = [float(line.split()[-1]) for line in ranking]
    assert totals == sorted(totals)
    lines = said[said.index("import relaxometer") :]
    assert f"variant='{ranking[0].split()[0]}'" in lines
    names: dict = {}
    exec(lines, names)
    names["answer"].verify()


def test_the_lines_name_the_format_and_the_searches_of_auto():
    auto = pick.Standing("auto", "ok", "", 1.0, 1.0)
    lines = pick.snippet("map.txt", "edge-list", "sssp", auto, 7)
    assert "from_file('map.txt', format='edge-list')" in lines
    assert "prepare(graph, 'sssp', searches=7)" in lines


@pytest.mark.parametrize("given", ["0", "-2", "many"])
def test_pick_refuses_numbers_below_one(town, monkeypatch, capsys, given):
    with pytest.raises(SystemExit):
        relaxometer(monkeypatch, "pick", town, "--sources", given)
    assert "is not an integer of at least 1" in capsys.readouterr().err


def test_pick_says_when_no_variant_suits(town, monkeypatch):
    with pytest.raises(SystemExit, match=r"error: lost\.gr: "):
        relaxometer(monkeypatch, "pick", "lost.gr", "--device", "cpu")


def test_solve_writes_a_proven_answer(town, monkeypatch, capsys):
    relaxometer(monkeypatch, "solve", town, "--source", 5, "--device", "cpu", "-o", "tree.parquet")
    assert capsys.readouterr().out == ("tree.parquet: 108 of 108 vertices reached, proven; by dijkstra-cpu\n")
    table = pq.read_table("tree.parquet")
    assert table.column_names == ["distance", "predecessor"]
    assert np.flatnonzero(table["distance"].to_numpy() == 0).tolist() == [5]
    with pytest.raises(SystemExit, match="error: vertex '108': expected"):
        relaxometer(monkeypatch, "solve", town, "--source", 108, "-o", "tree.parquet")
