"""Weights: distributions, what each format brings, and one line for each that its type does not hold."""

import re
from dataclasses import replace

import numpy as np
import pytest

from built import built, built_from, refusal, weights_by_ends
from relaxometer.core.errors import UserError
from relaxometer.datasets import weights
from relaxometer.datasets.formats.derived import ReweightedParameters, SewnParameters
from relaxometer.datasets.formats.maps import HighwayParameters
from relaxometer.datasets.generators.reweighted import reweighted
from relaxometer.datasets.generators.sewn import sew
from relaxometer.datasets.parameters import BOUNDS, Box, LogNormal, LogUniform, Values, Weights
from relaxometer.datasets.readers.edge_weights import make_weights
from relaxometer.datasets.readers.highways import highways_inside
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS
from sample_osm import write_extract
from sample_railways import write_railways

VALUES = {"distribution": "values"}
INT32 = "`parameters: { weights: { distribution: values, type: int32 } }`"
DIMACS_INT32 = "negative weights need `parameters: { weights: { type: int32 } }`"
LARGEST = float(np.finfo(np.float32).max)
LARGEST_DOUBLE = float(np.finfo(np.float64).max)
NEXT = float(np.nextafter(1, 2))
BEYOND_UINT32 = f"1 2 16777217\n2 3 {2**32 - 1}\n"
ROUND = "weights of type uint32 are integers: give `type: float32`, or `scale: 1` to round them"
LOG_UNIFORM = {"distribution": "log-uniform", "range": [0.5, 2.0], "seed": 7}


def test_bounds_are_those_of_the_types():
    assert {kind.dtype.name: (kind.smallest, kind.largest) for kind in LENGTHS.values()} == BOUNDS


def mtx(kind, value, other="2 3 7"):
    return f"%%MatrixMarket matrix coordinate {kind}\n3 3 2\n1 2 {value}\n{other}\n"


def gr(weight, ends="2 3"):
    return f"p sp 3 2\na 1 2 5\na {ends} {weight}\n"


def of_content(folder, content, weights):
    """Return the graph of a text, which tells its format, with these weights."""
    starts = {"%": "matrix-market", "p sp": "dimacs", "p tw": "topology"}
    form = next((form for start, form in starts.items() if content.startswith(start)), "edge-list")
    directed = {"directed": True} if form == "edge-list" else {}
    given = weights if form == "dimacs" else {**VALUES, **weights}
    return built_from(folder, form, content, weights=given, **directed)


def weights_of(graph):
    return graph.weights.dtype.name, graph.weights.tolist()


REAL, INTEGER = "real general", "integer general"


@pytest.mark.parametrize(
    ("content", "weights", "kind", "expected"),
    [
        # Real values are float32 and integers uint32, unless the type or a scale is given.
        (mtx(REAL, "0.1"), {}, "float32", [float(np.float32(0.1)), 7]),
        (mtx(INTEGER, "2.0"), {"type": "int32"}, "int32", [2, 7]),
        (mtx(REAL, "0.25"), {"scale": 10, "type": "float32"}, "float32", [2.5, 70]),
        (mtx(REAL, "-4"), {"type": "int32"}, "int32", [-4, 7]),
        # Doubles are the decimals, rounded once.
        (mtx(REAL, "0.1"), {"type": "float64"}, "float64", [0.1, 7]),
        (mtx(REAL, "1e-320"), {"type": "float64"}, "float64", [1e-320, 7]),
        (mtx(REAL, repr(LARGEST_DOUBLE)), {"type": "float64"}, "float64", [LARGEST_DOUBLE, 7]),
        (mtx(REAL, "0.1"), {"type": "float64", "scale": 3}, "float64", [0.1 * 3, 21]),
        # The ends of float32.
        (mtx(REAL, "1.4e-45"), {}, "float32", [2.0**-149, 7]),
        (mtx(REAL, repr(LARGEST)), {}, "float32", [LARGEST, 7]),
        # An edge list has floats if it has decimals.
        ("1 2 3\n2 3 0.5\n", {}, "float32", [3, 0.5]),
        (f"1 2 {2**32 - 2}\n2 3 1\n", {}, "uint32", [2**32 - 2, 1]),
        (BEYOND_UINT32, {"type": "float64"}, "float64", [16777217.0, 2.0**32 - 1]),
        (BEYOND_UINT32, {"scale": 0.5}, "uint32", [8388608, 2**31]),
        (BEYOND_UINT32, {"distribution": "unit"}, "uint32", [1, 1]),
        ("1 2 7\n2 3 0.4\n", {"type": "int32", "scale": 1}, "int32", [7, 0]),
        ("1 2 3\n2 3 -4\n", {"type": "int32"}, "int32", [3, -4]),
        ("p tw 2 1\n1 2\n", {"distribution": "unit", "type": "float64"}, "float64", [1, 1]),
        (gr(-4), {"type": "int32"}, "int32", [5, -4]),
    ],
)
def test_each_format_brings_its_type(tmp_path, content, weights, kind, expected):
    found = of_content(tmp_path, content, weights)
    assert weights_of(found) == (kind, expected)
    assert not np.signbit(found.weights[found.weights == 0]).any()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_drawn_floats_are_of_their_type(tmp_path, kind):
    found = of_content(tmp_path, "1 2\n2 3\n", {**LOG_UNIFORM, "type": kind})
    assert weights_of(found) == (kind, make_weights(LogUniform(**LOG_UNIFORM, type=kind), 2).tolist())


