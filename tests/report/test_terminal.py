"""The race as text."""

import pandas as pd

from relaxometer.report import terminal

COLUMNS = [
    *("Problem", "Graph", "Rank", "Variant", "Class", "Median [ms]", "95% interval", "Preparation [ms]"),
    *("Proven", "Status", "Reason"),
]


def lines(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


REAL = lines(
    ("SSSP", "town", "1", "boost (rival)", "1 core", "2", "1.9 to 2.1", "0.01", "100%", "ok", ""),
    ("SSSP", "town", "2", "dijkstra-cpu", "1 core", "1,500", "1,400 to 1,600", "3", "100%", "ok", ""),
    ("SSSP", "town", "", "cugraph (rival)", "GPU", "", "", "", "0%", "absent", "it needs an NVIDIA GPU"),
)
EMULATED = lines(
    ("SSSP", "town", "", "near-far", "emulated", "7", "", "1", "100%", "ok", ""),
    ("SSSP", "town", "", "phast", "emulated", "", "", "", "0%", "skipped", "too many arcs"),
    ("BFS", "city", "", "hybrid", "emulated", "7", "", "1", "100%", "ok", ""),
)


def test_each_race_is_a_ranked_table():
    assert terminal.race(REAL, EMULATED).splitlines() == [
        "",
        "SSSP on town",
        "                               ms    95% interval   ratio  prepared, ms  proven",
        "  1  boost (rival)  1 core      2      1.9 to 2.1    1.00          0.01    100%",
        "  2  dijkstra-cpu   1 core  1,500  1,400 to 1,600  750.00             3    100%",
        "    cugraph (rival): absent (it needs an NVIDIA GPU)",
        "    emulated, so their times do not count: near-far, phast (skipped)",
        "",
        "BFS on city",
        "    emulated, so their times do not count: hybrid",
    ]


def test_no_line_is_longer_than_the_terminal():
    many = lines(
        *(("SSSP", "town", "", f"variant-{i}", "emulated", "7", "", "", "", "ok", "") for i in range(40))
    )
    text = terminal.race(lines(), many)
    assert max(map(len, text.splitlines())) <= terminal.COLUMNS
    assert text.count("variant-") == 40


def test_a_run_without_a_race_says_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    terminal.show()
    assert capsys.readouterr().out == ""
