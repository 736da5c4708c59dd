"""Where Numba keeps compiled functions, and how processes share them."""

import os
import shutil
import subprocess
import sys
import threading

import pytest
from numba.core.caching import IndexDataCacheFile

from faults import can_mount, under_faults
from relaxometer.core import cache, compiled
from relaxometer.core.errors import UserError

COMPILE = """
import numpy as np
from relaxometer.core.cache import let_numba_write
let_numba_write()
from relaxometer.graphs.components import component_labels
print(component_labels(np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.uint32))[0])
"""


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces")
def test_numba_compiles_where_only_the_cache_can_be_written(tmp_path):
    package, home, kept = (tmp_path / name for name in ("relaxometer", "home", "cache"))
    shutil.copytree(cache.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    given = {"HOME": str(home), "RELAXOMETER_CACHE": str(kept), "PYTHONPATH": str(tmp_path)}
    left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    env = {name: value for name, value in os.environ.items() if name not in left_out} | given
    command = under_faults([sys.executable, "-c", COMPILE], read_only=[package, home])
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "3\n", done.stderr
    assert list((kept / "numba").rglob("components.component_labels*.nbi"))


def test_a_folder_that_is_set_or_can_be_written_stays(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    cache.let_numba_write()
    assert "NUMBA_CACHE_DIR" not in os.environ
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/mine")
    monkeypatch.setattr(os, "access", lambda *_: False)
    cache.let_numba_write()
    assert os.environ["NUMBA_CACHE_DIR"] == "/mine"


def test_without_any_folder_the_error_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("RELAXOMETER_CACHE", str(tmp_path / "file/cache"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match=r"cannot write compiled functions to .*; set RELAXOMETER_CACHE"):
        cache.let_numba_write()


def test_the_next_process_finds_the_compiled_search(tmp_path):
    """A function with compiled ones in its closure would be compiled, and kept, by every process."""
    script = (
        "import numpy as np\n"
        "from relaxometer.problems.sssp.dijkstra._heap import search\n"
        "nothing = np.zeros(0, dtype=np.uint32)\n"
        "search(np.zeros(2, dtype=np.int64), nothing, nothing, nothing, np.uint32(0), None)\n"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(cache.PACKAGE.parent)}
    kept = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script], env=env, check=True)
        kept.append(sorted(tmp_path.rglob("*.nbc")))
    assert kept[0]
    assert kept[1] == kept[0]


def test_versions_of_a_function_that_two_processes_keep_at_once_are_not_mixed_up(tmp_path, monkeypatch):
    """Both read the empty index; the second writes both files between index and function of the first."""
    first, second, later = (IndexDataCacheFile(str(tmp_path), "function", "stamp") for _ in range(3))
    read, indexed, kept = (threading.Event() for _ in range(3))

    def then_tell(method, event):
        def call(*arguments):
            found = method(*arguments)
            event.set()
            return found

        return call

    def after(event, method):
        def call(*arguments):
            event.wait(0.5)
            return method(*arguments)

        return call

    monkeypatch.setattr(second, "_load_index", then_tell(second._load_index, read))
    monkeypatch.setattr(second, "_save_index", after(indexed, second._save_index))
    monkeypatch.setattr(second, "_save_data", then_tell(second._save_data, kept))
    monkeypatch.setattr(first, "_save_index", then_tell(after(read, first._save_index), indexed))
    monkeypatch.setattr(first, "_save_data", after(kept, first._save_data))
    jobs = [
        threading.Thread(target=file.save, args=(key, f"compiled for {key}"))
        for file, key in ((first, "float32"), (second, "uint32"))
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [later.load(key) for key in ("float32", "uint32")] == [
        "compiled for float32",
        "compiled for uint32",
    ]


def test_compiled_functions_are_read_where_no_lock_can_be_written(tmp_path):
    IndexDataCacheFile(str(tmp_path), "function", "stamp").save("uint32", "compiled")
    (tmp_path / compiled.LOCK).unlink()
    (tmp_path / compiled.LOCK).mkdir()
    assert IndexDataCacheFile(str(tmp_path), "function", "stamp").load("uint32") == "compiled"
