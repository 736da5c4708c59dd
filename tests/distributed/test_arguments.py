"""Arguments and parameters of a job's ranks: values out of range are refused in one line."""

import pytest

from relaxometer.core.errors import UserError
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.run import _parameters, parser

COMMON = ["--problem", "sssp", "--graph", "kron:8", "--out", "out"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("roots", "0", "1 to 100,000"),
        ("roots", "-3", "1 to 100,000"),
        ("repetitions", "0", "1 to 100,000"),
        ("repetitions", str(10**30), "1 to 100,000"),
        ("warmup", "-1", "0 to 100,000"),
        ("warmup", "many", "0 to 100,000"),
        ("patience-s", "0", "a positive number up to 1e+09"),
        ("patience-s", "nan", "a positive number up to 1e+09"),
        ("patience-s", "soon", "a positive number up to 1e+09"),
    ],
)
def test_numbers_out_of_range_are_refused(name, value, expected):
    with pytest.raises(UserError) as refused:
        parser().parse_args([*COMMON, f"--{name}={value}"])
    assert str(refused.value) == f"argument --{name}: {value}: expected {expected}; see --help"


def test_numbers_in_range_are_taken():
    given = ["--roots", "100000", "--repetitions", "1", "--warmup", "0", "--patience-s", "0.5"]
    options = parser().parse_args([*COMMON, *given])
    assert (options.roots, options.repetitions, options.warmup, options.patience_s) == (100_000, 1, 0, 0.5)


@pytest.mark.parametrize("engine", ["sssp-1d", "sssp-peers"])
@pytest.mark.parametrize("value", ["0", "inf", "nan"])
def test_a_delta_that_is_no_distance_is_refused(engine, value):
    with pytest.raises(UserError, match=f"--set delta={value}: "):
        _parameters(ENGINES["sssp"][engine], [f"delta={value}"])


@pytest.mark.parametrize("name", ["delta", "local_phases"])
def test_parameters_of_more_than_32_bits_are_refused(name):
    with pytest.raises(UserError, match=f"--set {name}={2**70}: Input should be less than 4294967296"):
        _parameters(ENGINES["sssp"]["sssp-1d"], [f"{name}={2**70}"])
