"""Snakemake's records of files that another program has written."""

from pathlib import Path

from relaxometer.race.job_records import Records


def test_a_file_has_the_parameters_of_its_last_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files, records = [Path("results/runs.parquet"), Path("results/context.json")], Records()
    assert not records.differ({"seed": 1}, files)
    records.begin(files)
    records.end("run_variant", {"seed": 1}, files)
    assert not Records().differ({"seed": 1}, files)
    assert Records().differ({"seed": 2}, files)
    assert not [file for file in Path(".snakemake/incomplete").rglob("*") if file.is_file()]