UNDIRECTED = "value -4 is not a number from 0 to 2147483647; an undirected edge of negative weight is a neg"
BEYOND = "value 4294967295 of edge 2 of the file is above 4294967294, the largest weight of type uint32; give"
LOOP = "arc 2 of the file leads from a vertex to itself and has weight -7: a negative cycle"


@pytest.mark.parametrize(
    ("content", "weights", "line", "message"),
    [
        (mtx(INTEGER, "2.5"), {}, 3, f"value 2.5 has a fraction; {ROUND}"),
        ("1 2 7\n2 3 0.4\n", {"type": "uint32"}, 2, f"value 0.4 has a fraction; {ROUND}"),
        (mtx("integer symmetric", "-4"), {"type": "int32"}, 3, UNDIRECTED),
        *(
            (mtx(REAL, value), {"type": kind}, 3, f"value {value} is not a number from 0 to {largest}")
            for value in ("nan", "-inf", "1e999")
            for kind, largest in (("float32", LARGEST), ("float64", LARGEST_DOUBLE))
        ),
        (
            mtx(REAL, repr(LARGEST_DOUBLE)),
            {"type": "float64", "scale": NEXT},
            3,
            f"value {LARGEST_DOUBLE} is not a number from 0 to {LARGEST_DOUBLE / NEXT}",
        ),
        (mtx(REAL, "inf"), {"type": "float32", "scale": 1e-300}, 3, "value inf is not a number from 0 to"),
        (mtx(REAL, "-0.5"), {}, 3, f"; negative weights need {INT32}"),
        ("1 2 3\n2 3 -0.5\n", {"type": "float64"}, 2, f"; negative weights need {INT32}"),
        (BEYOND_UINT32, {}, None, f"{BEYOND} `type: float64` or `float32`, or a `scale`"),
        (mtx(INTEGER, 5, "2 2 -7"), {"type": "int32"}, None, LOOP),
        (gr(-4), {}, 3, f"weight -4 is not an integer from 0 to 4294967294; {DIMACS_INT32}"),
        (gr(0.5), {}, 3, "weight 0.5 is not an integer from 0 to 4294967294"),
        (
            gr(2**31),
            {"type": "int32"},
            3,
            "weight 2147483648 is not an integer from -2147483647 to 214748364",
        ),
    ],
)
def test_what_the_type_does_not_hold_is_one_line(tmp_path, content, weights, line, message):
    said = refusal(of_content, tmp_path, content, weights)
    assert said.startswith(f"{tmp_path}/small:{'' if line is None else f'{line}: '}")
    assert message in said


def test_the_advice_on_negative_fractions_can_be_followed(tmp_path):
    edge = "0 1 -0.5\n1 2 0.25\n"
    advice = refusal(of_content, tmp_path, edge, {}).partition("; ")[2]
    assert (
        advice
        == f"negative weights need {INT32}, and fractions a `scale` that makes integers of them, such as 1000"
    )
    advice = refusal(of_content, tmp_path, edge, {"type": "int32"})
    assert advice.endswith("give a `scale` that makes integers of them, such as 1000")
    found = of_content(tmp_path, edge, {"type": "int32", "scale": 1000})
    assert weights_of(found) == ("int32", [-500, 250])


@pytest.mark.parametrize("content", ["0 1 1e-46\n", mtx(REAL, "1e-46", "2 3 0")])
def test_weights_that_are_all_0_in_their_type_name_the_file_and_a_wider_one(tmp_path, content):
    expected = (
        "type float32 makes every weight 0, since the largest value is 1e-46; give a `scale` above 1, or"
    )
    assert refusal(of_content, tmp_path, content, {}) == f"{tmp_path}/small: {expected} `type: float64`"
    assert of_content(tmp_path, content, {"type": "float64"}).weights.max() == 1e-46


