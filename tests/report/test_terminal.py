"""The race as text."""

import os
from pathlib import Path

import pandas as pd
import pytest

from relaxometer.core.failures import note_failure
from relaxometer.report import terminal

COLUMNS = [
    *("Problem", "Graph", "Rank", "Variant", "Class", "Median [ms]", "95% interval", "Preparation [ms]"),
    *("Cold [ms]", "Call [ms]", "Proven", "Status", "Reason"),
]


def lines(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


RACE = (
    "1|boost (rival)|1 core|2|1.9 to 2.1|0.01|2.4|2.6 (added up)|100%|ok|",
    "2|dijkstra-cpu|1 core|1,500|1,400 to 1,600|3|1,501|1,502|100%|ok|",
    r"|hasty|GPU|1||0|1||50%|invalid|rule left\_out broken",
    "|cugraph (rival)|GPU||||||0%|absent|it needs an NVIDIA GPU",
)
REAL = lines(*(("SSSP", "town", *row.split("|")) for row in RACE))
EMULATED = lines(
    ("SSSP", "town", "", "near-far", "emulated", "7", "", "1", "8", "", "100%", "ok", ""),
    ("SSSP", "town", "", "phast", "emulated", "", "", "", "", "", "0%", "skipped", "too many arcs"),
    ("SSSP", "town", "", "tiled", "emulated", "", "", "", "", "", "0%", "skipped", "too many arcs"),
    ("BFS", "city", "", "hybrid", "emulated", "7", "", "1", "8", "", "100%", "ok", ""),
)


def test_each_race_is_a_ranked_table_within_the_terminal_and_failures_follow():
    assert terminal.race(REAL, EMULATED).splitlines() == [
        "",
        "SSSP on town, ms            search    95% interval   ratio  prepared   cold   call  proven",
        "  1  boost (rival)  1 core       2      1.9 to 2.1    1.00      0.01    2.4    2.6    100%",
        "  2  dijkstra-cpu   1 core   1,500  1,400 to 1,600  750.00         3  1,501  1,502    100%",
        "     hasty          GPU          1                                 0      1            50%",
        "",
        "BFS on city: nothing to rank",
        "",
        "  emulated, unranked, see results/tables/common/ranking-emulated.csv: near-far, hybrid",
        "  hasty: invalid in SSSP on town: rule left_out broken",
        "  cugraph (rival): absent in SSSP on town: it needs an NVIDIA GPU",
        "  phast, tiled: skipped in SSSP on town: too many arcs",
        "  results/verdict.txt says what these rules demand",
    ]
    timed = ("7", "6 to 8", "1", "8", "9", "100%")
    many = lines(*(("SSSP", "town", "", f"variant-{i}", "emulated", *timed, "ok", "") for i in range(40)))
    long = lines(
        ("SSSP", "town", "1", "name-" * 30, "all cores", *timed, "ok", ""),
        ("SSSP", "t" * 150, "1", "short", "1 core", *timed, "error", "why " * 90),
    )
    text = terminal.race(long, many)
    assert max(map(len, text.splitlines())) <= terminal.COLUMNS
    assert text.count("variant-") == 40
    names = [f"my-own-variant{i}" for i in range(40)]
    text = terminal.race(REAL, many.assign(Variant=names))
    assert all(name in text for name in names)


@pytest.mark.parametrize(("second", "said"), [("1", True), ("2", False)])
def test_the_last_line_explains_equal_ranks_only_where_there_are_some(second, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    terminal.REAL.parent.mkdir(parents=True)
    REAL.assign(Rank=["1", second, "", ""]).to_csv(terminal.REAL, index=False)
    EMULATED.to_csv(terminal.EMULATED, index=False)
    names = ["boost", "dijkstra-cpu", "hasty", "cugraph", "near-far", "phast", "tiled", "hybrid"]
    swept = ["NA", *(f"near-far-{delta}" for delta in range(1, 30))]
    pd.DataFrame({"variant": [*names, *swept]}).to_csv(terminal.SUMMARY, index=False)
    *_, hidden, last = terminal.last_lines().splitlines()
    assert hidden == "  not listed: 30 variants of sweeps, NA to near-far-29; see results/summary.csv"
    assert last.startswith("Equal ranks: no significant difference" if said else "Summary: ")


def test_where_every_measurement_failed_the_last_line_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    note_failure([terminal.REAL, terminal.EMULATED], "build_graph town: town.gr:1: 'x'")
    expected = "nothing to rank: build_graph town: town.gr:1: 'x'; results/verdict.txt has all failures"
    assert terminal.last_lines() == expected


@pytest.mark.parametrize(
    ("folder", "overlays", "command"),
    [
        ("clone", [], "make report"),
        ("clone", ["/somewhere/config/suites/adaptive.yaml"], "make report SUITE=adaptive"),
        ("clone", ["my.yaml"], "make report CONFIG=my.yaml"),
        ("elsewhere", [], "snakemake --report report.zip"),
        ("elsewhere", ["my own.yaml"], "snakemake --configfile 'my own.yaml' --report report.zip"),
        ("bare", ["my.yaml"], "snakemake -s clone/Snakefile --configfile my.yaml --report report.zip"),
    ],
)
def test_the_next_command_is_for_the_same_configuration(folder, overlays, command, tmp_path, monkeypatch):
    monkeypatch.chdir(terminal.MAKEFILE.parent if folder == "clone" else tmp_path)
    snakefile = tmp_path / "clone/Snakefile" if folder == "bare" else None
    assert terminal.report_command([Path(file) for file in overlays], snakefile) == command


def test_tables_that_are_missing_or_older_than_the_summary_are_of_another_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summary = Path("results/summary.csv")
    terminal.REAL.parent.mkdir(parents=True)
    for number, file in enumerate((summary, terminal.REAL, terminal.EMULATED)):
        assert not terminal.tells_of(summary)
        file.touch()
        os.utime(file, (0, number))
    assert terminal.tells_of(summary)
    os.utime(summary, (0, 9))
    assert not terminal.tells_of(summary)
