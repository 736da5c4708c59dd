"""``relaxometer.cli.unlock``: what a killed run leaves goes, what another run may need stays."""

import pytest

from relaxometer.cli import unlock
from relaxometer.plan.session import WITHDRAWN


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """A folder as a run leaves it that was killed after it had put results aside."""
    monkeypatch.chdir(tmp_path)
    unlock.LOCKS.mkdir(parents=True)
    (unlock.LOCKS / "0.output.lock").touch()
    aside = WITHDRAWN / "results" / "summary.csv"
    aside.parent.mkdir(parents=True)
    aside.touch()
    return tmp_path


def test_lock_and_withdrawn_results_of_a_killed_run_go(killed, capsys):
    unlock.main([])
    assert not unlock.LOCKS.exists()
    assert not WITHDRAWN.exists()
    assert "killed" in capsys.readouterr().out


def test_nothing_goes_while_another_run_is_at_work(killed, monkeypatch):
    monkeypatch.setattr(unlock, "at_work", lambda process: True)
    with pytest.raises(SystemExit, match="another run is at work"):
        unlock.main([])
    assert unlock.LOCKS.exists()
    assert WITHDRAWN.exists()