def test_values_of_graph500_are_floats(tmp_path):
    files = [tmp_path / "edges", tmp_path / "weights"]
    np.array([[0, 1], [1, 2]], "<i8").tofile(files[0])
    np.array([0.1, 0.75], "<f4").tofile(files[1])

    def of_type(**scale):
        companion = {"edge_weights": {"path": str(files[1])}}
        return built("graph500-edges", *files, entry=companion, scale=2, weights={**VALUES, **scale})

    assert weights_of(of_type()) == ("float32", np.float32([0.1, 0.1, 0.75, 0.75]).tolist())
    assert weights_of(of_type(scale=4)) == ("uint32", [0, 0, 3, 3])
    of_file = float(np.float32(0.1))
    assert weights_of(of_type(type="float64")) == ("float64", [of_file, of_file, 0.75, 0.75])
    fraction = r"weights: edge 0 has weight 0\.1\d*, a fraction; weights of type uint32"
    assert re.search(fraction, refusal(of_type, type="uint32"))
    np.array([0.1, np.nan], "<f4").tofile(files[1])
    assert "weights: edge 1 has weight nan, expected 0 to 3.4" in refusal(of_type)


@pytest.mark.parametrize(
    ("form", "write"), [("osm-pbf", write_extract), ("ksj-n02", write_railways)], ids=["walks", "rides"]
)
def test_times_in_seconds(tmp_path, form, write):
    file = write(tmp_path / ("small.osm.pbf" if form == "osm-pbf" else "N02.zip"))
    integers, floats, doubles = (
        built(form, file, weights={"type": kind}) for kind in ("uint32", "float32", "float64")
    )
    assert floats.weights.dtype == np.float32
    assert doubles.weights.dtype == np.float64
    np.testing.assert_array_equal(doubles.weights.astype(np.float32), floats.weights)
    assert (doubles.weights != floats.weights).any()
    assert doubles.metadata["weight_unit"] == "s"
    np.testing.assert_allclose(floats.weights * 1000.0, integers.weights, rtol=1e-6, atol=0.51)
    assert floats.metadata["weight_unit"] == "s"
    assert integers.metadata["weight_unit"] == "ms"


def test_another_unit_than_the_readers_is_refused(tmp_path):
    file = write_extract(tmp_path / "small.osm.pbf")

    def in_unit(unit, kind="uint32"):
        return built("osm-pbf", file, entry={"weight_unit": unit}, weights={"type": kind})

    assert in_unit("ms").metadata["weight_unit"] == "ms"
    for unit, kind, known in (("s", "uint32", "ms"), ("ms", "float32", "s")):
        said = (
            f"`weight_unit` of its dataset is '{unit}', but its weights are in '{known}'; give that, or leave"
        )
        assert refusal(in_unit, unit, kind) == f"graph small: {said} it out"


@pytest.mark.parametrize(
    ("kind", "speed", "expected"),
    [
        ("uint32", 1e-320, "an integer from 0 to 4294967294"),
        ("float32", 1e-300, "a finite number from 0 to 3.40282e+38"),
    ],
)
def test_times_beyond_the_type_are_refused(tmp_path, kind, speed, expected):
    file = write_extract(tmp_path / "small.osm.pbf")
    said = refusal(built, "osm-pbf", file, metres_per_minute=speed, weights={"type": kind})
    assert said.startswith("graph small: weight of arc 0 is ")
    assert said.endswith(f"; expected {expected}")


@pytest.mark.parametrize(
    ("speed", "kind", "weight", "unit"),
    [
        (None, "uint32", 1235, "m"),
        (None, "float32", float(np.float32(1234.6)), "m"),
        (36, "uint32", 123_460, "ms"),
        (36, "float64", 1.2346 * 1000 / 10, "s"),
    ],
)
def test_highways_by_length_and_by_time(speed, kind, weight, unit):
    box = Box(south=0, west=0, north=2, east=2)
    given = HighwayParameters(box=box, km_per_hour=speed, weights={"type": kind})
    graph = highways_inside("small", [{1: 1.2346}, {0: 1.2346}], [[1, 1], [1, 2]], given)
    assert (*weights_of(graph), graph.metadata["weight_unit"]) == (kind, [weight] * 2, unit)


