"""Where Numba keeps compiled functions, and how processes share them."""

import os
import shutil
import subprocess
import sys

import pytest

from faults import can_mount, under_faults
from relaxometer.core import cache
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


CONSTANTS = """
from relaxometer.core.compiled import njit

@njit(cache=True)
def callee(value):
    return value + 1

@njit(cache=True)
def caller(value):
    return callee(1) + callee(2) + callee(value)

print(caller(3), len(callee.signatures))
"""

COMPILE_SLOWLY = """
import sys, time
import numpy as np
from numba.core.caching import IndexDataCacheFile
from relaxometer.graphs.components import component_labels

save_index = IndexDataCacheFile._save_index

def slowly(*arguments):
    time.sleep(0.5)
    save_index(*arguments)

IndexDataCacheFile._save_index = slowly
for types in sys.argv[1:]:
    offsets, targets = types.split(",")
    component_labels(np.zeros(4, dtype=offsets), np.zeros(0, dtype=targets))
print(sum(component_labels._cache_misses.values()))
"""


def compiled_at_once(folder, *types):
    """Return how often processes, each with types, compiled a function when they started together."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(cache.PACKAGE.parent)}
    command = [sys.executable, "-c", COMPILE_SLOWLY]
    started = [
        subprocess.Popen([*command, *some], env=env, stdout=subprocess.PIPE, text=True) for some in types
    ]
    return sorted(int(process.communicate()[0]) for process in started)


def test_a_process_waits_for_what_another_one_compiles(tmp_path):
    assert compiled_at_once(tmp_path, ["int64,uint32"], ["int64,uint32"]) == [0, 1]


def test_versions_of_a_function_that_two_processes_keep_at_once_are_not_mixed_up(tmp_path):
    """Without a lock, both read the empty index, and the second writes its own over that of the first."""
    assert compiled_at_once(tmp_path, ["int64,uint32"], ["int32,uint32"]) == [1, 1]
    assert compiled_at_once(tmp_path, ["int64,uint32", "int32,uint32"]) == [0]


def test_functions_are_compiled_where_no_lock_can_be_written(tmp_path):
    compiled_at_once(tmp_path, ["int64,uint32"])
    for lock in tmp_path.rglob("*.lock"):
        lock.unlink()
        lock.mkdir()
    assert compiled_at_once(tmp_path, ["int64,uint32"]) == [0]
    assert compiled_at_once(tmp_path, ["int32,uint32"]) == [1]


def test_a_constant_argument_is_compiled_as_a_variable_one(tmp_path):
    """Numba would compile a callee once more for each of its constants."""
    (tmp_path / "constants.py").write_text(CONSTANTS)
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(cache.PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, tmp_path / "constants.py"], env=env, capture_output=True, text=True
    )
    assert done.stdout == "9 1\n", done.stderr
