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
from relaxometer.datasets.parameters import BOUNDS, Box, LogUniform, Unit, Weights
from relaxometer.datasets.readers.edge_weights import make_weights
from relaxometer.datasets.readers.highways import highways_inside
from relaxometer.datasets.registry import Dataset, load_registry
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from sample_osm import write_extract
from sample_railways import write_railways

MTX = "%%MatrixMarket matrix coordinate {} {}\n3 3 2\n1 2 {}\n2 3 7\n"
VALUES = {"distribution": "values"}
INT32 = "`parameters: { weights: { distribution: values, type: int32 } }`"
LARGEST = float(np.finfo(np.float32).max)
LARGEST_DOUBLE = float(np.finfo(np.float64).max)


def test_bounds_are_those_of_the_types():
    assert {kind.dtype.name: (kind.smallest, kind.largest) for kind in LENGTHS.values()} == BOUNDS


def build(tmp_path, form, content, **parameters):
    path = tmp_path / "small"
    path.write_text(content, encoding="utf-8")
    dataset = Dataset(format=form, path=str(path), parameters=parameters)
    return build_graph("small", dataset, files=[path])


def refusal(*args, **parameters):
    with pytest.raises(UserError) as caught:
        build(*args, **parameters)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def weights_of(graph):
    return graph.weights.dtype.name, graph.weights.tolist()