class TestGenerators:
    def test_the_draws_never_change(self):
        def first(**keys):
            return [weight.hex() for weight in weights.draw(Weights(**keys), 7, 3).tolist()]

        floats = {"type": "float32", "range": (0.5, 1000.0)}
        assert first(**floats) == ["0x1.a61afc0000000p+8", "0x1.d60cac0000000p+8", "0x1.7c7dfe0000000p+6"]
        log_uniform = ["0x1.8af4aa0000000p+3", "0x1.1c5b240000000p+4", "0x1.06db700000000p+0"]
        assert first(distribution="log-uniform", **floats) == log_uniform
        for distribution in ("uniform", "log-uniform"):
            drawn = {**floats, "distribution": distribution}
            doubles = weights.draw(Weights(**{**drawn, "type": "float64"}), 7, 99)
            assert doubles.dtype == np.float64
            singles = weights.draw(Weights(**drawn), 7, 99)
            np.testing.assert_array_equal(doubles.astype(np.float32), singles)
            assert (doubles != singles).all()
        assert weights.draw(Weights(type="int32", range=(-9, 9)), 7, 6).tolist() == [-1, -1, -8, -6, -6, 0]

    def test_the_whole_range_of_floats(self):
        for kind, largest, least, tenth in (
            ("float32", LARGEST, 1e-45, 1e30),
            ("float64", LARGEST_DOUBLE, 5e-324, 1e280),
        ):
            assert np.isfinite(weights.draw(Weights(type=kind, range=(0, largest)), 9, 1000)).all()
            log_uniform = Weights(type=kind, distribution="log-uniform", range=(least, largest))
            wide = weights.draw(log_uniform, 9, 1000)
            assert np.isfinite(wide).all()
            assert wide.min() < 1 / tenth < tenth < wide.max()

    def test_negative_arcs_and_exponents_that_yaml_reads_as_text(self):
        negative = {"undirected": False, "weights": {"type": "int32", "range": [-5, 20]}}
        graph = built("uniform-random", seed=1, vertices=50, mean_degree=6, **negative)
        assert (graph.weights.dtype, graph.weights.min(), graph.weights.max()) == (np.int32, -5, 20)
        weights = {"type": "float32", "range": ["1e-3", 1]}
        assert built("chain", seed=1, vertices=3, weights=weights).weights.max() <= 1


class TestReweighted:
    MAP = Graph.from_arcs("map", 3, [0, 1, 0], [1, 2, 2], [10, 20, 31], undirected=True)

    def test_floats_in_another_unit(self):
        found = reweighted("other", self.MAP, ReweightedParameters(type="float32", scale=0.1))
        assert found.name == "other"
        assert weights_of(found) == ("float32", np.float32([1, 3.1, 1, 2, 3.1, 2]).tolist())
        assert found.targets is self.MAP.targets
        found = reweighted("other", self.MAP, ReweightedParameters(type="float64", scale=0.1))
        assert weights_of(found) == ("float64", [1.0, 31 * 0.1, 1.0, 2.0, 31 * 0.1, 2.0])
        base = reweighted("base", self.MAP, ReweightedParameters(type="float64", scale=1e300))
        found = reweighted("other", base, ReweightedParameters(type="float32", scale=1e-300))
        assert found.weights.tolist() == np.float32([10, 31, 10, 20, 31, 20]).tolist()
        with pytest.raises(UserError, match=r"^graph other: weight of arc 0 is .*; expected a finite number"):
            reweighted("other", base, ReweightedParameters(type="float64", scale=1e8))

    def test_potentials_make_negative_arcs_and_no_negative_cycle(self):
        found = reweighted("other", self.MAP, ReweightedParameters(type="int32", potentials=1000, seed=3))
        assert found.weights.min() < 0
        both, old = weights_by_ends(found), weights_by_ends(self.MAP)
        for one, other in old:
            assert both[one, other] + both[other, one] == 2 * old[one, other]
        assert both[0, 1] + both[1, 2] + both[2, 0] == 10 + 20 + 31
        assert "directed" not in found.metadata

    def test_what_the_type_does_not_hold(self):
        said = refusal(reweighted, "other", self.MAP, ReweightedParameters(type="int32", scale=1e8))
        assert said.startswith("graph other: weight of arc 1 is 3100000000; expected an integer")
        with pytest.raises(ValueError, match="potentials make negative weights"):
            ReweightedParameters(type="float32", potentials=4)

    def test_the_unit_stays_without_a_scale_and_the_base_s_making_is_not_repeated(self):
        made = {"seed": 7, "generator": "x", "parameters": {"rows": 3}, "license": "CC0-1.0"}
        base = replace(self.MAP, metadata={"weight_unit": "m", "directed": False, **made})

        def metadata(scale, **entry):
            entry["extracted_from"] = "map"
            return built("reweighted", entry=entry, base=base, type="uint32", scale=scale).metadata

        assert metadata(1)["weight_unit"] == "m"
        assert "weight_unit" not in metadata(2)
        found = metadata(2, weight_unit="steps")
        assert (found["weight_unit"], found["license"]) == ("steps", "CC0-1.0")
        assert found["parameters"] == {"type": "uint32", "scale": 2, "potentials": 0, "seed": 1}
        assert not {"seed", "generator"} & found.keys()


