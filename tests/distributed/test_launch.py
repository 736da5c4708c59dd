"""Messages if ranks cannot be started; needs no MPI."""

import os
from types import SimpleNamespace

import numba
import pytest

from relaxometer.core.environment import usable_cores
from relaxometer.core.errors import UserError
from relaxometer.distributed import launch
from relaxometer.distributed.process import load_mpi, share_cores
from relaxometer.distributed.transport import connect
from relaxometer.plan.models import RivalRun
from relaxometer.problems.dominators.cpu._on_cpu import cores_of
from relaxometer.race.entrant import threads_of


def test_a_missing_launcher_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"^mpirun is not on the PATH: install .*openmpi-bin[^\n]*$"):
        launch.launch(2, [])


def test_a_missing_package_is_reported_in_one_line(monkeypatch, tmp_path):
    program = tmp_path / "mpirun"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
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