def arcs_of(graph):
    ends = zip(graph.tails.tolist(), graph.targets.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


class TestMatrices:
    def build(self, tmp_path, field, symmetry, value, **weights):
        text = MTX.format(field, symmetry, value)
        return build(tmp_path, "matrix-market", text, weights={**VALUES, **weights})

    def refusal(self, tmp_path, field, symmetry, value, **weights):
        text = MTX.format(field, symmetry, value)
        return refusal(tmp_path, "matrix-market", text, weights={**VALUES, **weights})

    def test_real_is_float32(self, tmp_path):
        found = self.build(tmp_path, "real", "general", "0.1")
        assert weights_of(found) == ("float32", [float(np.float32(0.1)), 7.0])

    def test_integer_is_uint32(self, tmp_path):
        assert weights_of(self.build(tmp_path, "integer", "general", "4")) == ("uint32", [4, 7])

    @pytest.mark.parametrize(
        ("field", "kind"), [("integer", {}), ("integer", {"type": "int32"}), ("real", {"type": "uint32"})]
    )
    def test_fractions_are_rounded_only_if_asked(self, tmp_path, field, kind):
        message = self.refusal(tmp_path, field, "general", "2.5", **kind)
        assert "small:3: '1 2 2.5': value 2.5 has a fraction; weights of type " in message
        assert message.endswith("int32 are integers: give `type: float32`, or `scale: 1` to round them")
        assert weights_of(self.build(tmp_path, field, "general", "2.6", scale=1, **kind))[1] == [3, 7]
        assert weights_of(self.build(tmp_path, field, "general", "2.0", **kind))[1] == [2, 7]

    def test_a_scale_rounds_to_uint32_unless_the_type_is_given(self, tmp_path):
        assert weights_of(self.build(tmp_path, "real", "general", "0.26", scale=10)) == ("uint32", [3, 70])
        floats = self.build(tmp_path, "real", "general", "0.25", scale=10, type="float32")
        assert weights_of(floats) == ("float32", [2.5, 70.0])

    def test_int32_may_be_negative_if_arcs_are_directed(self, tmp_path):
        assert weights_of(self.build(tmp_path, "real", "general", "-4", type="int32")) == ("int32", [-4, 7])
        message = self.refusal(tmp_path, "integer", "symmetric", "-4", type="int32")
        assert "small:3: '1 2 -4': value -4 is not a number from 0 to 2147483647" in message
        assert message.endswith("; an undirected edge of negative weight is a negative cycle")

    def test_doubles_are_the_decimals_rounded_once(self, tmp_path):
        for field, value in (
            ("real", "0.1"),
            ("real", "1e-320"),
            ("real", repr(LARGEST_DOUBLE)),
            ("integer", "4"),
        ):
            found = self.build(tmp_path, field, "general", value, type="float64")
            assert weights_of(found) == ("float64", [float(value), 7.0])
        scaled = self.build(tmp_path, "real", "general", "0.1", type="float64", scale=3)
        assert weights_of(scaled) == ("float64", [0.1 * 3, 21.0])

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
    @pytest.mark.parametrize(("kind", "largest"), [("float32", LARGEST), ("float64", LARGEST_DOUBLE)])
    def test_no_float_holds_it(self, tmp_path, value, kind, largest):
        message = self.refusal(tmp_path, "real", "general", value, type=kind)
        assert f"small:3: '1 2 {value}': value {value} is not a number from 0 to {largest}" in message

    def test_a_scale_does_not_make_doubles_infinite(self, tmp_path):
        scale = float(np.nextafter(1, 2))
        edge = LARGEST_DOUBLE / scale
        found = self.build(tmp_path, "real", "general", repr(edge), type="float64", scale=scale)
        assert np.isfinite(found.weights).all()
        beyond = repr(LARGEST_DOUBLE)
        message = self.refusal(tmp_path, "real", "general", beyond, type="float64", scale=scale)
        assert f"value {beyond} is not a number from 0 to {edge}" in message

    def test_a_negative_float_is_refused_with_advice(self, tmp_path):
        message = self.refusal(tmp_path, "real", "general", "-0.5")
        assert "small:3: '1 2 -0.5': value -0.5 is not a number from 0 to" in message
        assert message.endswith(f"; negative weights need {INT32}")

    def test_the_ends_of_the_floats(self, tmp_path):
        found = self.build(tmp_path, "real", "general", "-0.0")
        assert not np.signbit(found.weights).any()
        assert weights_of(self.build(tmp_path, "real", "general", "1.4e-45"))[1][0] == 2.0**-149
        assert weights_of(self.build(tmp_path, "real", "general", repr(LARGEST)))[1][0] == LARGEST

    def test_a_tiny_scale_does_not_let_infinity_in(self, tmp_path):
        message = self.refusal(tmp_path, "real", "general", "inf", scale=1e-300, type="float32")
        assert "value inf is not a number from 0 to" in message

    def test_a_negative_self_loop_is_refused(self, tmp_path):
        text = MTX.format("integer", "general", "5").replace("2 3 7", "2 2 -7")
        message = refusal(tmp_path, "matrix-market", text, weights={**VALUES, "type": "int32"})
        assert (
            "arc 2 of the file leads from a vertex to itself and has weight -7: a negative cycle" in message
        )


class TestLists:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1 2 3\n2 3 4.0\n", ("uint32", [3, 4])),
            ("1 2 3\n2 3 0.5\n", ("float32", [3.0, 0.5])),
            (f"1 2 {2**32 - 2}\n2 3 1\n", ("uint32", [2**32 - 2, 1])),
            (f"1 2 {2**32}\n2 3 0.5\n", ("float32", [2.0**32, 0.5])),
        ],
    )
    def test_decimals_make_floats(self, tmp_path, text, expected):
        assert weights_of(build(tmp_path, "edge-list", text, directed=True, weights=VALUES)) == expected

    def test_an_integer_beyond_uint32_does_not_turn_all_into_floats(self, tmp_path):
        text = f"1 2 16777217\n2 3 {2**32 - 1}\n"
        message = refusal(tmp_path, "edge-list", text, weights=VALUES)
        assert message == (
            f"{tmp_path}/small: value 4294967295 of edge 2 of the file is above 4294967294, the largest "
            "weight of type uint32; give `type: float64` or `float32`, or a `scale`"
        )
        doubles = build(tmp_path, "edge-list", text, directed=True, weights={**VALUES, "type": "float64"})
        assert weights_of(doubles) == ("float64", [16777217.0, 2.0**32 - 1])
        halves = build(tmp_path, "edge-list", text, directed=True, weights={**VALUES, "scale": 0.5})
        assert weights_of(halves) == ("uint32", [8388608, 2**31])
        assert weights_of(build(tmp_path, "edge-list", text, directed=True)) == ("uint32", [1, 1])

    @pytest.mark.parametrize("kind", ["uint32", "int32"])
    def test_fractions_are_rounded_only_if_asked(self, tmp_path, kind):
        text = "1 2 7\n2 3 0.4\n"
        message = refusal(tmp_path, "edge-list", text, weights={**VALUES, "type": kind})
        assert message.endswith(
            f"small:2: '2 3 0.4': value 0.4 has a fraction; weights of type {kind} are integers: give `type: "
            "float32`, or `scale: 1` to round them"
        )
        rounded = {**VALUES, "type": kind, "scale": 1}
        assert weights_of(build(tmp_path, "edge-list", text, directed=True, weights=rounded))[1] == [7, 0]
        whole = build(tmp_path, "edge-list", "1 2 7.0\n", directed=True, weights={**VALUES, "type": kind})
        assert weights_of(whole) == (kind, [7])

    def test_integers_may_be_wanted_as_floats(self, tmp_path):
        found = build(tmp_path, "edge-list", "1 2 3\n", weights={**VALUES, "type": "float32"})
        assert weights_of(found) == ("float32", [3.0, 3.0])
        assert found.metadata["directed"] is False

    def test_decimals_may_be_wanted_as_doubles(self, tmp_path):
        doubles = {**VALUES, "type": "float64"}
        found = build(tmp_path, "edge-list", "1 2 0.1\n2 3 7\n", directed=True, weights=doubles)
        assert weights_of(found) == ("float64", [0.1, 7.0])
        message = refusal(tmp_path, "edge-list", "1 2 3\n2 3 -0.5\n", directed=True, weights=doubles)
        assert "small:2: '2 3 -0.5': value -0.5 is not a number from 0 to" in message
        assert message.endswith(f"; negative weights need {INT32}")

    def test_negative_edges(self, tmp_path):
        int32 = {**VALUES, "type": "int32"}
        text = "1 2 3\n2 3 -4\n"
        assert weights_of(build(tmp_path, "edge-list", text, directed=True, weights=int32))[1] == [3, -4]
        assert "small:2: '2 3 -4': value -4" in refusal(tmp_path, "edge-list", text, weights=int32)
        advice = refusal(tmp_path, "edge-list", text, directed=True, weights=VALUES)
        assert advice.endswith(f"; negative weights need {INT32}")

    @pytest.mark.parametrize("kind", ["float32", "float64"])
    def test_drawn_weights(self, tmp_path, kind):
        drawn = {"distribution": "log-uniform", "range": [0.5, 2.0], "type": kind, "seed": 7}
        found = build(tmp_path, "edge-list", "1 2\n2 3\n", directed=True, weights=drawn)
        same = make_weights(LogUniform(**drawn), 2)
        assert weights_of(found) == (kind, same.tolist())
        unit = build(
            tmp_path, "topology", "p tw 2 1\n1 2\n", weights={"type": kind} | {"distribution": "unit"}
        )
        assert weights_of(unit) == (kind, [1.0, 1.0])


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
    with pytest.raises(
        UserError, match=r"weights: edge 0 has weight 0\.1\d*, a fraction; weights of type uint32"
    ):
        built(type="uint32")
    np.array([0.1, np.nan], "<f4").tofile(files[1])
    with pytest.raises(UserError, match=r"weights: edge 1 has weight nan, expected 0 to 3\.4"):
        built()


