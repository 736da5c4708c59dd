"""The registry: the project's own entries, entries of a config, and one line for each mistake."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.io import PeriodicityDetector

from built import built, refusal
from relaxometer.core.validation import MAX_REPEATS
from relaxometer.datasets.registry import DataFile, Dataset, load_registry
from relaxometer.graphs.files import with_texts

ROOT = Path(__file__).parents[2]
OWN = ROOT / "resources/datasets.yaml"
LOCKED = ("usa", "kanto", "japan-railways", "cfg-c-sqlite")
SMALL = {"format": "dimacs", "path": "small.gr"}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Return a function that returns the message about an entry; it knows a few of the project's own."""
    few = tmp_path_factory.mktemp("registry") / "datasets.yaml"
    own = yaml.safe_load(OWN.read_text(encoding="utf-8"))
    names = ("usa-ny", "kanto-like", "cfg-python-stdlib")
    few.write_text(yaml.safe_dump({name: own[name] for name in names}), encoding="utf-8")
    return lambda entry, name="mine": refusal(load_registry, few, {name: entry})


def test_own_entries_are_valid_and_complete():
    datasets = load_registry(OWN, {})
    assert {"usa-ny", "usa-bay", "rome99", "japan-highways", "kanto-highways"} <= datasets.keys()
    for name, dataset in datasets.items():
        assert dataset.description, name
        assert dataset.license, name
        assert dataset.attribution, name
        assert dataset.weight_unit or dataset.is_batch, name
        # The files of these have no published checksum; the first download fixes it.
        assert not dataset.urls or dataset.sha256 or name.startswith(LOCKED), name


def test_a_matrix_of_suitesparse_is_one_line(refused):
    entry = Dataset.model_validate({"suitesparse": "HB/1138_bus"})
    assert (entry.format, entry.file_name) == ("matrix-market", "1138_bus.tar.gz")
    assert entry.urls == ["https://sparse.tamu.edu/MM/HB/1138_bus.tar.gz"]
    assert "like HB/1138_bus" in refused({"suitesparse": "1138_bus"})
    assert "leave out `format`" in refused({"suitesparse": "HB/1138_bus", "format": "matrix-market"})


def test_importing_the_registry_loads_no_numerics():
    heavy = "{'numpy', 'pyarrow', 'scipy', 'numba', 'requests', 'rich'}"
    code = f"import sys, relaxometer.datasets.registry; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_config_adds_its_own():
    theirs = {"format": "dimacs", "url": "https://x.org/a%20b.gr"}
    named = {"format": "dimacs", "url": "http://x.org/?download=7", "file": "seven.gr.gz"}
    datasets = load_registry(OWN, {"mine": SMALL, "theirs": theirs, "named": named})
    files = [datasets[name].file_name for name in ("mine", "theirs", "named")]
    assert files == [None, "a b.gr", "seven.gr.gz"], "a name of its own makes any URL good"
    assert datasets["theirs"].urls == ["https://x.org/a%20b.gr"]


def test_a_dataset_survives_being_handed_to_a_job():
    for dataset in load_registry(OWN, {"mine": SMALL}).values():
        given = dataset.model_dump()
        assert Dataset.model_validate(given).model_dump() == given


def test_an_entry_has_files_terms_and_paths(monkeypatch):
    places = {"url": "https://x.org/a.co", "sha256": "0" * 64}
    dataset = Dataset(format="dimacs", url="https://x.org/v1/a.gr", file="b.gr", coordinates=places)
    assert [file.file_name for file in dataset.files] == ["b.gr", "a.co"]
    assert dataset.files[0].as_download()["urls"] == ["https://x.org/v1/a.gr"]
    assert DataFile(**dataset.files[1].as_download()) == DataFile(**places)
    assert Dataset(format="kanto-like", seed=1).files == []
    assert Dataset(**SMALL).terms == "licence not stated"
    assert Dataset(**SMALL, license="ODbL 1.0", attribution="© OSM").terms == "ODbL 1.0; © OSM"
    monkeypatch.setenv("HOME", "/home/me")
    assert Dataset(**{**SMALL, "path": "~/small.gr"}).paths == {"path": "/home/me/small.gr"}
    assert Dataset(**{**SMALL, "path": "~nobody-of-this-name/x.gr"}).path == "~nobody-of-this-name/x.gr"


TAKEN = "https://x.org/USA-road-d.NY.gr.gz"
UNIT_IN_A_RANGE = {"distribution": "unit", "range": [3, 9]}


