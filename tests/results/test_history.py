"""Times over commits, as a table and a figure."""

import pandas as pd
import pytest

from relaxometer.cli.history import write
from relaxometer.core.errors import UserError
from relaxometer.report.figures.history import times_over_commits
from relaxometer.results.history import history, over_commits
from relaxometer.results.recorded import Recorded
from synthetic_runs import rival, searches, spread


def run(commit, day, ms):
    table = pd.concat([searches("tiled", spread(ms)), rival("boost", spread(2.0))])
    return Recorded("x", table, [{"commit": commit, "date": f"2026-01-{day:02}T00:00:00+00:00"}])


@pytest.fixture
def lines():
    return history([run("later", 9, 0.5), run("first", 2, 1.0)])


def test_commits_are_in_the_order_of_their_dates(lines):
    assert lines["commit"].tolist() == ["first"] * 2 + ["later"] * 2
    tiled = lines[lines["variant"] == "tiled"]
    assert tiled["median_ms"].iloc[0] == pytest.approx(2 * tiled["median_ms"].iloc[1])
    assert (tiled["low_ms"] < tiled["median_ms"]).all()


def test_a_row_per_variant_and_a_column_per_commit(lines):
    table = over_commits(lines)
    assert table["variant"].tolist() == ["tiled", "boost"]
    assert [name.split()[0] for name in table.columns[-2:]] == ["first", "later"]


def test_the_figure_has_a_panel_per_device_and_a_line_per_variant(lines):
    figure = times_over_commits(lines)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["SSSP on town\nNVIDIA X, GPU", "SSSP on town\nCPU X, 1 core"]
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["first", "later"]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(UserError, match=f"^{tmp_path}: no bundle in it; put some there"):
        write(tmp_path, tmp_path)
