"""Files of sources and query sets say what they were drawn for."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.core.files import write_table
from relaxometer.problems.routes._queries import Spec
from relaxometer.race.requests import request_for_queries, request_for_sources, serves, with_request

TABLE = pa.table({"source": [3, 5]})


def written(folder, request):
    path = folder / "drawn.parquet"
    write_table(with_request(TABLE, request), path)
    assert pq.read_table(path).column_names == ["source"]
    return path


@pytest.mark.parametrize(
    ("drawn", "wanted", "fits"),
    [
        ((8, 1), (3, 1), True),
        ((8, 1), (9, 1), False),
        ((8, 1), (8, 2), False),
        ((8, 1), ([3, 5], 1), False),
        (([3, 5], 1), ([3, 5], 1), True),
        (([3, 5], 1), ([5, 3], 1), False),
        (([3, 5], 1), (2, 1), False),
    ],
)
def test_sources_of_another_seed_or_too_few_do_not_serve(tmp_path, drawn, wanted, fits):
    path = written(tmp_path, request_for_sources(*drawn))
    assert serves(path, request_for_sources(*wanted)) is fits


@pytest.mark.parametrize(
    ("specs", "draws", "fits"),
    [
        ({"near": {"pairs": 4}}, 1, True),
        ({"near": {"pairs": 4, "paths": False}}, 2, True),
        ({"near": {"pairs": 4}}, 3, False),
        ({"near": {"pairs": 99}}, 2, False),
        ({"far": {"pairs": 4}}, 2, False),
        ({"near": {"pairs": 4}, "far": {"pairs": 4}}, 2, False),
    ],
)
def test_query_sets_of_other_specs_do_not_serve(tmp_path, specs, draws, fits):
    path = written(tmp_path, request_for_queries({"near": Spec(pairs=4)}, 2, 1))
    wanted = {name: Spec.model_validate(spec) for name, spec in specs.items()}
    assert serves(path, request_for_queries(wanted, draws, 1)) is fits


def test_an_edited_file_of_pairs_does_not_serve_and_a_missing_one_does(tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0 1\n")
    wanted = {"near": Spec(file=str(pairs))}
    path = written(tmp_path, request_for_queries(wanted, 1, 1))
    assert serves(path, request_for_queries(wanted, 1, 1))
    pairs.write_text("0 1\n1 2\n")
    assert not serves(path, request_for_queries(wanted, 1, 1))
    pairs.unlink()
    assert serves(path, request_for_queries(wanted, 1, 1))


@pytest.mark.parametrize("metadata", [None, {"drawn for": "{"}, {"drawn for": "7"}])
def test_a_file_that_does_not_say_is_taken(tmp_path, metadata):
    path = tmp_path / "drawn.parquet"
    write_table(TABLE.replace_schema_metadata(metadata), path)
    assert serves(path, request_for_sources(8, 1))
    path.write_bytes(b"damaged")
    assert serves(path, request_for_sources(8, 1))
