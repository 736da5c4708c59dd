"""Processes that compile the same function at once."""

import threading

from numba.core.caching import IndexDataCacheFile

from relaxometer.core import compiled


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
