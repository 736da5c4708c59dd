import errno

import pyarrow as pa
import pytest

from relaxometer.core.errors import UserError
from relaxometer.core.files import (
    read_frame,
    read_json,
    read_table,
    replacing,
    write_csv,
    write_json,
    write_table,
    write_text,
)


def test_a_failure_leaves_the_old_file(tmp_path):
    target = tmp_path / "deep/file.txt"
    write_text("old", target)

    def fail_half_way():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "disk full")

    with pytest.raises(OSError, match=f"disk full: '{target}'"):
        fail_half_way()
    assert target.read_text() == "old"
    write_text("new", target)
    assert [(path.name, path.read_text()) for path in target.parent.iterdir()] == [("file.txt", "new")]


def test_json_keeps_letters(tmp_path):
    write_json({"place": "Kantō"}, tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "place": "Kantō"\n}\n'


@pytest.mark.parametrize("name", ["nan", "null"])
def test_names_that_pandas_takes_for_missing_are_kept(tmp_path, name):
    write_csv(pa.table({"graph": [name, None], "ms": [1.5, None]}).to_pandas(), tmp_path / "a.csv")
    read = read_frame(tmp_path / "a.csv")
    assert list(read["graph"].fillna("missing")) == [name, "missing"]
    assert list(read["ms"].fillna(0)) == [1.5, 0]


@pytest.mark.parametrize(
    ("name", "read"),
    [("a.json", read_json), ("a.parquet", read_table), ("a.parquet", read_frame), ("a.csv", read_frame)],
)
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "noise"])
def test_a_damaged_file_is_one_line_that_says_what_to_do(tmp_path, name, read, damage):
    path = tmp_path / name
    table = pa.table({"a": range(100)})
    {
        "json": lambda: write_json({"a": list(range(100))}, path),
        "parquet": lambda: write_table(table, path),
        "csv": lambda: write_csv(table.to_pandas(), path),
    }[path.suffix[1:]]()
    assert len(read(path)) in (1, 100)
    whole = path.read_bytes()
    path.write_bytes({"half": whole[: len(whole) // 2], "noise": b"\xff\x00\xfe" * 20}.get(damage, b""))
    if damage == "missing":
        path.unlink()
    if (path.suffix, damage) == (".csv", "half"):
        return  # of text, nobody can tell
    with pytest.raises(UserError, match=r"not readable as .*; delete it and run again") as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_json_without_keys_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("[1]")
    with pytest.raises(UserError, match="it has no keys and values"):
        read_json(tmp_path / "a.json")


def test_a_file_that_must_not_be_read_stays_an_error_of_permission(tmp_path):
    with pytest.raises(OSError, match="directory"):
        read_json(tmp_path)
