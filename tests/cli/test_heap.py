"""``relaxometer heap`` shows the largest retainers and writes all objects."""

import pyarrow.parquet as pq
import pytest

from heap_samples import PLAIN, text
from relaxometer.cli.command import call
from tiny_workflow import write_tiny_map


def test_the_largest_retainers_are_shown_and_all_objects_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.heapsnapshot").write_bytes(text(PLAIN))
    call(["heap", "some.heapsnapshot", "--device", "cpu", "-o", "all.parquet"])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "some.heapsnapshot: 6 of 8 objects reached, 8 references, 210 bytes; proven"
    rows = [line.split() for line in said[3:9]]
    assert [row[0] for row in rows] == ["210", "120", "60", "50", "40", "20"]
    assert rows[1] == ["120", "57.1%", "30", "1", "object", "global", "@5"]
    assert said[6].endswith("😀 list @9")
    table = pq.read_table("all.parquet").to_pydict()
    assert table["retained_size"] == [210, 20, 120, 40, 50, 60, 0, 0]
    assert table["dominator"] == [0, 0, 0, 2, 2, 0, None, None]
    assert table["distance"] == [0, 1, 1, 2, 2, 1, None, None]
    assert table["name"][3] == PLAIN["strings"][3]


def test_other_graphs_are_refused(tmp_path):
    write_tiny_map(tmp_path / "town.gr")
    with pytest.raises(SystemExit, match=r"town\.gr: not a heap; dimacs has no sizes"):
        call(["heap", str(tmp_path / "town.gr")])
