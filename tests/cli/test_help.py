"""Programs of the command line say how they are called, and do nothing else then."""

import importlib
import sys
from pathlib import Path

import pytest

import relaxometer.cli
from relaxometer.core.occupancy import LOCKS

ROOT = Path(__file__).parents[2]
# Snakemake's profile runs the other one, on Snakemake's own command line.
PROGRAMS = sorted(
    {path.stem for path in Path(relaxometer.cli.__file__).parent.glob("[a-z]*.py")}
    - {"check_configfiles", "command"}
)


def written() -> dict[Path, int]:
    """Return when each file was written that a program may replace, of the project or the current folder."""
    folders = ROOT / "config", ROOT / "docs", Path.cwd()
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("argument", "code"), [("--help", 0), ("--no-such-option", 2)], ids=["help", "unknown"]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_says_how_it_is_called_and_changes_no_file(
    program, argument, code, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    LOCKS.mkdir(parents=True)
    (LOCKS / "0.output.lock").touch()
    monkeypatch.setattr(sys, "argv", [program, argument])
    before = written()
    with pytest.raises(SystemExit) as end:
        importlib.import_module(f"relaxometer.cli.{program}").main()
    assert end.value.code == code
    said = capsys.readouterr()
    called = (
        f"relaxometer {program}" if program in ("pick", "solve") else f"python -m relaxometer.cli.{program}"
    )
    assert (said.err if code else said.out).startswith(f"usage: {called} ")
    assert written() == before