def test_copies_of_a_map_keep_its_type():
    base = reweighted("floats", TestReweighted.MAP, ReweightedParameters(type="float64", scale=0.1))
    sewn = sew("sewn", base, SewnParameters(rows=1, columns=2))
    assert sewn.weights.dtype == np.float64
    assert set(sewn.weights.tolist()) <= set(base.weights.tolist())
    negative = reweighted("negative", TestReweighted.MAP, ReweightedParameters(type="int32", potentials=99))
    with pytest.raises(UserError, match=r"^graph sewn: the map has negative weights"):
        sew("sewn", negative, SewnParameters(rows=1, columns=2))


class TestWideDistances:
    """`distances: uint64` of an entry, whatever the format, for weights of type uint32."""

    def far(self, kind="uint32", **keys):
        entry = {"extracted_from": "map", **keys}
        return built("reweighted", entry=entry, base=TestReweighted.MAP, type=kind, scale=1e8)

    def test_they_are_chosen_by_the_entry(self):
        assert self.far().lengths.name == "uint32"
        far = self.far(distances="uint64")
        assert far.lengths.name == "uint32/uint64"
        assert far.weights.max() == 31 * 10**8
        said = refusal(self.far, "float32", distances="uint64")
        assert said.startswith("graph small: distances of type uint64 need weights of type")
        base = self.far(distances="uint64")
        assert sew("sewn", base, SewnParameters(rows=1, columns=2)).lengths is base.lengths
        scaled = reweighted("other", base, ReweightedParameters(type="uint32", scale=0.5))
        assert scaled.lengths.name == "uint32"


def test_drawn_weights_have_the_moments_of_their_distribution():
    drawn = make_weights(LogUniform(distribution="log-uniform", range=(10, 970_000)), 400_000)
    assert drawn.min() >= 10
    assert drawn.max() <= 970_000
    assert drawn.mean() == pytest.approx(84_476, rel=0.01)
    assert drawn.std() == pytest.approx(183_943, rel=0.01)
    drawn = make_weights(LogNormal(distribution="lognormal", mu=10, sigma=0.5), 400_000)
    assert np.log(drawn).mean() == pytest.approx(10, abs=0.01)
    assert np.log(drawn).std() == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(("mu", "sigma"), [(100, 1), (1e300, 1e300)])
def test_a_lognormal_distribution_beyond_the_type_is_refused(mu, sigma):
    said = refusal(make_weights, LogNormal(distribution="lognormal", mu=mu, sigma=sigma), 1000)
    assert said.startswith("lognormal weights with mu: ")
    assert f"; expected at most {MAX_WEIGHT}: give a smaller mu or" in said


def test_the_draws_never_change():
    drawn_from = LogUniform(distribution="log-uniform", range=(10, 970_000), seed=7)
    assert make_weights(drawn_from, 5).tolist() == [515902, 13114, 25800, 297211, 7644]
    drawn_from = LogNormal(distribution="lognormal", mu=10, sigma=1.5, seed=7)
    assert make_weights(drawn_from, 5).tolist() == [35537, 147083, 68635, 7100, 10038]


@pytest.mark.parametrize(
    ("kind", "scale", "said"),
    [
        (None, 1e-9, "give a larger one, or `type: float32`"),
        (None, 1e-50, "give a larger one, or `type: float64`"),
        ("float32", 1e-50, "give a larger one, or `type: float64`"),
    ],
)
def test_a_scale_that_leaves_no_weight_above_0_is_refused(kind, scale, said):
    scaled = Values(distribution="values", type=kind, scale=scale)
    expected = f"`scale: {scale:g}` makes every weight 0, since the largest value is 93; {said}"
    assert refusal(make_weights, scaled, 2, np.array([7.0, 93.0])) == expected


def test_a_scale_may_round_some_weights_to_0_and_keeps_those_that_are():
    scaled = Values(distribution="values", scale=0.01)
    assert make_weights(scaled, 2, np.array([7.0, 93.0])).tolist() == [0, 1]
    assert make_weights(scaled, 2, np.zeros(2)).tolist() == [0, 0]
