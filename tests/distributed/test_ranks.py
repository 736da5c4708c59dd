"""Searches over 1, 2, 4 and 8 ranks on the host device, compared with searches of the whole graph."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent, indent
from types import SimpleNamespace

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from relaxometer.device import cuda, get_device
from relaxometer.distributed import hybrid_2d, process, run
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.launch import launch, obstacle
from relaxometer.graphs.graph import write_graph
from sample_graphs import sample_graphs

pytestmark = [pytest.mark.mpi, pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))]

ROOT = Path(__file__).parents[2]
SMALL = ("one-vertex", "two-islands", "one-way", "hub", "parallel-arcs", "random-directed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small graphs."""
    path = tmp_path_factory.mktemp("graphs")
    for name in (*SMALL, "zero-weights", "heavy", "grid"):
        write_graph(sample_graphs()[name], path / name)
    return path


def run_on(n_ranks: int, *arguments: str) -> subprocess.CompletedProcess:
    options = ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    return subprocess.run(
        ["mpirun", *options, "-n", str(n_ranks), sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        timeout=300,
        check=False,
    )


CASES = {
    1: [
        *(f"allocated,{engine}" for engine in ("bfs,hybrid-2d", "bfs,hybrid-peers")),
        *(f"allocated,{engine}" for engine in ("sssp,sssp-1d", "sssp,sssp-peers")),
        *("numbered,kron-9,900", "numbered,kron-9,1000000"),
        *("rows,1x1", "bfs,one-vertex,1x1", "bfs,kron-9,1x1", "sssp,grid,delta=200"),
        "bfs,grid,1x1,engine=peers",
    ],
    2: [
        *(f"rows,{scheme}" for scheme in ("2x1", "1x2", "paired", "2x1-dealt")),
        *(f"bfs,{graph},paired" for graph in SMALL),
        *("bfs,random-directed,1x2", "bfs,kron-9,paired", "bfs,grid,2x1,messages=compressed"),
        "bfs,kron-9,2x1,engine=peers,alpha=1000000,patience=0,beta=0.001",
        *(f"sssp,{graph}" for graph in ("one-vertex", "one-way", "parallel-arcs", "random-directed")),
        *("sssp,kron-9,local_phases=3", "sssp,heavy,engine=peers"),
        *(f"sssp,{graph},engine=peers" for graph in ("one-vertex", "random-directed", "zero-weights")),
        *("numbered,heavy,100", "numbered,random-directed,1", "corrupt-sssp"),
        *("wrapped,bfs,hybrid-peers,kron-9", "wrapped,sssp,sssp-peers,kron-9"),
    ],
    4: [
        *("rows,2x2", "rows,4x1"),
        *("bfs,random-directed,2x2", "bfs,kron-9,2x2,parents=level,messages=compressed"),
        *("bfs,kron-9,4x1,cpu_share=0.25", "bfs,kron-9,2x2,cpu_share=0.5,parents=end"),
        *("bfs,random-directed,1x4,cpu_share=1", "bfs,kron-9,1x4", "bfs,hub,4x1,alpha=1000000"),
        *(
            "bfs,random-directed,4x1,engine=peers",
            "bfs,hub,4x1,engine=peers,alpha=1000000,hubs=32,threshold=0",
        ),
        *("sssp,random-directed", "sssp,zero-weights,local_phases=4", "sssp,kron-9,engine=peers"),
        *("sssp,random-directed,engine=peers,beta=0.001", "sssp,random-directed,engine=peers,beta=100000"),
        "corrupt-bfs",
    ],
    8: [
        *("bfs,kron-10,paired,parents=level,messages=compressed", "bfs,random-directed,paired"),
        *("bfs,one-way,4x2", "bfs,kron-9,8x1,engine=peers", "sssp,kron-9,engine=peers,beta=100000"),
    ],
}


@pytest.mark.parametrize("n_ranks", CASES)
def test_answers_are_right_and_certified(folder, n_ranks):
    cases = CASES[n_ranks]
    result = run_on(n_ranks, str(Path(__file__).with_name("ranks.py")), str(folder), *cases)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"ok {case.replace(',', ' ')}" for case in cases]


