"""The program that compares two runs: its exit code, its files, and its messages."""

import sys

import pandas as pd
import pytest

from relaxometer.cli import compare
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json
from synthetic_runs import quiet, searches, spread


def write_run(folder, factor, commit="abc"):
    folder.mkdir(parents=True)
    table = pd.concat([quiet(), searches("tiled", spread(factor))])
    table.to_parquet(folder / "timings.parquet")
    common = {"commit": commit, "date": "2026-01-02T03:04:05+00:00", "device_kind": "cuda"}
    write_json({"common": common, "runs": [{"run": "sssp/town/tiled"}]}, folder / "context.json")


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["compare", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        compare.main()
    return ended.value.code


def test_the_exit_code_is_3_for_a_regression_only(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "old", 1.0)
    write_run(tmp_path / "results", 1.2, "def")
    assert run(monkeypatch, "old") == 3
    assert "old (abc, 2026-01-02)" in capsys.readouterr().out
    assert run(monkeypatch, "results", "old") == 0
    assert run(monkeypatch, "old", "--threshold", "30%") == 0
    table = pd.read_csv("results/compare/comparison.csv")
    assert table.loc[table["variant"] == "tiled", "verdict"].tolist() == ["slower, tolerated"]
    assert "1 slower, tolerated" in (tmp_path / "results/compare/comparison.md").read_text(encoding="utf-8")


def test_mistakes_are_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results", 1.0)
    assert "nowhere: does not exist; expected a bundle or a folder with" in run(monkeypatch, "nowhere")
    (tmp_path / "empty").mkdir()
    assert "empty: neither a bundle nor a folder with timings.parquet" in run(monkeypatch, "empty")
    assert "not a bundle" in run(monkeypatch, "results/context.json")
    assert "threshold 'much': expected" in run(monkeypatch, "results", "--threshold", "much")


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.1", 0.1), ("0", 0)])
def test_thresholds(text, share):
    assert compare.threshold_of(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["-1%", "nan", "1000", ""])
def test_wrong_thresholds(text):
    with pytest.raises(UserError):
        compare.threshold_of(text)
