"""OpenStreetMap's XML gives the graph of the same extract in PBF."""

import bz2

import pytest

from built import built, built_from
from relaxometer.core.errors import UserError
from relaxometer.datasets.readers.osm_xml import read_elements
from relaxometer.graphs.graph import content_hash
from sample_osm import write_extract, xml_of


def test_xml_gives_the_graph_of_the_extract(tmp_path):
    expected = built("osm-pbf", write_extract(tmp_path / "small.osm.pbf"))
    assert expected.ids.to_pylist() == [1, 2, 4, 5], "the ids of the junctions"
    deleted = '<node id="8" action="delete"/><way id="14" visible="false"></way></osm>'
    for name, content in (
        ("small.osm", xml_of()),
        ("small.osm.bz2", bz2.compress(xml_of().encode())),
        ("places in ways.osm", xml_of(nodes={}, located=True)),
        ("deleted.osm", xml_of().replace("</osm>", deleted)),
    ):
        assert content_hash(built_from(tmp_path, "osm-xml", content, name)) == content_hash(expected), name


def test_elements_have_tags_and_members(tmp_path):
    (tmp_path / "small.osm").write_text(xml_of(), encoding="utf-8")
    *_, way, relation = read_elements(tmp_path / "small.osm").to_pylist()
    assert (way["kind"], way["refs"], way["tags"]) == ("way", [4, 6], [("waterway", "river")])
    assert (relation["refs"], relation["ref_roles"], relation["ref_types"]) == ([10], ["from"], ["way"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (xml_of()[:-20], r"small.osm:\d+: not readable as OpenStreetMap's XML"),
        ("<osmChange></osmChange>", "its root is <osmChange>"),
        (xml_of().replace('lat="0.001"', 'lat="91"'), r"small.osm:8: .*not on the globe"),
        (xml_of().replace('ref="5"', 'ref="x"'), "invalid literal"),
        (xml_of().replace('<node id="5"', "<node"), "'id'"),
        ("", "no element found"),
        (xml_of(nodes={}), "references from its ways lead to nodes that it does not have"),
    ],
)
def test_faults_are_named(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        built_from(tmp_path, "osm-xml", content, "small.osm")