def of_file(form="osm-pbf", **parameters):
    return {"format": form, "path": "x", "parameters": parameters}


def extracted(base):
    return {"format": "kanto-like-main", "extracted_from": base}


def generated(weights, form="rmat", **parameters):
    parameters = parameters or {"scale": 4}
    return {"format": form, "seed": 1, "parameters": {**parameters, "weights": weights}}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**SMALL, "format": "topology", "coordinates": {"path": "x"}}, "'topology' takes no `coordinates`"),
        ({**SMALL, "coordinates": {}}, "datasets.mine.coordinates: needs `path` or `urls`"),
        (of_file("topology", weights={"distribution": "unti"}), "'unti' is invalid: should be one of 'unit'"),
        ({**SMALL, "licence": "MIT"}, "config: datasets.mine.licence: unknown key (its value is 'MIT'); did"),
        ({"path": "x"}, "config: datasets.mine.format: missing"),
        ({**SMALL, "format": "dimac"}, "did you mean 'dimacs'?"),
        ({**SMALL, "sha256": "abc"}, "datasets.mine.sha256: 'abc' is invalid: should be 64 hexadecimal"),
        ({"format": "dimacs", "url": "ftp://x.org/a"}, "'ftp://x.org/a' is invalid: should be a URL like"),
        ({"format": "dimacs", "url": "http://[/b"}, "should be a URL like https://host/name.gr.gz (Invalid"),
        ({"format": "dimacs", "url": "http://x.org/\x1bb"}, "like https://host/name.gr.gz, without control"),
        ({"format": "dimacs", "url": f"http://x.org/{100 * 'ab'}"}, "more than 19 times at its end"),
        ({**SMALL, "weights": {}}, "datasets.mine: `weights` is a parameter of format 'dimacs'; write `para"),
        ({**SMALL, "urls": ["https://x.org/a.gr"]}, "datasets.mine: give `path` or `urls`, not both"),
        ({"format": "dimacs", "url": "http://x/a", "urls": ["http://x/b"]}, "give `url` or `urls`, not both"),
        ({**SMALL, "file": "a.gr"}, "datasets.mine: `file` names a download; leave it out, or give `url`"),
        ({"format": "kanto-like", "seed": 1, "bytes": 9}, "'kanto-like' takes no `bytes`: it reads no file"),
        ({**SMALL, "seed": 3}, "datasets.mine: format 'dimacs' takes no `seed`"),
        ({"format": "kanto-like"}, "datasets.mine: format 'kanto-like' needs `seed`"),
        ({"format": "highways"}, "config: datasets.mine: parameters: box: missing"),
        (of_file(box={"south": 3, "west": 1, "north": 2, "east": 4}), "box: south must be below north"),
        (extracted("kanto-lik"), "extracted_from: unknown dataset 'kanto-lik'; did you mean 'kanto-like'?"),
        ({"format": "dimacs", "url": TAKEN}, "mine.urls: USA-road-d.NY.gr.gz is also the file of usa-ny"),
        ({**SMALL, "path": "https://x.org/a.gr"}, "be a file on this machine; write `url` for a"),
        ({**SMALL, "path": "maps/{town}.gr"}, "mine.path: 'maps/{town}.gr' is invalid: should have no"),
        ({**SMALL, "path": "a\x1bb"}, r"mine.path: 'a\x1bb' is invalid: should have no control characters"),
        (extracted("mine"), "mine.extracted_from: mine from mine is circular; expected another graph"),
        (extracted("cfg-python-stdlib"), "extracted_from: 'cfg-python-stdlib' is a batch; expected a graph"),
        (extracted("usa-ny"), "extracted_from: 'usa-ny' has format 'dimacs'; format 'kanto-like-main' is"),
        (of_file(polygon=[[35, 139], [36, 139], [36, 140]]), "polygon.0: [35, 139] is invalid: corners are"),
        (of_file(rail_km_per_hour=50), "rail_km_per_hour is for railways; add `railways: true`, or leave it"),
        (generated(UNIT_IN_A_RANGE), "weights.range: [3, 9] is invalid: all unit weights are 1; leave it ou"),
        (of_file("edge-list", weights=UNIT_IN_A_RANGE), "weights.range: unknown key (its value is [3, 9]);"),
        (generated({"range": [1, 10**400]}), "weights.range: [1, 100000000000000000...0000000000000000000]"),
        (generated({"type": "int32", "range": [-1, 4]}), "weights: an undirected edge of negative"),
        (generated({"type": "int32", "range": [-1, 4]}, "star", vertices=9), "cycle; give a range from 0"),
        ({**SMALL, "parameters": 3}, "datasets.mine.parameters: 3 is invalid: should be a section with keys"),
        ("small.gr", "config: datasets.mine: 'small.gr' is invalid: should be a section with keys"),
        ({**SMALL, "bytes": "many"}, "datasets.mine.bytes: 'many' is invalid: should be a valid integer"),
        ({"format": "flow-random", "seed": 1, "parameters": {"vertices": 9, "reach": 2**64}}, "reach: 18446"),
        (generated({"type": "float32", "range": [0, float("nan")]}), "weights.range.1: nan is"),
        (generated({}, scale=4, a=0.9), "parameters: a, b, c and d must add up to 1, not 1.33"),
        (generated({}, "grid", rows=2**16, columns=2**16), "4294967296 vertices; vertex ids have 32 bits"),
        (generated({"range": [5, 4]}), "weights.range: [5, 4] is invalid: the first must not be above the"),
        (generated({"distribution": "log-uniform", "range": [0, 4]}), "log-uniform weights need 0 < lower"),
        ({"format": "graph500", "parameters": {"scale": 4, "weight_range": [3, 2]}}, "the first must not be"),
        (generated({"range": [-1, 4]}), "negative weights need `type: int32`"),
        (generated({"range": [0.5, 4]}), "fractions need `type: float32` or `float64`"),
        (generated({"type": "float32", "range": [-0.5, 4]}), "weights of type float32 are from 0 to 3.4"),
        ({**SMALL, "parameters": {"weights": {"type": "float32"}}}, "invalid: should be 'uint32' or 'int32'"),
        ({"format": "python-cfgs", "distances": "uint64"}, "takes no `distances`: a batch has no weights"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_key(entry, message, refused):
    assert message in refused(entry)


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"file": ".."}, "begins with a dot"),
        ({"file": ""}, "is empty"),
        ({"file": "a/b.gr"}, "has a separator of folders"),
        ({"file": "\x1b]0;title\x07"}, "has control characters"),
        ({"file": "{graph}.gr"}, "has a brace"),
        ({"file": "a.gr "}, "begins or ends with a space"),
        ({"file": "é" * 101}, "is longer than 200 bytes"),
        ({"file": "a.gr.sha256"}, "ends like the downloader's own files (.part, .part.json, .sha256)"),
        ({"url": "http://x.org/..%2F..%2F..%2Fevil"}, "has a separator of folders"),
        ({"url": "http://x.org/?x"}, "is empty"),
        ({"url": "http://x.org/%00"}, "has control characters"),
    ],
)
def test_a_download_has_one_plain_name(keys, fault, refused):
    entry = {"format": "dimacs", "url": "http://x.org/a.gr", **keys}
    key = "datasets.mine.file: " if "file" in keys else "datasets.mine: `url` ends in "
    message = refused(entry)
    assert message.startswith(f"config: {key}")
    assert "should be one plain file name, as in `file: name.gr.gz`; this one " + fault in message
    assert len(message) < 300


