"""Times over commits, as a table and a figure."""

import pandas as pd
import pytest

from relaxometer.cli.history import write
from relaxometer.core.errors import UserError
from relaxometer.report.figures.history import times_over_commits
from relaxometer.results.history import history, over_commits
from relaxometer.results.recorded import Recorded
from synthetic_runs import query_sets, rival, searches, spread


def run(commit, day, ms, graphs=None):
    table = pd.concat([searches("tiled", spread(ms)), rival("boost", spread(2.0))])
    return of_table(commit, day, table, graphs=graphs or {})


def of_table(commit, day, table, **options):
    return Recorded("x", table, [{"commit": commit, "date": f"2026-01-{day:02}T00:00:00+00:00"}], **options)


@pytest.fixture
def lines():
    return history([run("later", 9, 0.5), run("first", 2, 1.0)])


def test_commits_are_in_the_order_of_their_dates(lines):
    assert lines["commit"].tolist() == ["first"] * 2 + ["later"] * 2
    tiled = lines[lines["variant"] == "tiled"]
    assert tiled["median_ms"].iloc[0] == pytest.approx(2 * tiled["median_ms"].iloc[1])
    assert (tiled["low_ms"] < tiled["median_ms"]).all()
    table = over_commits(lines)
    assert table["variant"].tolist() == ["tiled", "boost"]
    assert [name.split()[0] for name in table.columns[-2:]] == ["first", "later"]
    figure = times_over_commits(lines)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["SSSP on town\nNVIDIA X, GPU", "SSSP on town\nCPU X, 1 core"]
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["first", "later"]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(UserError, match=f"^{tmp_path}: contains no bundle; put some there"):
        write(tmp_path, tmp_path)


def test_other_graphs_and_query_sets_of_one_name_are_lines_of_their_own():
    lines = history([run("first", 2, 1.0, {"town": "a" * 64}), run("later", 9, 0.5, {"town": "b" * 64})])
    table = over_commits(lines)
    assert sorted(table["content"]) == [*["a" * 10] * 2, *["b" * 10] * 2]
    assert table.iloc[:, -2:].notna().sum(axis=1).tolist() == [1] * 4, "each content has one commit"
    titles = [axes.get_title(loc="left").splitlines()[0] for axes in times_over_commits(lines).axes]
    assert titles[:2] == ["SSSP on town (aaaaaaaaaa)"] * 2
    assert titles[2:4] == ["SSSP on town (bbbbbbbbbb)"] * 2
    times = {"pairs": [1.0, 2.0], "table": [9.0]}
    same, other = (query_sets("hierarchy", times, hashes) for hashes in ((), ("x", "y", "z")))
    runs = [of_table(name, 2, table) for name, table in (("one", same), ("two", other))]
    lines = history([*runs, of_table("four", 9, same)])
    assert lines[["graph", "commit", "median_ms"]].to_numpy().tolist() == [
        [f"town: {name}", commit, ms]
        for commit in ("one", "two", "four")
        for name, ms in (("pairs", pytest.approx(1.5)), ("table", pytest.approx(9.0)))
    ]
    contents = lines.groupby("graph")["content"].agg(list)
    assert all(one == four != two for one, two, four in contents)