def test_the_program_writes_its_tables(tmp_path, capfd):
    out = tmp_path / "out"
    arguments = ["--problem", "bfs", "--graph", "kron:7", "--roots", "2", "--device", "host", "--levels"]
    assert launch(2, [*arguments, "--scheme", "paired", "--out", str(out)], oversubscribe=True) == 0
    times = pq.read_table(out / "times.parquet").to_pylist()
    assert [row["status"] for row in times] == ["ok"] * 2
    assert all(row["teps"] == pytest.approx(row["input_edges"] / row["time_ms"] * 1e3) for row in times)
    levels = pq.read_table(out / "levels.parquet").to_pandas()
    sums = levels.groupby("source")["sent_bytes"].sum()
    assert all(row["sent_bytes"] == sums[row["source"]] > 0 for row in times)
    assert pq.read_table(out / "certificates.parquet")["holds"].to_pylist() == [True] * 2
    context = json.loads((out / "run.json").read_text())
    assert context["parameters"]["scheme"] == "paired"
    assert context["graph"]["input_edges"] == 16 << 7
    assert [*context["forecast_bytes"]] == ["building", "preparing", "searching", "proving"]
    assert re.fullmatch(r"memory of a rank: forecast 0\.\d+ GB \(building\)\n", capfd.readouterr().out)
    assert np.sum([block["arcs"] for block in context["blocks"]]) == context["graph"]["arcs"]


@pytest.mark.gpu
@pytest.mark.parametrize("n_ranks", [1, 2])
def test_every_engine_proves_its_answers_on_gpus(tmp_path, n_ranks, capfd):
    """The ranks of `CASES` run in the emulation."""
    if reason := cuda.obstacle():
        pytest.skip(reason)
    if get_device("cuda").xp.cuda.runtime.getDeviceCount() < n_ranks:
        pytest.skip(f"needs {n_ranks} GPUs")
    graph = tmp_path / "random"
    write_graph(sample_graphs()["random-directed"], graph)
    runs = [(problem, engine) for problem, engines in ENGINES.items() for engine in engines]
    graphs = ("kron:12", str(graph))
    lines = [
        f"--problem {problem} --engine {engine} --graph {name} --roots 4 --levels --device cuda "
        f"--out {tmp_path}/{engine}-{number}"
        for problem, engine in runs
        for number, name in enumerate(graphs)
    ]
    (tmp_path / "runs.txt").write_text("\n".join(lines))
    assert launch(n_ranks, [str(tmp_path / "runs.txt")], program="several", oversubscribe=True) == 0
    said = capfd.readouterr().out
    assert ("one GPU has room for this engine, too; compare push-pull there" in said) == (n_ranks > 1)
    times = [row for out in tmp_path.glob("*/times.parquet") for row in pq.read_table(out).to_pylist()]
    assert {row["status"] for row in times} == {"ok"}
    assert len(times) == len(lines) * 4


@pytest.mark.parametrize(
    ("sent", "reason"),
    [(signal.SIGKILL, "signal 9"), (signal.SIGSTOP, "rank 1 of 2 has stopped: no progress for ")],
)
def test_a_rank_that_dies_or_stops_ends_the_job_with_one_line_and_no_answer(tmp_path, sent, reason):
    """The second rank of an endless job gets a signal from outside."""
    out = tmp_path / "out"
    arguments = ["--problem", "bfs", "--graph", "kron:12", "--repetitions", "100000", "--device", "host"]
    command = [sys.executable, "-m", "relaxometer.distributed.launch", "--ranks", "2", "--oversubscribe"]
    process = subprocess.Popen(
        [*command, *arguments, "--patience-s", "2", "--out", str(out)], stderr=subprocess.PIPE, text=True
    )
    ranks = watched_below(process.pid, 2)
    ranks[1].send_signal(sent)
    begin = time.monotonic()
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        lingering = [rank for rank in ranks if rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE]
        for rank in lingering:
            rank.kill()
    assert not lingering
    assert time.monotonic() - begin < 30
    assert process.returncode != 0
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert reason in lines[0]
    assert not out.exists()


@pytest.mark.parametrize("local_rank", [0, 1])
def test_a_rank_that_waits_for_compiled_code_is_marked_as_waiting(local_rank):
    marked, met = [], []

    @contextmanager
    def waiting():
        marked.append(True)
        yield
        marked.clear()

    ranks = object.__new__(Ranks)
    ranks.local_rank, ranks.watch = local_rank, SimpleNamespace(waiting=waiting)
    ranks._host = SimpleNamespace(Barrier=lambda: met.append(list(marked)))
    with ranks.first_on_host():
        assert len(met) == local_rank
    assert met == [[True]]


