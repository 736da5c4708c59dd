"""Children are asked, and never outlive their deadline or their parent."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from relaxometer.core import supervision
from relaxometer.core.supervision import Child, ChildDied, DeadlinePassed, settle


def echo(link):
    for request in link.requests():
        link.reply(**request)


def is_alive(pid):
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def is_gone(pid):
    """Return whether a killed process ends; on a busy machine that takes a while."""
    end = time.monotonic() + 20
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def test_a_child_answers_with_arrays_behind_a_reply():
    sent = np.arange(100_000, dtype=np.uint32)

    def serve(link):
        link.reply()
        link.send_array(sent)
        link.send_array(sent[:5])

    with Child(echo) as child:
        assert child.ask(60, a=1) == {"a": 1}
        assert child.ask(60, b=[None]) == {"b": [None]}
    with Child(serve) as child:
        child.ask(60)
        received = np.empty_like(sent)
        child.receive_array(60, received)
        assert np.array_equal(received, sent)
        with pytest.raises(ChildDied, match="sent 20 bytes of 400000"):
            child.receive_array(60, received)


def test_a_child_that_raises_says_why(capfd):
    def serve(link):
        raise ValueError("odd")

    with Child(serve) as child, pytest.raises(ChildDied, match="exited with code 1"):
        child.ask(60)
    assert "ValueError: odd" in capfd.readouterr().err


def test_the_deadline_kills_the_child_and_all_that_it_started():
    def serve(link):
        started = subprocess.Popen(["sleep", "600"])
        link.reply(pid=started.pid)
        for _ in link.requests():
            time.sleep(600)

    with Child(serve) as child:
        grandchild = child.ask(60)["pid"]
        with pytest.raises(DeadlinePassed):
            child.ask(0.1, go=True)
    assert is_gone(grandchild)


def start_elsewhere(link):
    """Start a process in a session of its own, whose parent ends at once, and one that leaves its group."""
    lost = subprocess.run(["setsid", "sh", "-c", "sleep 600 >/dev/null & echo $!"], stdout=subprocess.PIPE)
    link.reply(pids=[int(lost.stdout), subprocess.Popen(["sleep", "600"], start_new_session=True).pid])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
@pytest.mark.parametrize("ends", ["well", "at its deadline", "with an error"])
def test_processes_that_left_the_group_are_killed_too(ends):
    bystander = subprocess.Popen(["sleep", "600"])

    def serve(link):
        start_elsewhere(link)
        for _ in link.requests():
            time.sleep(600)

    with suppress(DeadlinePassed, ZeroDivisionError), Child(serve) as child:
        with Child(echo) as other:  # as the proof while the contestant lives
            pids = child.ask(60)["pids"]
            assert other.ask(60, a=1) == {"a": 1}
        assert all(map(is_alive, pids))
        if ends == "at its deadline":
            child.ask(0.1, go=True)
        elif ends == "with an error":
            raise ZeroDivisionError
    assert not any(map(is_alive, pids))
    assert is_alive(bystander.pid)
    bystander.kill()
    bystander.wait()


def test_a_reply_cut_in_the_middle_does_not_hang():
    def serve(link):
        # The length of a message, and no message.
        os.write(link._connection.fileno(), (1000).to_bytes(4, "big"))
        time.sleep(600)

    with Child(serve) as child, pytest.raises(DeadlinePassed):
        child.ask(0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills children with their parent")
def test_a_child_dies_with_its_parent():
    program = """
import os, signal, time
from relaxometer.core import supervision
from relaxometer.core.supervision import Child
def serve(link):
    link.reply(pid=os.getpid())
    time.sleep(600)
child = Child(serve)
print(child.ask(60)["pid"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL
    assert is_gone(int(parent.stdout))


@pytest.mark.parametrize(("longest_s", "state"), [(60, "sleeping"), (0.1, "running")])
def test_a_busy_process_is_waited_for_but_not_for_long(monkeypatch, longest_s, state):
    monkeypatch.setattr(supervision, "SETTLE_S", longest_s)
    busy_s = 0.2 if state == "sleeping" else 60
    loop = "while time.process_time() < end: pass"
    code = f"import time\nprint(flush=True)\nend = time.process_time() + {busy_s}\n{loop}\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        settle(process.pid)
        assert psutil.Process(process.pid).status() == state
        process.kill()