class TestDimacs:
    GR = "p sp 3 2\na 1 2 5\na 2 3 -4\n"

    def test_negative_arcs_need_int32(self, tmp_path):
        found = build(tmp_path, "dimacs", self.GR, weights={"type": "int32"})
        assert weights_of(found) == ("int32", [5, -4])
        assert refusal(tmp_path, "dimacs", self.GR).endswith(
            "small:3: 'a 2 3 -4': weight -4 is not an integer from 0 to 4294967294; "
            "negative weights need `parameters: { weights: { type: int32 } }`"
        )

    @pytest.mark.parametrize("weight", [-(2**31), 2**31])
    def test_what_int32_does_not_hold(self, tmp_path, weight):
        message = refusal(tmp_path, "dimacs", self.GR.replace("-4", str(weight)), weights={"type": "int32"})
        assert message.endswith(f"weight {weight} is not an integer from -2147483647 to 2147483647")

    def test_weights_are_integers(self, tmp_path):
        with pytest.raises(ValueError, match="'float32' is invalid: should be 'uint32' or 'int32'"):
            Dataset(format="dimacs", path="x", parameters={"weights": {"type": "float32"}})
        assert "weight 0.5 is not an integer" in refusal(tmp_path, "dimacs", self.GR.replace("-4", "0.5"))

    def test_a_negative_self_loop_is_refused(self, tmp_path):
        text = self.GR.replace("2 3 -4", "2 2 -4")
        assert "a negative cycle" in refusal(tmp_path, "dimacs", text, weights={"type": "int32"})


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
        ("uint32", 1e-9, "an integer from 0 to 4294967294"),
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


