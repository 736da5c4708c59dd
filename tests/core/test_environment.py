"""Commands that install a missing package."""

import shlex
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from relaxometer.core.environment import how_to_install
from relaxometer.core.errors import UserError
from relaxometer.problems.problem import import_own

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("package", ["pymetis", "mpi4py"])
def test_the_command_installs_the_locked_version_with_the_python_that_runs(package):
    command = shlex.split(how_to_install(package).removeprefix("; install it with: "))
    assert Path(command[0]).absolute() == Path(sys.executable)
    assert command[1:4] == ["-m", "pip", "install"]
    [wanted] = map(Requirement, command[4:])
    assert wanted.name == package
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = [line for line in lock if line.startswith(f"{package}==")]
    assert locked or package == "mpi4py"  # which is built for the machine's MPI
    assert all(wanted.specifier.contains(line.partition("==")[2].split()[0]) for line in locked)


def test_a_python_below_the_working_folder_is_shown_as_make_names_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    assert how_to_install("pymetis").startswith("; install it with: .venv/bin/python -m pip install 'pymetis")
    assert how_to_install("numppy") == "", "the project does not name it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import pymetis", "pymetis.*; install it with: .* -m pip install 'pymetis"),
        ("import numppy", "ModuleNotFoundError: No module named 'numppy'$"),
        ("raise ValueError", "ValueError: no reason given$"),
        ("raise SystemExit(3)", "SystemExit: 3$"),
    ],
)
def test_a_kernel_that_cannot_be_imported_is_one_line(monkeypatch, tmp_path, text, message):
    name = f"own_{len(text)}"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(UserError, match=rf"^{tmp_path}/{name}\.py:1: .*{message}"):
        import_own(name)
