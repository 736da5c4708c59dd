"""A copy of the workflow to run in, with a tiny map and a tiny configuration."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "workflow", "config", "resources", "profiles")
PACKAGE = Path("src/relaxometer")
"""A link to the checkout's until a test asks for a file of it: kernels are compiled once for each path."""

TINY = {
    "device": "host",
    "datasets": {
        "tiny": {
            "format": "dimacs",
            "path": "tiny.gr",
            "license": "CC0-1.0",
            "weight_unit": "metres",
        }
    },
    "timing": {"sources": 3, "repetitions": 2, "rounds": 1, "warmup": 1, "calls": 1},
    "sssp": {"graphs": ["tiny"], "only": ["conventional", "selection", "adaptive", "dijkstra-cpu"]},
    "bfs": {"graphs": []},
    "report": {"maps": []},
}
UNDRAWN = {**TINY, "report": {"papers": [], "maps": []}}
"""A run whose report has no figures of papers."""
ONCE = {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0, "calls": 1}
"""Timing of a run whose times do not matter."""


def only(*names: str, **section: dict | list) -> dict:
    """Return a section of sssp in which these variants and rivals run on the tiny map."""
    return {"graphs": ["tiny"], "only": [*names], **section}


def write_tiny_map(path: Path) -> None:
    """A street grid of 12 x 9 as a DIMACS file, both directions listed."""
    rng = np.random.default_rng(2)
    ids = np.arange(12 * 9).reshape(12, 9) + 1
    pairs = [*zip(ids[:, :-1].ravel(), ids[:, 1:].ravel(), strict=True)]
    pairs += [*zip(ids[:-1].ravel(), ids[1:].ravel(), strict=True)]
    lines = ["c a street grid", f"p sp {ids.size} {2 * len(pairs)}"]
    for (u, v), weight in zip(pairs, rng.integers(1, 90, len(pairs)), strict=True):
        lines += [f"a {u} {v} {weight}", f"a {v} {u} {weight}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def without_rivals(config: dict) -> dict:
    """Return an overlay that leaves out the default rivals too, which come from the network."""
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    sections = {}
    for problem, section in default.items():
        if isinstance(section, dict) and "rivals" in section:
            own = config.get(problem, {})
            rivals = dict.fromkeys(section["rivals"], False) | own.get("rivals", {})
            sections[problem] = own | {"rivals": rivals}
    return config | sections


class Workflow:
    """A copy of the workflow in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / part)
        (folder / PACKAGE.parent).mkdir()
        (folder / PACKAGE).symlink_to(ROOT / PACKAGE)
        write_tiny_map(folder / "tiny.gr")
        self.configure(TINY)

    @classmethod
    def at(cls, folder: Path) -> Workflow:
        """Return the copy that is already in a folder."""
        workflow = cls.__new__(cls)
        workflow.folder = folder
        return workflow

    def _copy_package(self) -> None:
        """Replace the link to the checkout's package by a copy.

        Copies use the checkout's caches of Python and Numba, which check a file's date.
        """
        (self.folder / PACKAGE).unlink()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / PACKAGE, self.folder / PACKAGE, ignore=ignored)
        for cache in (ROOT / PACKAGE).rglob("__pycache__"):
            (self.folder / cache.relative_to(ROOT)).symlink_to(cache)

    def configure(self, config: dict, name: str = "tiny.yaml") -> None:
        """Write an overlay without the default rivals; every run takes that of the default name."""
        (self.folder / name).write_text(yaml.safe_dump(without_rivals(config)), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a run."""
        base = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", "tiny.yaml"]
        return [*base, *arguments]

    def run(
        self, *arguments: str, check: bool = True, timeout_s: float = 600, verbose: bool = False
    ) -> subprocess.CompletedProcess:
        """Run Snakemake; with `check`, a failure shows its whole output."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment() | {"VERBOSE": str(int(verbose))},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if check and done.returncode:
            pytest.fail(f"snakemake failed:\n{done.stdout}\n{done.stderr}\n{self.log()}")
        return done

    def environment(self) -> dict[str, str]:
        """Return the environment of a run, in which a package of this copy precedes the installed one."""
        own = {} if (self.folder / PACKAGE).is_symlink() else {"PYTHONPATH": str(self.path("src"))}
        return environment() | own

    def frame(self, name: str, index: str | list[str] | None = None) -> pd.DataFrame:
        """Return a table of the results, CSV or Parquet, indexed by columns if some are named."""
        file = self.path(f"results/{name}")
        frame = pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
        return frame if index is None else frame.set_index(index)

    def text(self, name: str) -> str:
        """Return the content of a file of the results."""
        return self.path(f"results/{name}").read_text(encoding="utf-8")

    def summary(self) -> pd.DataFrame:
        """Return the lines of the summary by variant."""
        return self.frame("summary.csv", "variant")

    def log(self) -> str:
        """Return what Snakemake and the jobs of the last run wrote while they had no screen."""
        log = self.folder / "logs/run.log"
        return log.read_text(encoding="utf-8") if log.is_file() else ""

    def jobs_to_run(
        self, config: dict | None = None, targets: Sequence[str] = ("all",)
    ) -> set[tuple[str, str]]:
        """Return (rule, variant) that a dry run would do, with `config` as the overlay if given."""
        name = "tiny.yaml"
        if config is not None:
            text = yaml.safe_dump(config)
            name = f"tiny-{hashlib.sha256(text.encode()).hexdigest()[:8]}.yaml"
            self.configure(config, name)
        text = self.run("--configfile", name, "--dry-run", "--quiet", "progress", "--", *targets).stdout
        jobs = set()
        rule = ""
        for line in text.splitlines():
            if line.startswith(("rule ", "localrule ")):
                rule = line.split()[1].rstrip(":")
                jobs.add((rule, ""))
            elif "wildcards:" in line and "variant=" in line:
                jobs.discard((rule, ""))
                jobs.add((rule, line.split("variant=")[1].split(",")[0].strip()))
        return jobs

    def path(self, name: str) -> Path:
        """Return a file of this copy, which may be written."""
        if Path(name).is_relative_to(PACKAGE) and (self.folder / PACKAGE).is_symlink():
            self._copy_package()
        return self.folder / name


def run_once(
    tmp_path_factory: pytest.TempPathFactory, name: str, run: Callable[[Workflow], None]
) -> Workflow:
    """Return a copy of the workflow on which `run` has been called, by whichever test process came first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    copy = folder / f"finished-{name}"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (copy / "finished").exists():
            return Workflow.at(copy)
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        workflow = Workflow(copy)
        run(workflow)
        (copy / "finished").touch()
        return workflow


def copied(finished: Workflow, folder: Path) -> Workflow:
    """Return a copy of a finished run, to be changed and run again."""
    shutil.copytree(finished.folder, folder, dirs_exist_ok=True, symlinks=True)
    return Workflow.at(folder)


def environment() -> dict[str, str]:
    """Return the environment of a run: Snakemake's own cache and ours, no mirrors of the caller."""
    return {key: value for key, value in os.environ.items() if key != "RELAXOMETER_DATA_MIRRORS"}
