"""What keeps ranks from starting or ends them, in one line each; needs no MPI."""

import os
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from relaxometer.core.environment import usable_cores
from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import launch, memory, watch
from relaxometer.distributed.process import load_mpi, share_cores
from relaxometer.distributed.transport import connect
from relaxometer.distributed.watch import ALIVE, LIMIT, SINCE, WORKING_S, Watch
from relaxometer.plan.models import RivalRun
from relaxometer.problems.dominators.cpu._on_cpu import cores_of
from relaxometer.race.entrant import threads_of


def test_a_missing_launcher_or_package_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"^mpirun is not on the PATH: install .*openmpi-bin[^\n]*$"):
        launch.launch(2, [])
    (tmp_path / "mpirun").touch(mode=0o755)
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"^mpi4py is not installed; install it with: [^\n]* mpi4py==[\d.]+$"):
        launch.launch(2, [])


def test_all_cores_count_where_none_can_be_forbidden(monkeypatch):
    """As on macOS, which has no affinity of processes."""
    monkeypatch.setattr(launch, "obstacle", lambda: None)
    monkeypatch.delattr(os, "sched_getaffinity")
    shares = []
    monkeypatch.setattr("numba.set_num_threads", shares.append)
    usable_cores.cache_clear()
    cores = os.cpu_count()
    try:
        with pytest.raises(UserError, match=rf"^{cores + 1} ranks on {cores} cores: .*--oversubscribe$"):
            launch.launch(cores + 1, [])
        rival = RivalRun.model_construct(kind="cpu-all", threads=None)
        assert threads_of(rival) == cores
        share_cores(cores)
        assert shares == [1]
        assert cores_of("all") == min(cores, numba.config.NUMBA_NUM_THREADS)
    finally:
        usable_cores.cache_clear()


def test_ranks_are_not_bound_to_cores(monkeypatch, tmp_path):
    program = tmp_path / "mpirun"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(launch, "obstacle", lambda: None)
    assert launch.launch(1, ["--problem", "bfs"]) == 0
    arguments = (tmp_path / "arguments").read_text()
    assert arguments.startswith("--bind-to none ")
    assert arguments.endswith("relaxometer.distributed.run --problem bfs\n")


def test_a_missing_library_is_reported_in_one_line(monkeypatch):
    def absent(name):
        if name == "mpi4py.MPI":
            raise ImportError("No module named 'mpi4py'")
        return SimpleNamespace(available=False)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(UserError, match=r"^transport nccl: [^\n]*nvidia-nccl-cu13[^\n]*--transport mpi$"):
        connect(SimpleNamespace())
    with pytest.raises(UserError, match=r"^searches over several ranks need MPI: [^\n]*mpi4py[^\n]*$"):
        load_mpi()


GB = 1_000_000_000


@pytest.mark.parametrize(
    ("n_ranks", "scale", "free", "error"),
    [
        (1, 28, 80 * GB, None),
        (2, 28, 80 * GB, None),
        (2, 31, 139 * GB, r"^graph kron:31 needs about \d+ GB on each of 2 ranks, .*kron:29 fits$"),
        (2, 20, 1000, r"no scale fits$"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused_with_the_scale_that_fits(
    monkeypatch, n_ranks, scale, free, error
):
    monkeypatch.setattr(memory, "_free_bytes", lambda ranks: free)
    ranks = SimpleNamespace(size=n_ranks, reduce=lambda numbers, operation: numbers)
    with pytest.raises(UserError, match=error) if error else nullcontext():
        memory.refuse_too_large(ranks, "hybrid-peers", f"{n_ranks}x1", Graph500Parameters(scale=scale))


def watch_of(rank: int, size: int) -> Watch:
    """Return the watch of a rank without a job or a thread; `_reason` is all that it can do."""
    made = object.__new__(Watch)
    made._me, made._names, made._size, made._kind = rank, list(range(size)), size, "host"
    return made


@pytest.mark.parametrize(
    ("idle_s", "reason"),
    [
        (watch.INTERVAL_S, None),
        (WORKING_S - 1, None),
        (WORKING_S + 1, "rank 1 of 2 hangs: no progress for 601 s"),
    ],
)
def test_a_rank_that_has_not_begun_hangs_only_after_a_while(idle_s, reason):
    """Its row is empty: it has not yet noted how long it may take."""
    now = time.monotonic()
    page = np.zeros((2, 4))
    page[0, SINCE], page[0, LIMIT], page[0, ALIVE] = now - idle_s, WORKING_S, now
    assert watch_of(0, 2)._reason(page, np.full(2, idle_s), now) == reason
