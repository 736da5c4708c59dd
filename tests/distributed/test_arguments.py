"""Arguments and parameters of a job's ranks: values out of range are refused in one line."""

from types import SimpleNamespace

import pytest

from relaxometer.core.errors import UserError
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.hybrid_peers import Parameters, Solver
from relaxometer.distributed.run import _parameters, execute, parser

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


@pytest.mark.parametrize(
    ("engine", "setting"),
    [
        *(("sssp-1d", f"delta={value}") for value in ("0", "inf", 2**70)),
        *(("sssp-peers", f"delta={value}") for value in ("0", "inf", "nan")),
        ("sssp-1d", f"local_phases={2**70}"),
    ],
)
def test_parameters_out_of_range_are_refused(engine, setting):
    with pytest.raises(UserError, match=f"^--set {setting}: Input should be "):
        _parameters(ENGINES["sssp"][engine], [setting])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--graph", "nowhere"], "graph nowhere: expected kron:SCALE, kron:SCALE:SEED or a folder"),
        (["--graph", "kron:99"], "graph kron:99: scale: Input should be less than or equal to"),
        (["--engine", "hybrid-2d"], "engine hybrid-2d does not solve sssp"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_it_has_ranks(given, message):
    with pytest.raises(UserError) as refused:
        execute(parser().parse_args([*COMMON, *given]), NotImplemented)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("engine", "scheme", "message"),
    [
        ("hybrid-2d", "diagonal", "scheme 'diagonal': expected paired or rows x columns"),
        ("hybrid-2d", "2x1-dealt", "its engine does not work on the dealt scheme 2x1-dealt"),
        ("hybrid-peers", "1x2", "its engine works on scheme 2x1 only, given 1x2"),
    ],
)
def test_a_scheme_that_does_not_fit_is_refused(engine, scheme, message):
    with pytest.raises(UserError) as refused:
        ENGINES["bfs"][engine].scheme(scheme, 2)
    assert str(refused.value).startswith(message)


def test_more_vertices_than_packed_entries_can_name_are_refused():
    block = SimpleNamespace(n_vertices=2**28 + 1, tails=SimpleNamespace(size=2**28 + 256))
    with pytest.raises(
        UserError, match=r"^hybrid-peers searches at most 268,435,456 vertices, given 268,435,457;"
    ):
        Solver(NotImplemented, block, Parameters())
