"""The lock of a killed run goes, that of one at work stays."""

import signal
import subprocess
import sys

import pytest

from relaxometer.core import occupancy

AT_WORK = "from relaxometer.core.occupancy import occupy; occupy(); print('here', flush=True); input()"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    occupancy.LOCKS.mkdir(parents=True)
    (occupancy.LOCKS / "0.output.lock").touch()


def test_a_lock_stays_until_the_last_process_at_work_has_been_killed():
    command = [sys.executable, "-c", AT_WORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"here\n"
        assert not occupancy.forget_killed_run()
        assert occupancy.LOCKS.exists()
        process.send_signal(signal.SIGKILL)
    assert occupancy.forget_killed_run()
    assert not occupancy.LOCKS.exists()
    assert not occupancy.forget_killed_run()


def test_a_folder_without_permission_is_left_to_the_workflow(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(occupancy.os, "open", refuse)
    occupancy.occupy()
    assert not occupancy.forget_killed_run()