def test_a_name_must_serve_as_a_folder_and_be_free(refused):
    assert "datasets: key 'Mine!' is invalid: should be lower-case letters, digits" in refused(SMALL, "Mine!")
    assert "should have at most 100 characters" in refused(SMALL, "m" * 101)
    assert refused(SMALL, "usa-ny").startswith("config: datasets.usa-ny: the name is taken in ")


@pytest.mark.parametrize("part", ["a", "ab", "a1-"])
def test_a_name_that_snakemake_takes_for_an_endless_recursion_is_refused(part, refused):
    most, detector = MAX_REPEATS * part, PeriodicityDetector()
    assert detector.is_periodic(f"x{most}") is None
    assert f"x{most}" in load_registry(OWN, {f"x{most}": SMALL})
    assert detector.is_periodic(f"x{most}{part}") == part
    assert f"datasets: key 'x{most}{part}' is invalid: should not repeat {part!r} more than 19 times" in (
        refused(SMALL, f"x{most}{part}")
    )


def test_extracts_that_lead_in_a_circle_are_refused(tmp_path):
    entries = {name: extracted(base) for name, base in ("ab", "bc", "cb")}
    path = tmp_path / "datasets.yaml"
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    said = "a from b from c from b is circular; expected another graph"
    assert refusal(load_registry, path, {}) == f"{path}: c.extracted_from: {said}"


