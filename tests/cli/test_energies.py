"""Powers of finished runs, evaluated again."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.cli import energies
from relaxometer.problems.records import RUNS

POWERS = {"powers_w": [150, 152], "searches_s": [0.01, 0.01], "idle_powers_w": [100, 104, 100]}


def recorded(folder, **cost):
    folder.mkdir(parents=True)
    rows = [{"source": source, "energy_j": 1.0, "idle_w": 101.0, "status": "ok"} for source in (3, 7)]
    pq.write_table(pa.Table.from_pylist(rows, RUNS), folder / "runs.parquet")
    context = {"device": "GPU", "cost": {"energy_j": 1.0, "peak_bytes": 5, **cost}}
    (folder / "context.json").write_text(json.dumps(context))
    return folder


def run(monkeypatch, results):
    monkeypatch.setattr(sys, "argv", ["energies", str(results)])
    monkeypatch.setenv("RELAXOMETER_COMMIT", "0123456789ab")
    energies.main()


def test_all_processes_with_powers_have_new_energies(monkeypatch, tmp_path, capsys):
    first = recorded(tmp_path / "runs/sssp/g/v", **POWERS)
    second = recorded(tmp_path / "runs/sssp/g/v/rounds/2", **POWERS)
    other = recorded(tmp_path / "runs/sssp/g/without")
    before = (other / "context.json").read_bytes(), (other / "runs.parquet").read_bytes()
    run(monkeypatch, tmp_path)
    assert capsys.readouterr().out == "evaluated the powers of 2 processes\n"
    for folder in (first, second):
        context = json.loads((folder / "context.json").read_text())
        assert context["device"] == "GPU"
        assert context["cost"] == POWERS | {
            **{"energy_j": pytest.approx(0.51), "energy_low_j": pytest.approx(0.5)},
            **{"energy_high_j": pytest.approx(0.52), "gross_j": pytest.approx(1.51), "idle_w": 100.0},
            **{"peak_bytes": 5, "evaluated_by": "0123456789ab"},
        }
        table = pq.read_table(folder / "runs.parquet")
        assert table.schema.equals(RUNS)
        for row in table.to_pylist():
            assert {name: row[name] for name in context["cost"].keys() & row.keys() - {"peak_bytes"}} == {
                name: context["cost"][name]
                for name in ("energy_j", "energy_low_j", "energy_high_j", "gross_j", "idle_w")
            }
        assert table["source"].to_pylist() == [3, 7]
    assert ((other / "context.json").read_bytes(), (other / "runs.parquet").read_bytes()) == before


def test_a_folder_without_powers_is_one_line(monkeypatch, tmp_path):
    recorded(tmp_path / "runs/sssp/g/v")
    with pytest.raises(SystemExit, match=r"^error: .*: no run has recorded powers \(cost.powers_w in "):
        run(monkeypatch, tmp_path)