def test_highways_by_length_and_by_time():
    def built(**parameters):
        box = Box(south=0, west=0, north=2, east=2)
        given = HighwayParameters(box=box, **parameters)
        graph = highways_inside("small", [{1: 1.2346}, {0: 1.2346}], [[1, 1], [1, 2]], given)
        return (*weights_of(graph), graph.metadata.get("weight_unit"))

    floats, metres = {"type": "float32"}, float(np.float32(1234.6))
    doubles = {"type": "float64"}
    assert built(weights=doubles) == ("float64", [1.2346 * 1000] * 2, "m")
    assert built(km_per_hour=36, weights=doubles) == ("float64", [1.2346 * 1000 / 10] * 2, "s")
    assert built() == ("uint32", [1235, 1235], "m")
    assert built(weights=floats) == ("float32", [metres] * 2, "m")
    assert built(km_per_hour=36) == ("uint32", [123_460] * 2, "ms")
    assert built(km_per_hour=36, weights=floats) == ("float32", [float(np.float32(123.46))] * 2, "s")


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

    def test_negative_arcs(self):
        negative = {"type": "int32", "range": [-5, 20]}
        graph = self.made("uniform-random", vertices=50, mean_degree=6, undirected=False, weights=negative)
        assert (graph.weights.dtype, graph.weights.min(), graph.weights.max()) == (np.int32, -5, 20)

    @pytest.mark.parametrize(
        ("form", "parameters", "message"),
        [
            (
                "grid",
                {"rows": 2, "columns": 2, "weights": {"type": "int32", "range": [-1, 4]}},
                "a range from 0",
            ),
            ("rmat", {"scale": 4, "weights": {"type": "int32", "range": [-1, 4]}}, "or `undirected: false`"),
            ("rmat", {"scale": 4, "weights": {"range": [-1, 4]}}, "negative weights need `type: int32`"),
            (
                "rmat",
                {"scale": 4, "weights": {"range": [0.5, 4]}},
                "fractions need `type: float32` or `float64`",
            ),
            ("rmat", {"scale": 4, "weights": {"type": "float32", "range": [-0.5, 4]}}, "are from 0 to 3.4"),
            (
                "rmat",
                {"scale": 4, "weights": {"type": "float32", "range": [0, float("nan")]}},
                "range.1: nan is",
            ),
        ],
    )
    def test_a_mistake_is_one_line(self, tmp_path, form, parameters, message):
        empty = tmp_path / "datasets.yaml"
        empty.write_text("{}", encoding="utf-8")
        with pytest.raises(UserError) as caught:
            load_registry(empty, {"mine": {"format": form, "seed": 1, "parameters": parameters}})
        assert message in str(caught.value)
        assert str(caught.value).startswith("config: datasets.mine.parameters: weights")
        assert "\n" not in str(caught.value)

    def test_exponents_are_numbers(self, tmp_path):
        """YAML reads 1e-3 as text."""
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
        for kind, scale in (("float32", 1), ("float64", 1e8)):
            with pytest.raises(
                UserError, match=r"^graph other: weight of arc 0 is .*; expected a finite number"
            ):
                reweighted("other", base, ReweightedParameters(type=kind, scale=scale))

    @pytest.mark.parametrize("kind", ["uint32", "float32"])
    def test_a_scale_that_leaves_no_weight_above_0_is_refused(self, kind):
        with pytest.raises(UserError, match=r"^`scale: 1e-60` makes every weight 0, since .* is 31; "):
            reweighted("other", self.MAP, ReweightedParameters(type=kind, scale=1e-60))

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

    def test_the_unit_stays_with_the_scale(self):
        metres = replace(self.MAP, metadata={"weight_unit": "m", "license": "CC0-1.0"})
        for scale, expected in ((1, {"weight_unit": "m", "license": "CC0-1.0"}), (2, {"license": "CC0-1.0"})):
            found = reweighted("other", metres, ReweightedParameters(type="float32", scale=scale))
            assert found.metadata == expected

    def test_another_unit_may_be_given_and_the_base_s_making_is_not_repeated(self):
        made = {"seed": 7, "generator": "x", "parameters": {"rows": 3}, "license": "CC0-1.0"}
        base = replace(self.MAP, metadata={"weight_unit": "m", "directed": False, **made})
        dataset = Dataset(
            format="reweighted",
            extracted_from="map",
            weight_unit="steps",
            parameters={"type": "uint32", "scale": 2},
        )
        found = build_graph("other", dataset, files=[], base=base).metadata
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

    ARCS = "1 2 4294967294\n2 3 4294967294\n"

    def built(self, tmp_path, weights="values", **keys):
        path = tmp_path / "small"
        path.write_text(self.ARCS, encoding="utf-8")
        parameters = {"directed": True, "weights": {"distribution": weights}}
        dataset = Dataset(format="edge-list", path=str(path), parameters=parameters, **keys)
        return build_graph("small", dataset, files=[path])

    def test_they_are_chosen_by_the_entry(self, tmp_path):
        assert self.built(tmp_path).lengths.name == "uint32"
        assert self.built(tmp_path, distances="uint64").lengths.name == "uint32/uint64"

    def test_copies_keep_them_and_new_weights_do_not(self, tmp_path):
        base = self.built(tmp_path, distances="uint64")
        sewn = sew("sewn", base, SewnParameters(rows=1, columns=2))
        assert sewn.lengths is base.lengths
        for kind in ("uint32", "float32", "float64"):
            scaled = reweighted("other", base, ReweightedParameters(type=kind, scale=0.5))
            assert scaled.lengths.name == kind

    def test_reweighted_maps(self):
        dataset = Dataset(
            format="reweighted",
            extracted_from="map",
            distances="uint64",
            parameters={"type": "uint32", "scale": 1e8},
        )
        found = build_graph("far", dataset, files=[], base=TestReweighted.MAP)
        assert found.lengths.name == "uint32/uint64"
        assert found.weights.max() == 31 * 10**8

    def test_other_weights_have_none(self):
        dataset = Dataset(
            format="reweighted", extracted_from="map", distances="uint64", parameters={"type": "float32"}
        )
        with pytest.raises(
            UserError, match=r"^graph far: distances of type uint64 need weights of type uint32, not float32$"
        ):
            build_graph("far", dataset, files=[], base=TestReweighted.MAP)

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"format": "python-cfgs", "distances": "uint64"}, "takes no `distances`"),
            ({"format": "chain", "distances": "uint128"}, "distances"),
        ],
    )
    def test_a_mistake_is_one_line(self, tmp_path, entry, message):
        (tmp_path / "datasets.yaml").write_text("", encoding="utf-8")
        with pytest.raises(UserError, match=message) as caught:
            load_registry(tmp_path / "datasets.yaml", {"mine": entry})
        assert "\n" not in str(caught.value)


def test_unit_weights_have_their_type():
    assert make_weights(Unit(type="int32"), 2).dtype == np.int32
