"""Every command says how it is called, and does nothing else then."""

import re
from pathlib import Path

import pytest

import relaxometer.cli
from relaxometer.cli.command import COMMANDS, call
from relaxometer.core.occupancy import LOCKS

ROOT = Path(__file__).parents[2]


def written() -> dict[Path, int]:
    """Return when each file was written that a program may replace, of the project or the current folder."""
    folders = ROOT / "config", ROOT / "docs", Path.cwd()
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def test_every_program_is_a_command(capsys):
    # Snakemake's profile runs the one that is left out, on Snakemake's own command line.
    files = {path.stem for path in Path(relaxometer.cli.__file__).parent.glob("[a-z]*.py")}
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
