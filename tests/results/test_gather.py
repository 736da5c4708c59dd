"""Rows of all runs in one table, whatever the parameters of each."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.results.gather import gather

RUN = {"problem": "sssp", "graph": "g", "solver": "s"}


def gathered(folder: Path, values: list) -> pa.Table:
    """Gather runs of one row each, whose parameter `one` has these values, and write the table."""
    folders = [folder / str(number) for number in range(len(values))]
    for place, value in zip(folders, values, strict=True):
        place.mkdir()
        pq.write_table(pa.table({"source": [0]}), place / "runs.parquet")
        context = {"run": {**RUN, "variant": place.name}, "device_kind": "cuda", "device": "d"}
        (place / "context.json").write_text(json.dumps(context | {"parameters": {"one": value}}))
    table = gather(folders, "runs.parquet")
    pq.write_table(table, folder / "table.parquet")
    return table


@pytest.mark.parametrize(
    "values",
    [
        [1, True],
        [1, {"a": 2}],
        ["x", 3],
        [2**70],
        [2**63, -1],
        [{"a": 1}, {"a": "b"}],
        [1, None, True],
    ],
)
def test_parameters_without_a_common_type_are_text(tmp_path, values):
    table = gathered(tmp_path, values)
    assert table["parameter_one"].to_pylist() == [str(value) for value in values]


@pytest.mark.parametrize("values", [[1, 2], [1, 2.5], [1, None], [True, False], [None, None], [[1], []]])
def test_parameters_with_a_common_type_keep_it(tmp_path, values):
    assert gathered(tmp_path, values)["parameter_one"].to_pylist() == values


def test_mappings_may_have_different_keys(tmp_path):
    found = gathered(tmp_path, [{"a": 1.5}, {"a": 2, "b": 3}])["parameter_one"].to_pylist()
    assert found == [{"a": 1.5, "b": None}, {"a": 2, "b": 3}]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({}, "cpu-1"), ({"threads": 1}, "cpu-1"), ({"threads": 8}, "cpu-all"), ({"cores": 16}, "cpu-all")],
)
def test_the_class_of_a_cpu_variant_follows_its_threads_or_cores(tmp_path, parameters, expected):
    pq.write_table(pa.table({"source": [0]}), tmp_path / "runs.parquet")
    context = {"run": {**RUN, "variant": "v"}, "device_kind": "cpu", "device": "d", "parameters": parameters}
    (tmp_path / "context.json").write_text(json.dumps(context))
    assert gather([tmp_path], "runs.parquet")["class"].to_pylist() == [expected]
