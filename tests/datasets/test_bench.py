"""The table of targets: met, missed, and not measured."""

import pytest

from relaxometer.datasets import bench, download
from relaxometer.datasets.bench import UNITS, Case, main
from relaxometer.datasets.partial_file import LocationError


def case(dataset, *limits, **keys):
    return Case(dataset, dict(zip(UNITS, limits, strict=False)), **keys)


@pytest.fixture
def rows(monkeypatch, capsys):
    """Return a function from cases to the exit status and the lines of the table."""
    monkeypatch.chdir(bench.ROOT)

    def run(*cases):
        monkeypatch.setattr(bench, "CASES", cases)
        status = main()
        return status, capsys.readouterr().out.splitlines()[1:]

    return run


def test_targets_that_are_met(rows):
    status, lines = rows(case("chain-10k", 600, 9, 1e6, repetitions=2))
    assert status == 0
    assert [line.split()[0] for line in lines] == ["chain-10k"] * 3
    assert [line[18:63].rsplit(maxsplit=2) for line in lines] == [
        ["seconds", "600", "s"],
        ["peak memory", "9", "GB"],
        ["memory to read, per CSR size", "1e+06", "times"],
    ]
    assert float(lines[1].split()[-2]) > 0.05, "an interpreter with its libraries takes more"
    assert not any("missed" in line for line in lines)


def test_a_missed_target_fails(rows):
    status, lines = rows(case("chain-10k", 600, 1e-3), case("star-1m", 600))
    assert status == 1
    assert [line.endswith("missed") for line in lines] == [False, True, False]


def test_a_failed_download_is_one_line_and_not_a_miss(rows, monkeypatch, tmp_path):
    def no_network(*_):
        raise LocationError("no network")

    monkeypatch.setattr(download, "download", no_network)
    monkeypatch.setattr(bench, "DOWNLOADS", tmp_path / "downloads")
    monkeypatch.setattr(bench, "CONFIG", tmp_path / "config.yaml")
    monkeypatch.setenv("RELAXOMETER_DATA_MIRRORS", "")
    (tmp_path / "config.yaml").write_text(f"data_mirrors: [{tmp_path}]", encoding="utf-8")
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads/rome99.gr").write_text("p sp 1 0\n", encoding="utf-8")
    status, lines = rows(case("usa-bay", 600), case("rome99", 600), case("chain-10k", 600))
    assert status == 0
    assert len(lines) == 3
    assert lines[0].startswith(
        "usa-bay           not measured: USA-road-d.BAY.gr.gz could not be fetched; tried"
    )
    assert f"{tmp_path}/USA-road-d.BAY.gr.gz: no such file" in lines[0]
    assert lines[1].startswith("rome99            not measured: ")
    assert "not the file that the dataset names: sha256 is " in lines[1]


def test_a_file_is_taken_from_a_mirror(rows, monkeypatch, tmp_path, road_file):
    monkeypatch.setattr(bench, "DOWNLOADS", tmp_path)
    monkeypatch.setenv("RELAXOMETER_DATA_MIRRORS", str(road_file("rome99.gr").parent))
    status, lines = rows(case("rome99", 600, 9, 1e6, warm_up="p sp 2 1\na 1 2 3\n"))
    assert status == 0
    assert len(lines) == 3
    assert (tmp_path / "rome99.gr").is_file()
