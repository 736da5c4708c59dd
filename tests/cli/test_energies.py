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


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_evaluating_twice_changes_nothing_more(monkeypatch, tmp_path):
    recorded(tmp_path / "runs/sssp/g/v", **POWERS)
    run(monkeypatch, tmp_path)
    once = contents(tmp_path)
    run(monkeypatch, tmp_path)
    assert contents(tmp_path) == once


def test_only_runs_are_evaluated(monkeypatch, tmp_path):
    recorded(tmp_path / "runs/sssp/g/v", **POWERS)
    other = recorded(tmp_path / "other/sssp/g/v", **POWERS)
    before = contents(other)
    run(monkeypatch, tmp_path)
    assert contents(other) == before


@pytest.mark.parametrize(
    ("cost", "line"),
    [
        ({}, r"no run with recorded powers; expected a results folder with cost.powers_w in runs/"),
        (POWERS | {"searches_s": [0.01]}, r"context.json: .*2 powers, 1 times and 3 idle powers"),
        (POWERS | {"idle_powers_w": [100, 104]}, r"context.json: .*2 powers, 2 times and 2 idle powers"),
        (POWERS | {"powers_w": ["a", "b"]}, r"context.json: .*powers_w must be a list of numbers"),
        (POWERS | {"powers_w": [150, None]}, r"context.json: .*powers_w must be a list of numbers"),
        (POWERS | {"searches_s": [[0.01], 0.01]}, r"context.json: .*searches_s must be a list of numbers"),
        (POWERS | {"idle_powers_w": 100}, r"context.json: .*idle_powers_w must be a list of numbers"),
    ],
)
def test_wrong_powers_are_one_line_and_change_nothing(monkeypatch, tmp_path, cost, line):
    recorded(tmp_path / "runs/sssp/g/v", **cost)
    before = contents(tmp_path)
    with pytest.raises(SystemExit, match=rf"^error: [^\n]*{line}[^\n]*$"):
        run(monkeypatch, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("context", ["{", "[]", '{"cost": null}', '{"cost": 5}'])
def test_a_damaged_context_is_one_line(monkeypatch, tmp_path, context):
    (recorded(tmp_path / "runs/sssp/g/v", **POWERS) / "context.json").write_text(context)
    with pytest.raises(SystemExit, match=r"^error: [^\n]*$"):
        run(monkeypatch, tmp_path)


def test_a_table_of_an_earlier_version_is_one_line(monkeypatch, tmp_path):
    folder = recorded(tmp_path / "runs/sssp/g/v", **POWERS)
    table = pq.read_table(folder / "runs.parquet").drop_columns(["energy_low_j"])
    pq.write_table(table, folder / "runs.parquet")
    with pytest.raises(SystemExit, match=r"runs.parquet: no column energy_low_j; measure the run again$"):
        run(monkeypatch, tmp_path)