@pytest.mark.parametrize(
    ("name", "parameters"), [("road-like", {"rows": 9, "columns": 9}), ("rmat", {"scale": 4})]
)
def test_a_format_says_whether_its_vertices_have_coordinates(name, parameters):
    dataset = Dataset(format=name, seed=1, parameters=parameters)
    assert dataset.has_coordinates == (built(name, seed=1, **parameters).lon is not None)
    assert Dataset(**SMALL, coordinates={"path": "x"}).has_coordinates


def test_new_weights_keep_the_coordinates_of_the_graph_that_they_are_put_on():
    def reweighted(base):
        return {"format": "reweighted", "extracted_from": base, "parameters": {"type": "float32"}}

    entries = {
        "main": extracted("kanto-like"),
        "twice": reweighted("once"),
        "once": reweighted("kanto-highways"),
        "none": reweighted("usa-ny"),
    }
    datasets = load_registry(OWN, entries)
    found = {name: datasets[name].has_coordinates for name in entries}
    assert found == {"main": True, "twice": True, "once": True, "none": False}


@pytest.fixture
def small_file(tmp_path):
    path = tmp_path / "small.gr"
    path.write_text("p sp 3 3\na 1 2 5\na 1 2 4\na 2 3 6\n", encoding="utf-8")
    return path


def test_a_graph_carries_its_origin(small_file):
    entry = {"license": "MIT", "weight_unit": "m", "vertices": 3, "arcs": 2}
    graph = built("dimacs", small_file, entry=entry)
    assert graph.name == "small"
    assert graph.metadata["arcs_in_file"] == 3
    assert graph.metadata["directed"] is True
    assert graph.metadata["license"] == "MIT"
    assert graph.metadata["origin"] == str(small_file)
    assert len(graph.metadata["file_sha256"]) == 64


@pytest.mark.parametrize(("what", "promised", "found"), [("vertices", 4, 3), ("arcs", 3, 2)])
def test_unexpected_counts_are_refused(small_file, what, promised, found):
    said = refusal(built, "dimacs", small_file, entry={what: promised})
    assert said.startswith(f"graph small: {found} {what}, but its dataset promises {promised};")


def test_an_unexpected_file_is_refused(small_file):
    said = refusal(built, "dimacs", small_file, entry={"sha256": "0" * 64})
    assert "small.gr: not the file that the dataset names: sha256 is " in said
    assert said.endswith(f", expected {'0' * 64}")
    size = small_file.stat().st_size
    said = refusal(built, "dimacs", small_file, entry={"bytes": size - 1})
    assert f"small.gr: {size} bytes, but its dataset promises {size - 1}; the file is incomplete" in said
    assert built("dimacs", small_file, entry={"bytes": size}).n_arcs == 2
    gone = small_file.with_name("gone.gr")
    assert "gone.gr: not readable (No such file" in refusal(built, "dimacs", gone, entry={"bytes": size})


def test_pages_show_the_texts_of_the_entry_and_those_that_its_format_keeps():
    base = {"description": "Streets", "license": "CC0-1.0", "attribution": "Town", "citation": "A paper"}
    derived = {"format": "reweighted", "extracted_from": "base", "parameters": {"type": "float32"}}
    copies = {"format": "sewn", "extracted_from": "derived", "parameters": {"rows": 2, "columns": 1}}
    entries = {
        "base": {**SMALL, **base},
        "derived": derived,
        "described": {**derived, "description": "Seconds", "license": "MIT", "homepage": "https://town"},
        "copies": {**copies, "attribution": "Us"},
    }
    datasets = load_registry(OWN, entries)
    base["origin"] = SMALL["path"]
    assert {name: datasets[name].texts for name in entries} == {
        "base": base,
        "derived": base,
        "described": {**base, "description": "Seconds", "license": "MIT", "origin": "https://town"},
        "copies": {**base, "description": "", "origin": None, "attribution": "Us"},
    }
    assert datasets["described"].as_built() == datasets["derived"].as_built()
    assert Dataset(**datasets["base"].as_built(), **datasets["base"].about()) == datasets["base"]


def test_a_text_that_the_entry_has_no_longer_is_not_shown():
    metadata = {"name": "small", "license": "CC0-1.0", "attribution": "Town", "vertices": 0}
    texts = Dataset(**SMALL, attribution="Village").texts
    expected = {"name": "small", "attribution": "Village", "vertices": 0, "origin": SMALL["path"]}
    assert with_texts(metadata, texts) == expected
