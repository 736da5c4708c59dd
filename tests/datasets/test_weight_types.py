"""Types of weights: what each format brings, and one line for each weight that its type does not hold."""

import re
from dataclasses import replace

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets import weights
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.formats.maps import HighwayParameters
from relaxometer.datasets.formats.reweighted import ReweightedParameters
from relaxometer.datasets.formats.sewn import SewnParameters
from relaxometer.datasets.generators.reweighted import reweighted
from relaxometer.datasets.generators.sewn import sew
from relaxometer.datasets.parameters import BOUNDS, Box, LogUniform, Weights
from relaxometer.datasets.readers.edge_weights import make_weights
from relaxometer.datasets.readers.highways import highways_inside
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph
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


def build(tmp_path, form, content, weights):
    path = tmp_path / "small"
    path.write_text(content, encoding="utf-8")
    parameters = {"weights": weights} | ({"directed": True} if form == "edge-list" else {})
    return build_graph("small", Dataset(format=form, path=str(path), parameters=parameters), files=[path])


def weights_of(graph):
    return graph.weights.dtype.name, graph.weights.tolist()


def arcs_of(graph):
    ends = zip(graph.tails.tolist(), graph.targets.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


@pytest.mark.parametrize(
    ("form", "content", "weights", "expected"),
    [
        # Real values are float32 and integers uint32, unless the type or a scale is given.
        ("matrix-market", mtx("real general", "0.1"), {}, ("float32", [float(np.float32(0.1)), 7.0])),
        ("matrix-market", mtx("integer general", "4"), {}, ("uint32", [4, 7])),
        ("matrix-market", mtx("integer general", "2.0"), {"type": "int32"}, ("int32", [2, 7])),
        ("matrix-market", mtx("integer general", "2.6"), {"scale": 1}, ("uint32", [3, 7])),
        ("matrix-market", mtx("real general", "0.26"), {"scale": 10}, ("uint32", [3, 70])),
        (
            "matrix-market",
            mtx("real general", "0.25"),
            {"scale": 10, "type": "float32"},
            ("float32", [2.5, 70.0]),
        ),
        ("matrix-market", mtx("real general", "-4"), {"type": "int32"}, ("int32", [-4, 7])),
        # Doubles are the decimals, rounded once.
        *(
            ("matrix-market", mtx("real general", value), {"type": "float64"}, ("float64", [float(value), 7]))
            for value in ("0.1", "1e-320", repr(LARGEST_DOUBLE))
        ),
        (
            "matrix-market",
            mtx("real general", "0.1"),
            {"type": "float64", "scale": 3},
            ("float64", [0.1 * 3, 21]),
        ),
        # The ends of float32.
        ("matrix-market", mtx("real general", "1.4e-45"), {}, ("float32", [2.0**-149, 7.0])),
        ("matrix-market", mtx("real general", repr(LARGEST)), {}, ("float32", [LARGEST, 7.0])),
        # An edge list has floats if it has decimals.
        ("edge-list", "1 2 3\n2 3 4.0\n", {}, ("uint32", [3, 4])),
        ("edge-list", "1 2 3\n2 3 0.5\n", {}, ("float32", [3.0, 0.5])),
        ("edge-list", f"1 2 {2**32 - 2}\n2 3 1\n", {}, ("uint32", [2**32 - 2, 1])),
        ("edge-list", f"1 2 {2**32}\n2 3 0.5\n", {}, ("float32", [2.0**32, 0.5])),
        ("edge-list", BEYOND_UINT32, {"type": "float64"}, ("float64", [16777217.0, 2.0**32 - 1])),
        ("edge-list", BEYOND_UINT32, {"scale": 0.5}, ("uint32", [8388608, 2**31])),
        ("edge-list", BEYOND_UINT32, {"distribution": "unit"}, ("uint32", [1, 1])),
        ("edge-list", "1 2 7\n2 3 0.4\n", {"type": "int32", "scale": 1}, ("int32", [7, 0])),
        ("edge-list", "1 2 3\n", {"type": "float32"}, ("float32", [3.0])),
        ("edge-list", "1 2 0.1\n2 3 7\n", {"type": "float64"}, ("float64", [0.1, 7.0])),
        ("edge-list", "1 2 3\n2 3 -4\n", {"type": "int32"}, ("int32", [3, -4])),
        *(
            (
                "edge-list",
                "1 2\n2 3\n",
                {**LOG_UNIFORM, "type": kind},
                (kind, make_weights(LogUniform(**LOG_UNIFORM, type=kind), 2).tolist()),
            )
            for kind in ("float32", "float64")
        ),
        ("topology", "p tw 2 1\n1 2\n", {"distribution": "unit", "type": "float64"}, ("float64", [1, 1])),
        ("dimacs", gr(-4), {"type": "int32"}, ("int32", [5, -4])),
    ],
)
def test_each_format_brings_its_type(tmp_path, form, content, weights, expected):
    given = weights if form == "dimacs" else {**VALUES, **weights}
    found = build(tmp_path, form, content, given)
    assert weights_of(found) == expected
    assert not np.signbit(found.weights[found.weights == 0]).any()


@pytest.mark.parametrize(
    ("form", "content", "weights", "line", "message"),
    [
        ("matrix-market", mtx("integer general", "2.5"), {}, 3, f"value 2.5 has a fraction; {ROUND}"),
        ("matrix-market", mtx("real general", "2.5"), {"type": "uint32"}, 3, f"has a fraction; {ROUND}"),
        ("edge-list", "1 2 7\n2 3 0.4\n", {"type": "uint32"}, 2, f"value 0.4 has a fraction; {ROUND}"),
        (
            "matrix-market",
            mtx("integer symmetric", "-4"),
            {"type": "int32"},
            3,
            "value -4 is not a number from 0 to 2147483647; an undirected edge of negative weight is a "
            "negative cycle",
        ),
        *(
            (
                "matrix-market",
                mtx("real general", value),
                {"type": kind},
                3,
                f"value {value} is not a number from 0 to {largest}",
            )
            for value in ("nan", "-inf", "1e999")
            for kind, largest in (("float32", LARGEST), ("float64", LARGEST_DOUBLE))
        ),
        (
            "matrix-market",
            mtx("real general", repr(LARGEST_DOUBLE)),
            {"type": "float64", "scale": NEXT},
            3,
            f"value {LARGEST_DOUBLE} is not a number from 0 to {LARGEST_DOUBLE / NEXT}",
        ),
        (
            "matrix-market",
            mtx("real general", "inf"),
            {"type": "float32", "scale": 1e-300},
            3,
            "value inf is not a number from 0 to",
        ),
        ("matrix-market", mtx("real general", "-0.5"), {}, 3, f"; negative weights need {INT32}"),
        ("edge-list", "1 2 3\n2 3 -0.5\n", {"type": "float64"}, 2, f"; negative weights need {INT32}"),
        ("edge-list", "1 2 3\n2 3 -4\n", {}, 2, f"; negative weights need {INT32}"),
        (
            "edge-list",
            BEYOND_UINT32,
            {},
            None,
            "value 4294967295 of edge 2 of the file is above 4294967294, the largest weight of type uint32; "
            "give `type: float64` or `float32`, or a `scale`",
        ),
        (
            "matrix-market",
            mtx("integer general", 5, "2 2 -7"),
            {"type": "int32"},
            None,
            "arc 2 of the file leads from a vertex to itself and has weight -7: a negative cycle",
        ),
        ("dimacs", gr(-4, "2 2"), {"type": "int32"}, None, "has weight -4: a negative cycle"),
        ("dimacs", gr(-4), {}, 3, f"weight -4 is not an integer from 0 to 4294967294; {DIMACS_INT32}"),
        ("dimacs", gr(0.5), {}, 3, "weight 0.5 is not an integer from 0 to 4294967294"),
        *(
            (
                "dimacs",
                gr(weight),
                {"type": "int32"},
                3,
                f"weight {weight} is not an integer from -2147483647 to 2147483647",
            )
            for weight in (-(2**31), 2**31)
        ),
    ],
)
def test_what_the_type_does_not_hold_is_one_line(tmp_path, form, content, weights, line, message):
    with pytest.raises(UserError) as caught:
        build(tmp_path, form, content, weights if form == "dimacs" else {**VALUES, **weights})
    where = f"{tmp_path}/small:" if line is None else f"{tmp_path}/small:{line}: "
    assert str(caught.value).startswith(where)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_advice_on_negative_fractions_can_be_followed(tmp_path):
    edge = "0 1 -0.5\n1 2 0.25\n"

    def advice(**weights):
        with pytest.raises(UserError) as caught:
            build(tmp_path, "edge-list", edge, {**VALUES, **weights})
        return str(caught.value).partition("; ")[2]

    assert (
        advice()
        == f"negative weights need {INT32}, and fractions a `scale` that makes integers of them, such as 1000"
    )
    assert advice(type="int32").endswith("to round negative ones less, give a larger scale")
    found = build(tmp_path, "edge-list", edge, {**VALUES, "type": "int32", "scale": 1000})
    assert weights_of(found) == ("int32", [-500, 250])


@pytest.mark.parametrize(
    ("form", "content"),
    [("edge-list", "0 1 1e-46\n"), ("matrix-market", mtx("real general", "1e-46", "2 3 0"))],
)
def test_weights_that_are_all_0_in_their_type_name_the_file_and_a_wider_one(tmp_path, form, content):
    with pytest.raises(UserError) as caught:
        build(tmp_path, form, content, VALUES)
    expected = "type float32 makes every weight 0, since the largest value is 1e-46"
    assert str(caught.value) == f"{tmp_path}/small: {expected}; give a `scale` above 1, or `type: float64`"
    assert build(tmp_path, form, content, {**VALUES, "type": "float64"}).weights.max() == 1e-46


def test_a_scale_does_not_make_doubles_infinite(tmp_path):
    edge = mtx("real general", repr(LARGEST_DOUBLE / NEXT))
    found = build(tmp_path, "matrix-market", edge, {**VALUES, "type": "float64", "scale": NEXT})
    assert np.isfinite(found.weights).all()


def test_values_of_graph500_are_floats(tmp_path):
    files = [tmp_path / "edges", tmp_path / "weights"]
    np.array([[0, 1], [1, 2]], "<i8").tofile(files[0])
    np.array([0.1, 0.75], "<f4").tofile(files[1])

    def built(**scale):
        entry = {
            "format": "graph500-edges",
            "path": str(files[0]),
            "edge_weights": {"path": str(files[1])},
            "parameters": {"scale": 2, "weights": {**VALUES, **scale}},
        }
        return build_graph("small", Dataset(**entry), files=files)

    assert weights_of(built()) == ("float32", np.float32([0.1, 0.1, 0.75, 0.75]).tolist())
    assert weights_of(built(scale=4)) == ("uint32", [0, 0, 3, 3])
    of_file = float(np.float32(0.1))
    assert weights_of(built(type="float64")) == ("float64", [of_file, of_file, 0.75, 0.75])
    fraction = r"weights: edge 0 has weight 0\.1\d*, a fraction; weights of type uint32"
    with pytest.raises(UserError, match=fraction):
        built(type="uint32")
    np.array([0.1, np.nan], "<f4").tofile(files[1])
    with pytest.raises(UserError, match=r"weights: edge 1 has weight nan, expected 0 to 3\.4"):
        built()


@pytest.mark.parametrize(
    ("form", "write"), [("osm-pbf", write_extract), ("ksj-n02", write_railways)], ids=["walks", "rides"]
)
def test_times_in_seconds(tmp_path, form, write):
    file = write(tmp_path / ("small.osm.pbf" if form == "osm-pbf" else "N02.zip"))

    def built(kind):
        dataset = Dataset(format=form, path=str(file), parameters={"weights": {"type": kind}})
        return build_graph("small", dataset, files=[file])

    integers, floats, doubles = map(built, ("uint32", "float32", "float64"))
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

    def built(unit, kind="uint32"):
        parameters = {"weights": {"type": kind}}
        dataset = Dataset(format="osm-pbf", path=str(file), weight_unit=unit, parameters=parameters)
        return build_graph("small", dataset, files=[file])

    assert built("ms").metadata["weight_unit"] == "ms"
    assert built(None).metadata["weight_unit"] == "ms"
    for unit, kind, known in (("s", "uint32", "ms"), ("ms", "float32", "s")):
        with pytest.raises(UserError) as caught:
            built(unit, kind)
        assert str(caught.value) == (
            f"graph small: `weight_unit` of its dataset is '{unit}', but its weights are in '{known}'; give "
            "that, or leave it out"
        )


@pytest.mark.parametrize(
    ("kind", "speed", "expected"),
    [
        ("uint32", 1e-320, "an integer from 0 to 4294967294"),
        ("float32", 1e-300, "a finite number from 0 to 3.40282e+38"),
    ],
)
def test_times_beyond_the_type_are_refused(tmp_path, kind, speed, expected):
    file = write_extract(tmp_path / "small.osm.pbf")
    parameters = {"metres_per_minute": speed, "weights": {"type": kind}}
    dataset = Dataset(format="osm-pbf", path=str(file), parameters=parameters)
    with pytest.raises(
        UserError, match=rf"^graph small: weight of arc 0 is [^\n]*; expected {re.escape(expected)}$"
    ):
        build_graph("small", dataset, files=[file])


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
    def made(self, form, **parameters):
        dataset = Dataset(format=form, seed=1, parameters=parameters)
        return build_graph("made", dataset, files=[])

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

    def test_floats_follow_their_distribution(self):
        uniform = weights.draw(Weights(type="float32", range=(2.0, 3.0)), 9, 50_000)
        assert (uniform.dtype, uniform.min() >= 2, uniform.max() <= 3) == (np.float32, True, True)
        np.testing.assert_allclose(np.histogram(uniform, 10, (2, 3))[0], 5000, rtol=0.06)
        decades = weights.draw(
            Weights(type="float32", distribution="log-uniform", range=(1e-3, 1e3)), 9, 60_000
        )
        np.testing.assert_allclose(
            np.bincount((np.floor(np.log10(decades)) + 3).astype(int)), 10_000, rtol=0.04
        )

    def test_the_whole_range_of_floats(self):
        for kind, largest, least, tenth in (
            ("float32", LARGEST, 1e-45, 1e30),
            ("float64", LARGEST_DOUBLE, 5e-324, 1e280),
        ):
            wide = weights.draw(Weights(type=kind, range=(0, largest)), 9, 1000)
            assert np.isfinite(wide).all()
            wide = weights.draw(
                Weights(type=kind, distribution="log-uniform", range=(least, largest)), 9, 1000
            )
            assert np.isfinite(wide).all()
            assert wide.min() < 1 / tenth < tenth < wide.max()

    def test_negative_arcs_and_exponents_that_yaml_reads_as_text(self):
        negative = {"type": "int32", "range": [-5, 20]}
        graph = self.made("uniform-random", vertices=50, mean_degree=6, undirected=False, weights=negative)
        assert (graph.weights.dtype, graph.weights.min(), graph.weights.max()) == (np.int32, -5, 20)
        weights = {"type": "float32", "range": ["1e-3", 1]}
        assert self.made("chain", vertices=3, weights=weights).weights.max() <= 1


class TestReweighted:
    MAP = Graph.from_arcs("map", 3, [0, 1, 0], [1, 2, 2], [10, 20, 31], undirected=True)

    def test_floats_in_another_unit(self):
        found = reweighted("other", self.MAP, ReweightedParameters(type="float32", scale=0.1))
        assert found.name == "other"
        assert weights_of(found) == ("float32", np.float32([1, 3.1, 1, 2, 3.1, 2]).tolist())
        assert found.targets is self.MAP.targets
        found = reweighted("other", self.MAP, ReweightedParameters(type="float64", scale=0.1))
        assert weights_of(found) == ("float64", [1.0, 31 * 0.1, 1.0, 2.0, 31 * 0.1, 2.0])

    def test_doubles_as_base(self):
        base = reweighted("base", self.MAP, ReweightedParameters(type="float64", scale=1e300))
        found = reweighted("other", base, ReweightedParameters(type="float32", scale=1e-300))
        assert found.weights.tolist() == np.float32([10, 31, 10, 20, 31, 20]).tolist()
        with pytest.raises(UserError, match=r"^graph other: weight of arc 0 is .*; expected a finite number"):
            reweighted("other", base, ReweightedParameters(type="float64", scale=1e8))

    def test_a_scale_that_leaves_no_weight_above_0_is_refused(self):
        with pytest.raises(UserError, match=r"^`scale: 1e-60` makes every weight 0, since .* is 31; "):
            reweighted("other", self.MAP, ReweightedParameters(type="float32", scale=1e-60))

    def test_potentials_make_negative_arcs_and_no_negative_cycle(self):
        found = reweighted("other", self.MAP, ReweightedParameters(type="int32", potentials=1000, seed=3))
        assert found.weights.min() < 0
        both, old = arcs_of(found), arcs_of(self.MAP)
        for one, other in old:
            assert both[one, other] + both[other, one] == 2 * old[one, other]
        assert both[0, 1] + both[1, 2] + both[2, 0] == 10 + 20 + 31
        assert "directed" not in found.metadata

    def test_what_the_type_does_not_hold(self):
        with pytest.raises(
            UserError, match=r"^graph other: weight of arc 1 is 3100000000; expected an integer"
        ):
            reweighted("other", self.MAP, ReweightedParameters(type="int32", scale=1e8))
        with pytest.raises(ValueError, match="potentials make negative weights"):
            ReweightedParameters(type="float32", potentials=4)

    def test_the_unit_stays_without_a_scale_and_the_base_s_making_is_not_repeated(self):
        made = {"seed": 7, "generator": "x", "parameters": {"rows": 3}, "license": "CC0-1.0"}
        base = replace(self.MAP, metadata={"weight_unit": "m", "directed": False, **made})

        def metadata(scale, **entry):
            parameters = {"type": "uint32", "scale": scale}
            dataset = Dataset(format="reweighted", extracted_from="map", parameters=parameters, **entry)
            return build_graph("other", dataset, files=[], base=base).metadata

        assert metadata(1)["weight_unit"] == "m"
        assert "weight_unit" not in metadata(2)
        found = metadata(2, weight_unit="steps")
        assert (found["weight_unit"], found["license"]) == ("steps", "CC0-1.0")
        assert found["parameters"] == {"type": "uint32", "scale": 2, "potentials": 0, "seed": 1}
        assert not {"seed", "generator"} & found.keys()


def test_copies_of_a_map_keep_its_type():
    for kind in ("float32", "float64"):
        base = reweighted("floats", TestReweighted.MAP, ReweightedParameters(type=kind, scale=0.1))
        sewn = sew("sewn", base, SewnParameters(rows=1, columns=2))
        assert sewn.weights.dtype == np.dtype(kind)
        assert set(sewn.weights.tolist()) <= set(base.weights.tolist())
    negative = reweighted("negative", TestReweighted.MAP, ReweightedParameters(type="int32", potentials=99))
    with pytest.raises(UserError, match=r"^graph sewn: the map has negative weights"):
        sew("sewn", negative, SewnParameters(rows=1, columns=2))


class TestWideDistances:
    """`distances: uint64` of an entry, whatever the format, for weights of type uint32."""

    def built(self, kind="uint32", **keys):
        parameters = {"type": kind, "scale": 1e8}
        dataset = Dataset(format="reweighted", extracted_from="map", parameters=parameters, **keys)
        return build_graph("far", dataset, files=[], base=TestReweighted.MAP)

    def test_they_are_chosen_by_the_entry(self):
        assert self.built().lengths.name == "uint32"
        far = self.built(distances="uint64")
        assert far.lengths.name == "uint32/uint64"
        assert far.weights.max() == 31 * 10**8
        with pytest.raises(UserError, match=r"^graph far: distances of type uint64 need weights of type"):
            self.built("float32", distances="uint64")

    def test_copies_keep_them_and_new_weights_do_not(self):
        base = self.built(distances="uint64")
        assert sew("sewn", base, SewnParameters(rows=1, columns=2)).lengths is base.lengths
        scaled = reweighted("other", base, ReweightedParameters(type="uint32", scale=0.5))
        assert scaled.lengths.name == "uint32"
