"""The program that compares two runs: its exit code, its files, and its messages."""

import pandas as pd
import pytest

from relaxometer.cli.command import call
from relaxometer.core.files import write_json
from synthetic_runs import quiet, searches, spread


def write_run(folder, factor, commit="abc", **wrong):
    """Write a run; the columns in `wrong` have other values in its last 24 rows."""
    folder.mkdir(parents=True)
    table = pd.concat([quiet(), searches("tiled", spread(factor))], ignore_index=True)
    for column, value in wrong.items():
        table[column] = [*table[column].iloc[:-24], *[value] * 24]
    table.to_parquet(folder / "timings.parquet")
    common = {"commit": commit, "date": "2026-01-02T03:04:05+00:00", "device_kind": "cuda"}
    write_json({"common": common, "runs": [{"run": "sssp/town/tiled"}]}, folder / "context.json")


def run(*arguments, program="compare"):
    """Return the exit code of a command, or the line that it ends with."""
    try:
        return call([program, *map(str, arguments)])
    except SystemExit as ended:
        return ended.code


def test_the_exit_code_is_3_for_a_regression_only(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "old", 1.0)
    write_run(tmp_path / "results", 1.2, "def")
    assert run("old") == 3
    assert "old (abc, 2026-01-02)" in capsys.readouterr().out
    assert run("results", "old") == 0
    assert run("old", "--threshold", "30%") == 0
    table = pd.read_csv("results/compare/comparison.csv")
    assert table.loc[table["variant"] == "tiled", "verdict"].tolist() == ["slower, tolerated"]
    assert "1 slower, tolerated" in (tmp_path / "results/compare/comparison.md").read_text(encoding="utf-8")


def test_mistakes_are_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results", 1.0)
    assert "nowhere: does not exist; expected a bundle or a folder with" in run("nowhere")
    (tmp_path / "empty").mkdir()
    assert "empty: neither a bundle nor a folder with timings.parquet" in run("empty")
    assert "not a bundle" in run("results/context.json")
    for threshold in ("much", "5", "-1%", "nan", "1000", ""):
        said = run("results", f"--threshold={threshold}")
        assert f"threshold '{threshold}': expected a share of the time, such as 5% or 0.05" in said


WRONG = [
    ("status", "fine", "'fine'; expected one of ok, disputed"),
    ("class", None, "is missing; expected one of gpu, emulated, cpu-1, cpu-all"),
    ("variant", "a\nb", r"'a\nb'; expected a name without control characters"),
    ("device", "\x1b[2J", r"'\x1b[2J'; expected a name without control characters"),
    ("graph", "", "''; expected a name"),
    ("time_ms", -1.0, "'-1.0'; expected a time above 0 ms of a proven search"),
    ("time_ms", float("inf"), "'inf'; expected a time above 0 ms"),
    ("source", None, "is missing; expected an integer"),
]


@pytest.mark.parametrize(
    ("program", "column", "value", "said"),
    [*(("compare", *one) for one in WRONG), *((program, *WRONG[0]) for program in ("board", "cost"))],
)
def test_a_wrong_value_is_named_with_file_and_column(tmp_path, monkeypatch, program, column, value, said):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", 1.0, **{column: value})
    line = run("run", *(["run"] if program == "compare" else []), program=program)
    assert line.startswith(f"error: run/timings.parquet: {column}")
    assert said in line
    assert "\n" not in line


def test_text_in_place_of_times_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", 1.0)
    file = tmp_path / "run/timings.parquet"
    table = pd.read_parquet(file)
    table.assign(time_ms="soon").to_parquet(file)
    expected = "error: run/timings.parquet: time_ms: 'soon'; expected a number"
    assert run("run", "run") == expected
    table.drop(columns="class").to_parquet(file)
    assert "run/timings.parquet: no column 'class'" in run("run", "run")
