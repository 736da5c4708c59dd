"""``relaxometer pick``, ``solve``, ``heap``, ``run`` and ``report``; every command says how it is called."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from heap_samples import PLAIN, text
from relaxometer.cli import pick
from relaxometer.cli.command import COMMANDS, call
from relaxometer.core.errors import UserError
from relaxometer.core.occupancy import LOCKS
from relaxometer.device import cuda
from tiny_workflow import write_tiny_map

ROOT = Path(__file__).parents[2]


def relaxometer(*arguments):
    """Run the command in this process."""
    call(list(map(str, arguments)))


@pytest.fixture
def town(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Compilers take as long as they like, and no variant is too slow for the ranking.
    for limit in ("LEAST_S", "ENOUGH_S", "PATIENCE"):
        monkeypatch.setattr(pick, limit, 1e9)
    write_tiny_map(tmp_path / "town.gr")
    return "town.gr"


@pytest.mark.parametrize("problem", ["sssp", "bfs", "dominators", "routes"])
def test_pick_ranks_proven_variants_and_its_lines_run(town, capsys, problem):
    relaxometer("pick", town, "--problem", problem, "--device", "cpu", "--sources", 2)
    said = capsys.readouterr().out
    assert "108 vertices" in said
    ranking = re.search(r"searches, ms\n(.*?)\n\n", said, re.DOTALL)[1].splitlines()
    totals = [float(line.split()[-1]) for line in ranking]
    assert totals == sorted(totals)
    assert "Vertices are numbered from 0: vertex 1 of the file is 0." in said
    lines = said[said.index("import relaxometer") :]
    assert f"variant='{ranking[0].split()[0]}'" in lines
    names: dict = {}
    exec(lines, names)
    names["answer"].verify()


def test_a_variant_that_cannot_win_is_given_up(town, monkeypatch, capsys):
    monkeypatch.setattr(pick, "PATIENCE", 1e-9)
    monkeypatch.setattr(pick, "LEAST_S", 600)
    relaxometer("pick", town, "--device", "cpu")
    said = capsys.readouterr().out
    assert "bellman-ford-cpu      given up: more than 1e-09 times the best total" in said
    assert "variant='dijkstra-cpu'" in said


def test_pick_says_why_a_variant_failed(town, monkeypatch, capsys):
    def prepare(*_, variant, **__):
        raise UserError(f"{variant} is out of order")

    monkeypatch.setattr(pick, "prepare", prepare)
    with pytest.raises(SystemExit, match="no variant finished"):
        relaxometer("pick", town, "--device", "cpu")
    names = ("dijkstra-cpu", "bellman-ford-cpu")
    said = capsys.readouterr().err
    assert all(f"{name}: GraphError: {name} is out of order" in said for name in names)


def test_pick_forks_variants_that_use_threads(town):
    # As users start it: the threads of these tests survive a fork anyway.
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_THREADING_LAYER"}
    command = [sys.executable, "-m", "relaxometer.cli.command", "pick", town, "--problem", "bfs"]
    said = subprocess.run([*command, "--device", "cpu"], env=environment, capture_output=True, text=True)
    assert "hybrid-cpu: ok" in said.stderr


def test_pick_says_once_what_a_gpu_lacks(town, monkeypatch, capsys):
    monkeypatch.setattr(cuda, "missing", lambda: cuda.NO_DRIVER)
    with pytest.raises(SystemExit, match=r"^error: device 'cuda': this machine has no NVIDIA driver$"):
        relaxometer("pick", town, "--device", "cuda")
    assert capsys.readouterr() == ("", "")


def test_the_lines_name_the_format_and_the_searches_of_auto():
    lines = pick.snippet("map.txt", "edge-list", "sssp", "auto", 7)
    assert "from_file('map.txt', format='edge-list')" in lines
    assert "prepare(graph, 'sssp', searches=7)" in lines


def test_pick_refuses_numbers_below_one_and_a_missing_file(town, capsys):
    for given in ("0", "-2", "many"):
        with pytest.raises(SystemExit):
            relaxometer("pick", town, "--sources", given)
        assert "is not an integer of at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"error: lost\.gr: "):
        relaxometer("pick", "lost.gr", "--device", "cpu")


@pytest.mark.parametrize(
    ("command", "likely"), [("pick", "edge-list"), ("solve", "edge-list"), ("heap", "heapsnapshot")]
)
def test_a_file_whose_name_tells_no_format_and_a_folder_are_one_line(town, command, likely):
    options = ("--source", 1, "-o", "tree.csv") if command == "solve" else ()
    told = rf"^error: edges\.txt: its name does not tell the format; add --format {likely} \(or one of: .*\)$"
    with pytest.raises(SystemExit, match=told):
        relaxometer(command, "edges.txt", *options)
    with pytest.raises(SystemExit, match=r"^error: \.: is a folder; expected a file$"):
        relaxometer(command, ".", *options)


def test_solve_writes_a_proven_answer(town, capsys):
    relaxometer("solve", town, "--source", 5, "--device", "cpu", "-o", "tree.parquet")
    counted = "vertices are numbered from 0: --source 5 is vertex 6 of the file"
    said = f"tree.parquet: 108 of 108 vertices reached, proven; by dijkstra-cpu\n{counted}\n"
    assert capsys.readouterr().out == said
    table = pq.read_table("tree.parquet")
    assert table.column_names == ["vertex", "distance", "predecessor"]
    assert np.flatnonzero(table["distance"].to_numpy() == 0).tolist() == [5]
    relaxometer("solve", town, "--source", 5, "--device", "cpu", "-o", "tree.csv")
    lines = Path("tree.csv").read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[6], len(lines)) == ('"vertex","distance","predecessor"', "5,0,5", 109)
    with pytest.raises(SystemExit, match=r"to 107 \(numbered from 0: vertex 108 of the file is 107\)"):
        relaxometer("solve", town, "--source", 108, "-o", "tree.parquet")


def test_solve_and_pick_name_vertices_as_the_table_does(town, capsys):
    Path("towns.csv").write_text("from,to,cost\nParis,Lyon,4\nLyon,7,1\nOslo,Bergen,2\n", encoding="utf-8")
    for source in ("Paris", 7):
        relaxometer("solve", "towns.csv", "--source", source, "--device", "cpu", "-o", "tree.parquet")
    rows = {row["id"]: row for row in pq.read_table("tree.parquet").to_pylist()}
    assert rows["Paris"] == {"id": "Paris", "distance": 5, "predecessor": "Lyon"}
    assert rows["Oslo"]["predecessor"] is None
    with pytest.raises(SystemExit, match="error: 'Rome' is not a node of the graph"):
        relaxometer("solve", "towns.csv", "--source", "Rome", "-o", "tree.parquet")
    relaxometer("pick", "towns.csv", "--device", "cpu", "--sources", 1)
    said = capsys.readouterr().out
    assert "search('7')" in said
    assert "numbered from 0" not in said


def test_solve_and_pick_say_which_weights_count(town, capsys):
    Path("towns.csv").write_text("from,to,km,h\nParis,Lyon,465,4\nLyon,Nice,470,5\n", encoding="utf-8")
    solve = ("solve", "towns.csv", "--source", "Paris", "--device", "cpu", "-o", "tree.parquet")
    with pytest.raises(SystemExit, match=r"error: towns\.csv: which column holds the weights"):
        relaxometer(*solve)
    relaxometer(*solve, "--weight", "km")
    assert pq.read_table("tree.parquet")["distance"].to_pylist() == [465, 935, 0]
    relaxometer("pick", "towns.csv", "--weight", "h", "--device", "cpu", "--sources", 1)
    said = capsys.readouterr().out
    assert "by dijkstra-cpu; weights from 'km'" in said
    assert "on cpu; weights from 'h'" in said
    assert "from_file('towns.csv', weight='h')" in said
    Path("web.txt").write_text("1 2\n2 3\n", encoding="utf-8")
    relaxometer("solve", "web.txt", "--format", "edge-list", "--source", 1, "-o", "tree.parquet")
    assert "every weight is 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("form", "header", "first", "unused"),
    [
        ("edge-list", "", 0, "its third column"),
        (
            "matrix-market",
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n",
            1,
            "the value of each entry",
        ),
    ],
)
def test_weight_values_takes_those_of_the_file(town, capsys, form, header, first, unused):
    lines = "".join(f"{first + v} {first + v + 1} {4 + v}\n" for v in (0, 1))
    Path("web.txt").write_text(header + lines, encoding="utf-8")
    given = ("web.txt", "--format", form, "--device", "cpu")
    solve = ("solve", *given, "--source", 0, "-o", "tree.parquet")
    relaxometer(*solve)
    said = f"web.txt: {unused} is not used, and every weight is 1; --weight values uses it\n"
    assert capsys.readouterr().err == said
    relaxometer(*solve, "--problem", "bfs")
    assert not capsys.readouterr().err, "levels need no weights"
    relaxometer(*solve, "--weight", "values")
    assert pq.read_table("tree.parquet")["distance"].to_pylist() == [0, 4, 9]
    assert not capsys.readouterr().err
    with pytest.raises(SystemExit, match=rf"web\.txt: --weight '3'; expected values, for {unused}"):
        relaxometer(*solve, "--weight", 3)
    relaxometer("pick", *given, "--weight", "values", "--sources", 1)
    said = capsys.readouterr().out
    assert "weights={'distribution': 'values'})" in said
    assert said.count("numbered from 0") == first  # of a file that counts from 1
    with pytest.raises(SystemExit, match=r"town\.gr: --weight 'km'; expected none, since dimacs has no col"):
        relaxometer("pick", town, "--weight", "km")


def test_the_largest_retainers_are_shown_and_all_objects_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.heapsnapshot").write_bytes(text(PLAIN))
    relaxometer("heap", "some.heapsnapshot", "--device", "cpu", "-o", "all.parquet")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "some.heapsnapshot: 6 of 8 objects reached, 8 references, 210 bytes; proven"
    rows = [line.split() for line in said[3:9]]
    assert [row[0] for row in rows] == ["210", "120", "60", "50", "40", "20"]
    assert rows[1] == ["120", "57.1%", "30", "1", "object", "global", "@5"]
    assert said[6].endswith("😀 list @9")
    table = pq.read_table("all.parquet").to_pydict()
    assert table["retained_size"] == [210, 20, 120, 40, 50, 60, 0, 0]
    assert table["dominator"] == [0, 0, 0, 2, 2, 0, None, None]
    assert table["distance"] == [0, 1, 1, 2, 2, 1, None, None]
    assert table["name"][3] == PLAIN["strings"][3]


def test_graphs_that_are_no_heaps_are_refused(town):
    with pytest.raises(SystemExit, match=r"town\.gr: not a heap; dimacs has no sizes"):
        relaxometer("heap", town)


class StartedError(Exception):
    """Raised in place of the process that would be started."""


@pytest.fixture
def started(monkeypatch):
    """A list that holds the folder and the arguments of what was started."""
    calls: list = []

    def start(program, arguments):
        calls.extend([Path.cwd(), *arguments])
        raise StartedError

    monkeypatch.setattr(os, "execv", start)
    return calls


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run", "--cores all -- all"),
        ("run survey", "--cores all --configfile config/suites/survey.yaml -- all"),
        ("run ../my.yaml", "--cores all --configfile my.yaml -- all"),
        ("report survey", "--cores 1 --configfile config/suites/survey.yaml --report report.zip"),
    ],
)
def test_run_and_report_start_snakemake_in_the_root(tmp_path, monkeypatch, started, arguments, expected):
    for file in ("Snakefile", "config/config.yaml", "config/suites/survey.yaml", "my.yaml"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path / "config")
    with pytest.raises(StartedError):
        relaxometer(*arguments.split())
    assert started == [tmp_path, sys.executable, "-m", "snakemake", *expected.split()]


def test_a_suite_that_is_unknown_and_a_folder_without_workflow_are_one_line(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="is not inside a checkout of Relaxometer"):
        relaxometer("run")
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match=r"'surbey' is neither a file nor a suite; known suites: .*survey"):
        relaxometer("run", "surbey")
    assert not started


def test_a_reader_that_stops_early_sees_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "relaxometer.cli.command", "--help"]
    run = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (run.returncode, run.stderr) == (141, "")


def written() -> dict[Path, int]:
    """Return when each file was written that a program may replace, of the project or the current folder."""
    folders = ROOT / "config", ROOT / "docs", Path.cwd()
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def test_every_program_is_a_command(capsys):
    # Snakemake's profile runs the one that is left out, on Snakemake's own command line.
    files = {path.stem for path in Path(pick.__file__).parent.glob("[a-z]*.py")}
    assert {name.replace("-", "_") for name in COMMANDS} == files - {"check_configfiles", "command"}
    assert call([]) == 0
    assert re.findall("^  ([a-z-]+) ", capsys.readouterr().out, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize(
    ("argument", "code"), [("--help", 0), ("--no-such-option=1", 2)], ids=["help", "unknown"]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_how_it_is_called_and_changes_no_file(
    name, argument, code, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    LOCKS.mkdir(parents=True)
    (LOCKS / "0.output.lock").touch()
    before = written()
    with pytest.raises(SystemExit) as end:
        call([name, argument])
    assert end.value.code == code
    said = capsys.readouterr()
    if code:
        assert re.fullmatch(rf"error: .*; relaxometer {name} --help lists the options\n", said.err)
    else:
        assert said.out.startswith(f"usage: relaxometer {name} ")
    assert written() == before


@pytest.mark.parametrize(
    ("name", "said"),
    [("pikc", "unknown command 'pikc'; did you mean 'pick'?"), ("race!", "unknown command 'race!'; ")],
)
def test_an_unknown_command_is_one_line(name, said):
    with pytest.raises(SystemExit) as end:
        call([name])
    assert str(end.value.code).startswith(f"error: {said}")
    assert "\n" not in str(end.value.code)
