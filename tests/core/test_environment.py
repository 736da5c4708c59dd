"""What a run inherits from its user's environment, and commands that install a missing package."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from relaxometer.core.environment import HARMFUL, how_to_install, python_obstacle
from relaxometer.core.errors import UserError
from relaxometer.problems.problem import import_own

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("package", ["pyarrow", "mpi4py"])
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
    assert how_to_install("pyarrow").startswith("; install it with: .venv/bin/python -m pip install 'pyarrow")
    assert how_to_install("numppy") == "", "the project does not name it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import pyarrow", "pyarrow.*; install it with: .* -m pip install 'pyarrow"),
        ("import numppy", "ModuleNotFoundError: No module named 'numppy'$"),
        ("raise ValueError", "ValueError: no reason given$"),
        ("raise SystemExit(3)", "SystemExit: 3$"),
    ],
)
def test_a_kernel_that_cannot_be_imported_is_one_line(monkeypatch, tmp_path, text, message):
    name = f"own_{len(text)}"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=rf"^{tmp_path}/{name}\.py:1: .*{message}"):
        import_own(name)


OF_THE_USER = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "NUMBA_DISABLE_JIT": "1",
    "PIP_TARGET": "elsewhere",
    "PIP_USER": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def test_a_workflow_does_not_pass_on_what_would_harm_its_jobs(tmp_path):
    assert OF_THE_USER.keys() == HARMFUL.keys()
    (tmp_path / "probe.smk").write_text(
        f"include: {str(ROOT / 'Snakefile')!r}\nrule probe:\n    shell: 'env > names'\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--profile", "none", "-s", "probe.smk"]
    subprocess.run([*command, "probe"], cwd=tmp_path, env=os.environ | OF_THE_USER, check=True)
    names = {line.partition("=")[0] for line in (tmp_path / "names").read_text().splitlines()}
    assert "PATH" in names
    assert not names & HARMFUL.keys()


def test_a_program_compiles_what_the_user_has_others_interpret():
    text = "import relaxometer.cli.all_runs; from numba import config; print(config.DISABLE_JIT)"
    done = subprocess.run(
        [sys.executable, "-c", text], env=os.environ | OF_THE_USER, cwd=ROOT, check=True, capture_output=True
    )
    assert done.stdout == b"0\n"


def test_make_installs_into_its_own_environment(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    command = ["make", "--no-print-directory", "--eval=names: ; @env", "names"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PIP_USER": "1"}, check=True, capture_output=True, text=True
    )
    assert "PATH=" in done.stdout
    assert "PIP_USER=" not in done.stdout


def test_a_python_that_snakemake_cannot_start_is_named(monkeypatch):
    assert python_obstacle() is None
    monkeypatch.setattr(sys, "executable", "/my clone/.venv/bin/python")
    assert python_obstacle().startswith("/my clone/.venv/bin/python: Snakemake cannot start jobs")


def test_a_folder_with_a_space_is_refused_at_set_up(tmp_path):
    folder = tmp_path / "my clone"
    folder.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "workflow/envs", folder / "workflow/envs")
    done = subprocess.run(["make", "run"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if "***" in line]
    assert 'my clone", whose path has a space; move the clone' in line
    assert not (folder / ".venv").exists()
