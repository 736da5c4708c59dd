"""Graphs whose vertices a file names by integers: searched, answered and refused by them."""

import numpy as np
import pytest

import relaxometer as rx

LARGE = 2**63 + 5


def graph_of(tmp_path, *lines):
    path = tmp_path / "roads.csv"
    path.write_text("\n".join(("from,to,weight", *lines)) + "\n")
    return rx.Graph.from_file(path, source="from", target="to", weight="weight")


@pytest.fixture
def towns(tmp_path):
    """A path 7 - -3 - 4600000001."""
    return graph_of(tmp_path, "7,-3,5", "-3,7,5", "-3,4600000001,2", "4600000001,-3,2")


def test_searches_pairs_and_paths_are_by_ids(towns):
    answer = rx.prepare(towns, device="cpu").search(7)
    far = towns.vertex(4600000001)
    assert answer.distance[far] == 7
    assert answer.path_to(4600000001) == [7, -3, 4600000001]
    routes = rx.prepare(towns, "routes", device="cpu")
    assert routes.pairs(np.array([7, -3]), [4600000001, -3]).distance.tolist() == [7, 0]


def test_ids_beyond_63_bits(tmp_path):
    made = graph_of(tmp_path, f"1,{LARGE},3")
    assert rx.prepare(made, device="cpu").search(np.uint64(1)).path_to(LARGE) == [1, LARGE]
    # As 64 bits, this is the same.
    for number in (LARGE - 2**64, 2**70, "1", 1.5):
        with pytest.raises(rx.GraphError, match="is not a node of the graph"):
            made.vertex(number)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
def test_an_unknown_id_of_an_array_is_named(towns, kind):
    asked = np.array([7, 9, 11], kind)
    with pytest.raises(rx.GraphError, match=r"^'9' is not a node of the graph$"):
        list(rx.prepare(towns, device="cpu").search_each(asked))