def watched_below(pid: int, n_ranks: int) -> list[psutil.Process]:
    """Wait until all ranks are watched by each other; return their processes."""
    for _ in range(600):
        below = psutil.Process(pid).children(recursive=True)
        ranks = [one for one in below if "relaxometer-ranks-" in Path(f"/proc/{one.pid}/maps").read_text()]
        if len(ranks) == n_ranks:
            return sorted(ranks, key=lambda rank: rank.pid)
        time.sleep(0.1)
    raise AssertionError("the ranks did not get so far")


def test_a_mistake_is_reported_in_one_line(tmp_path, capfd):
    """By rank 0 only; test_arguments.py has other mistakes."""
    out = tmp_path / "out"
    arguments = ["--problem", "bfs", "--graph", "kron:8", "--device", "host", "--out", str(out)]
    assert launch(2, [*arguments, "--scheme", "3x2"], oversubscribe=True) != 0
    assert capfd.readouterr().err == "error: scheme 3x2 needs 6 ranks, given 2\n"
    assert not out.exists()


START = """
import os, signal, time
import numpy as np
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import hybrid_peers, process
from relaxometer.distributed.certify import Certifier
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.graph500 import kronecker_block
process.PATIENCE_S["host"] = 1

def block_of(ranks, scheme, weighted):
    return kronecker_block(ranks, scheme, Graph500Parameters(scale=6), weighted=weighted)

with process.ending_together():
    ranks = Ranks("host")
"""


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (
            """
            if ranks.rank == 1:
                raise ValueError("no such thing")
            ranks.barrier()
            """,
            "rank 1 of 2: ValueError: no such thing",
        ),
        (
            """
            block = block_of(ranks, "1x2", True)
            certifier = Certifier(ranks, block, "sssp")
            ranks.barrier()
            if ranks.rank == 1:
                os.kill(os.getpid(), signal.SIGSTOP)
            certifier._look_up(np.zeros(block.owned.size, np.int64), np.zeros(1, np.int64))
            """,
            "rank 1 of 2 has stopped: no progress for ",
        ),
        (
            """
            solver = hybrid_peers.Solver(ranks, block_of(ranks, "2x1", False), hybrid_peers.Parameters())
            time.sleep(100 * ranks.rank)
            solver.solve(0)
            """,
            "rank 1 of 2 did not arrive at a barrier between the GPUs within 1 s",
        ),
    ],
    ids=["fails", "stops during a proof", "misses a barrier"],
)
def test_a_rank_that_fails_ends_all_with_one_line(tmp_path, program, line):
    file = tmp_path / "program.py"
    file.write_text(START + indent(dedent(program), "    "), encoding="utf-8")
    result = run_on(2, str(file))
    assert result.returncode != 0
    (error,) = (said for said in result.stderr.splitlines() if said.startswith("error: "))
    assert error.startswith(f"error: {line}")


@pytest.mark.parametrize("further", [[], ["--no-verdict"]])
def test_the_program_fails_if_an_answer_is_wrong(tmp_path, monkeypatch, capsys, further):
    right = hybrid_2d.Solver.solve

    def wrong(self, source, levels=None):
        answer = right(self, source, levels)
        answer.level[answer.level == 2] = 3
        return answer

    monkeypatch.setattr(hybrid_2d.Solver, "solve", wrong)
    arguments = ["--problem", "bfs", "--graph", "kron:6", "--roots", "1", "--device", "host", "--warmup", "0"]
    code = 0
    try:
        run.main([*arguments, *further, "--out", str(tmp_path)])
    except SystemExit as error:
        code = error.code
    said = capsys.readouterr().err
    assert pq.read_table(tmp_path / "times.parquet")["status"].to_pylist() == ["invalid"], (
        "the tables are there"
    )
    assert code == (0 if further else 1)
    assert ("is invalid: rule " in said) == (not further)


def test_a_run_leaves_its_patience_and_explanations_to_no_other():
    before = dict(process.PATIENCE_S)
    with process.patience(7):
        process.explanations.append(lambda: "too late")
        assert set(process.PATIENCE_S.values()) == {7}
    assert before == process.PATIENCE_S
    assert process.explanations == []
