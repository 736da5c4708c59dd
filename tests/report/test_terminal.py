"""The race as text."""

import os
from pathlib import Path

import pandas as pd
import pytest

from relaxometer.report import terminal

COLUMNS = [
    *("Problem", "Graph", "Rank", "Variant", "Class", "Median [ms]", "95% interval", "Preparation [ms]"),
    *("Cold [ms]", "Proven", "Status", "Reason"),
]


def lines(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


REAL = lines(
    ("SSSP", "town", "1", "boost (rival)", "1 core", "2", "1.9 to 2.1", "0.01", "2.4", "100%", "ok", ""),
    (
        "SSSP",
        "town",
        "2",
        "dijkstra-cpu",
        "1 core",
        "1,500",
        "1,400 to 1,600",
        "3",
        "1,501",
        "100%",
        "ok",
        "",
    ),
    ("SSSP", "town", "", "hasty", "GPU", "1", "", "0", "1", "50%", "invalid", r"rule left\_out broken"),
    ("SSSP", "town", "", "cugraph (rival)", "GPU", "", "", "", "", "0%", "absent", "it needs an NVIDIA GPU"),
)
EMULATED = lines(
    ("SSSP", "town", "", "near-far", "emulated", "7", "", "1", "8", "100%", "ok", ""),
    ("SSSP", "town", "", "phast", "emulated", "", "", "", "", "0%", "skipped", "too many arcs"),
    ("SSSP", "town", "", "tiled", "emulated", "", "", "", "", "0%", "skipped", "too many arcs"),
    ("BFS", "city", "", "hybrid", "emulated", "7", "", "1", "8", "100%", "ok", ""),
)


def test_each_race_is_a_ranked_table_and_failures_follow():
    assert terminal.race(REAL, EMULATED).splitlines() == [
        "",
        "SSSP on town                   ms    95% interval   ratio  prepared, ms  cold, ms  proven",
        "  1  boost (rival)  1 core      2      1.9 to 2.1    1.00          0.01       2.4    100%",
        "  2  dijkstra-cpu   1 core  1,500  1,400 to 1,600  750.00             3     1,501    100%",
        "     hasty          GPU         1                                     0         1     50%",
        "",
        "BFS on city: nothing to rank",
        "",
        "  emulated, unranked, see results/tables/common/ranking-emulated.csv: near-far, hybrid",
        "  hasty: invalid in SSSP on town: rule left_out broken",
        "  cugraph (rival): absent in SSSP on town: it needs an NVIDIA GPU",
        "  phast, tiled: skipped in SSSP on town: too many arcs",
        "  results/verdict.txt says what these rules demand",
    ]


def test_a_run_whose_time_is_disputed_is_proven_and_has_a_ratio():
    kept = ("1.9 to 2.1", "0.01", "2.4", "100%")
    rows = lines(
        ("SSSP", "town", "1", "first", "1 core", "2", *kept, "disputed", "its own clock disagrees"),
        ("SSSP", "town", "2", "second", "1 core", "3", *kept, "ok", ""),
    )
    ratios = [line.split()[-4] for line in terminal.race(rows, lines()).splitlines()[2:4]]
    assert ratios == ["1.00", "1.50"]


def test_times_of_few_samples_say_why_they_have_no_rank():
    few = lines(("SSSP", "town", "", "first", "1 core", "2", "", "0.01", "2.4", "100%", "ok", ""))
    said = "  no interval or rank: fewer than 6 samples, see docs/statistics.md"
    assert terminal.race(few, lines()).splitlines()[-1] == said
    assert said not in terminal.race(REAL, EMULATED)


def test_a_reason_of_all_races_stands_once_without_their_names():
    absent = [
        ("SSSP", graph, "", "boost", "1 core", "", "", "", "", "0%", "absent", "no Boost") for graph in "ab"
    ]
    assert terminal.race(lines(*absent), lines()).splitlines()[-1] == "  boost: absent: no Boost"


def test_a_table_that_only_says_that_it_is_empty_is_no_race():
    empty = lines(("Nothing ran in real time.", *[""] * (len(COLUMNS) - 1)))
    assert "Nothing ran" not in terminal.race(empty, EMULATED)


def test_no_line_is_longer_than_the_terminal():
    many = lines(
        *(("SSSP", "town", "", f"variant-{i}", "emulated", "7", "", "", "", "", "ok", "") for i in range(40))
    )
    long = lines(
        *(("SSSP", "town", "1", "name-" * 30, "all cores", "7", "6 to 8", "1", "8", "100%", "ok", ""),),
        *(
            (
                "SSSP",
                "t" * 150,
                "1",
                "short",
                "1 core",
                "7",
                "6 to 8",
                "1",
                "8",
                "100%",
                "error",
                "why " * 90,
            ),
        ),
    )
    text = terminal.race(long, many)
    assert max(map(len, text.splitlines())) <= terminal.COLUMNS
    assert text.count("variant-") == 40


@pytest.mark.parametrize(("second", "said"), [("1", True), ("2", False)])
def test_the_last_line_explains_equal_ranks_only_where_there_are_some(
    second, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    terminal.REAL.parent.mkdir(parents=True)
    REAL.assign(Rank=["1", second, "", ""]).to_csv(terminal.REAL, index=False)
    EMULATED.to_csv(terminal.EMULATED, index=False)
    names = ["boost", "dijkstra-cpu", "hasty", "cugraph", "near-far", "phast", "tiled", "hybrid"]
    swept = ["NA", *(f"near-far-{delta}" for delta in range(1, 30))]
    pd.DataFrame({"variant": [*names, *swept]}).to_csv(terminal.SUMMARY, index=False)
    terminal.show()
    *_, hidden, last = capsys.readouterr().out.splitlines()
    assert hidden == "  not listed: 30 variants of sweeps, NA to near-far-29; see results/summary.csv"
    assert last.startswith("Equal ranks: not told apart from the first. Summary: " if said else "Summary: ")


@pytest.mark.parametrize(
    ("overlays", "command"),
    [
        ([], "make report"),
        (["/somewhere/config/suites/adaptive.yaml"], "make report SUITE=adaptive"),
        (["my.yaml"], "make report CONFIG=my.yaml"),
    ],
)
def test_the_next_command_is_for_the_same_configuration(overlays, command, monkeypatch):
    monkeypatch.chdir(terminal.MAKEFILE.parent)
    assert terminal.report_command([Path(file) for file in overlays]) == command


@pytest.mark.parametrize(
    ("overlays", "command"),
    [
        ([], "snakemake --report report.zip"),
        (["my.yaml"], "snakemake --configfile my.yaml --report report.zip"),
        (["my own.yaml"], "snakemake --configfile 'my own.yaml' --report report.zip"),
    ],
)
def test_a_folder_without_the_makefile_gets_a_command_of_snakemake(overlays, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert terminal.report_command([Path(file) for file in overlays]) == command


def test_a_folder_without_the_workflow_gets_a_command_that_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = terminal.report_command([Path("my.yaml")], tmp_path / "clone/Snakefile")
    assert command == "snakemake -s clone/Snakefile --configfile my.yaml --report report.zip"
    (tmp_path / "Snakefile").touch()
    assert "-s" not in terminal.report_command([], tmp_path / "Snakefile").split()


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


def test_long_names_of_a_sweep_stay_apart():
    names = [f"bellman-ford-queue-order-{order}" for order in ("slf", "lll", "slf-lll")]
    found = [terminal.fitted(name, 26) for name in names]
    assert found == ["bellman-ford-…ue-order-slf", "bellman-ford-…ue-order-lll", "bellman-ford-…rder-slf-lll"]
    assert {len(name) for name in found} == {26}
    assert terminal.fitted("tiled", 26) == "tiled"
    assert terminal.fitted("near-far", 7) == "nea…far"
