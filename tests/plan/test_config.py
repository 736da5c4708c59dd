"""Valid configurations, and the one-line messages for invalid ones."""

import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from built import refusal
from relaxometer.core.errors import UserError
from relaxometer.core.validation import NAME
from relaxometer.plan.load import load_plan, with_types
from relaxometer.plan.models import RivalRun, Timing
from relaxometer.plan.plan import Plan
from relaxometer.plan.sweeps import expand
from relaxometer.problems.problem import problem_names
from relaxometer.problems.variants import load_solver, solver_names
from relaxometer.results.statistics import FEWEST

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "resources/datasets.yaml"
COSTS = ("cost", "cost-papers", "cost-long")


def plan(report=None, **sssp):
    section = {"graphs": ["kanto-highways"], "variants": {"conventional": {}}, **sssp}
    return Plan({"sssp": section, "report": report or {}}, REGISTRY)


def sssp(**variants):
    return {"sssp": {"graphs": ["kanto-highways"], "variants": variants}}


def routes(**queries):
    return {"graphs": ["kanto-highways"], "variants": {"hierarchy": {}}, "queries": queries}


def merged(*files):
    """Merge files as Snakemake merges --configfile overlays."""
    from snakemake.utils import update_config

    config: dict = {}
    for file in files:
        update_config(config, yaml.safe_load((ROOT / file).read_text(encoding="utf-8")))
    return config


def test_an_overlay_with_other_graphs_need_not_repeat_the_maps():
    both = {**sssp(conventional={}), "report": {"maps": ["kanto-highways", "japan-highways"]}}
    assert Plan(both, REGISTRY).config.report.maps == ["kanto-highways"]


def test_null_undoes_a_key_of_a_variants_timing():
    timing = {"enough_s": 20.0, "rounds": 3}
    variants = {
        "conventional": {"timing": {"enough_s": None, "rounds": None, "timeout_s": None}},
        "selection": {},
    }
    config = {"timing": {**timing, "timeout_s": 60}, **sssp(**variants)}
    of = {variant: run.timing for (_, _, variant), run in Plan(config, REGISTRY).runs.items()}
    assert (of["selection"].enough_s, of["selection"].rounds) == (20.0, 3)
    assert (of["conventional"].enough_s, of["conventional"].rounds) == (None, None)
    assert of["conventional"].timeout_s == 60


def test_the_default_configuration_is_valid_and_shows_two_problems():
    default = Plan(merged("config/config.yaml"), REGISTRY)
    assert default.graphs == ["japan-highways", "kanto-highways", "kanto-highways-seconds"]
    on_floats = {key[2] for key in default.runs if key[1] == "kanto-highways-seconds"}
    assert on_floats == {"conventional", "adaptive", "near-far", "phast", "dijkstra-cpu"}
    ours = {key: run for key, run in default.runs.items() if not isinstance(run, RivalRun)}
    of_problem = {problem: {key[2] for key in ours if key[0] == problem} for problem in ("sssp", "bfs")}
    sources = {"conventional", "selection", "adaptive"}
    assert of_problem["sssp"] == sources | {"near-far", "tiled", "phast", "dijkstra-cpu"}
    assert of_problem["bfs"] == {"top-down", "hybrid", "tiled", "hybrid-cpu", "queue-cpu"}
    assert {key[1] for key in default.runs if key[0] == "bfs"} == {"kanto-highways"}
    rivals = [run for run in default.runs.values() if isinstance(run, RivalRun)]
    assert len({run.solver for run in rivals}) >= 5
    assert {run.kind for run in rivals} <= {"cpu-1", "cpu-all"}


def test_the_suites_of_costs_have_every_search_of_a_gpu_on_three_graphs():
    suites = [Plan(merged("config/config.yaml", f"config/suites/{name}.yaml"), REGISTRY) for name in COSTS]
    runs = [run for suite in suites for run in suite.runs.values()]
    left_out = {"auto", "johnson", "many-sources", "phast-many", "multi-source", "incremental"}
    for problem in problem_names():
        on_gpu = {one for one in solver_names(problem) if runs_on_device(problem, one)} - left_out
        for solver in on_gpu:
            graphs = {run.graph for run in runs if (run.problem, run.solver) == (problem, solver)}
            # A warp has 32 lanes: two graphs are small enough.
            assert len(graphs) == (2 if solver == "persistent-warp" else 3), (problem, solver)
        assert {run.solver for run in runs if run.problem == problem} == on_gpu
    assert {(run.cost.repeats, run.cost.energy_s) for run in runs} == {(5, 1.0), (5, 3.0)}


def runs_on_device(problem, solver):
    return load_solver(problem, solver).Solver.runs_on == "device"


@pytest.mark.parametrize("suite", sorted(path.name for path in (ROOT / "config/suites").glob("*.yaml")))
def test_every_suite_is_a_valid_overlay(suite):
    assert Plan(merged("config/config.yaml", f"config/suites/{suite}"), REGISTRY).runs


@pytest.mark.parametrize(
    ("solver", "parameter", "values", "names"),
    [
        ("edge-bf", "blocked", [True, False], {"x-true", "x-false"}),
        ("adaptive", "to_all_us", [1.0e20, 1.0e-20, 0.5], {"x-1e20", "x-1e-20", "x-0p5"}),
        ("adaptive", "to_all_us", [float("inf")], {"x-inf"}),
        ("tiled", "leash", ["none", "auto"], {"x-none", "x-auto"}),
        ("bellman-ford-queue", "order", ["slf-lll", "lll"], {"x-slf-lll", "x-lll"}),
    ],
)
def test_swept_values_make_names_that_fit_the_rules(solver, parameter, values, names):
    swept = plan(variants={"x": {"solver": solver, parameter: values}})
    assert {key[2] for key in swept.runs} == names
    assert [run.parameters for run in swept.runs.values()] == [{parameter: value} for value in values]
    assert all(re.fullmatch(NAME, name) for name in names)


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()), min_size=1))
def test_any_value_makes_a_name_that_fits_the_rules_or_one_line(values):
    try:
        names = [point.name for point in expand("x", {"a": values}, "my.yaml", "sssp.variants.x")]
    except UserError as error:
        message = str(error)
    else:
        assert all(re.fullmatch("x-[a-z0-9-]*[a-z0-9]", name) and len(name) <= 100 for name in names)
        return
    assert message.startswith("my.yaml: sssp.variants.x")
    assert message.isprintable()


def test_false_only_and_not_on_choose_variants_and_graphs():
    chosen = plan(variants={"conventional": False, "selection": None, "adaptive": {}})
    assert {key[2] for key in chosen.runs} == {"selection", "adaptive"}
    section = {
        "variants": {
            "conventional": {},
            "wide": {"solver": "near-far", "wide": 8192},
            "adaptive": {"to_all_us": [20, 50]},
            "selection": False,
        },
        "rivals": {"boost": {"timing": {"sources": 2}}, "scipy": {}},
    }
    for wanted, names in [
        (["wide"], ["wide"]),
        (["adaptive", "boost"], ["adaptive-20", "adaptive-50", "boost"]),
        (["selection", "networkit", "tiled"], ["selection", "tiled", "networkit"]),
    ]:
        chosen = plan(only=wanted, **section)
        assert [key[2] for key in chosen.runs] == names
    boost = plan(only=["boost"], **section).runs["sssp", "kanto-highways", "boost"]
    assert boost.timing.sources == 2
    wide = plan(only=["wide"], **section).runs["sssp", "kanto-highways", "wide"]
    assert wide.parameters == {"wide": 8192}
    left_out = plan(only=["networkit"], variants=section["variants"], rivals=False)
    assert [key[2] for key in left_out.runs] == ["networkit"]
    section = {"variants": {"conventional": {"not_on": ["rome99"]}, "selection": {"not_on": ["usa-ny"]}}}
    chosen = Plan({"sssp": {"graphs": ["kanto-highways", "rome99"], **section}}, REGISTRY)
    assert {key[1:] for key in chosen.runs} == {
        ("kanto-highways", "conventional"),
        ("kanto-highways", "selection"),
        ("rome99", "selection"),
    }


def processes(device, *, gpu, **timing):
    config = {
        "device": device,
        "timing": timing,
        "sssp": {
            "graphs": ["kanto-highways", "rome99"],
            "variants": {
                "tiled": {"graphs": ["rome99"]},
                "dijkstra-cpu": {},
                "once": {"solver": "dijkstra-cpu", "graphs": ["rome99"], "timing": {"rounds": 1}},
            },
            "rivals": {"cugraph": {"graphs": ["rome99"]}},
        },
    }
    made = Plan(config, REGISTRY, gpu=gpu)
    return made, [(run.variant, run.graph, number) for run, number in made.processes]


A, B = ("dijkstra-cpu", "kanto-highways"), ("dijkstra-cpu", "rome99")
EMULATED, ONCE, RIVAL = ("tiled", "rome99"), ("once", "rome99"), ("cugraph", "rome99")


def test_each_round_is_the_mirror_image_of_the_one_before():
    _, found = processes("cuda", gpu=True, rounds=3)
    assert found == [
        *((*one, 1) for one in (EMULATED, A, B, ONCE, RIVAL)),
        *((*one, 2) for one in (RIVAL, B, A, EMULATED)),
        *((*one, 3) for one in (B, A, RIVAL, EMULATED)),
    ]
    assert processes("auto", gpu=True, rounds=3)[1] == found
    variants = {name: {"solver": "tiled", "graphs": ["rome99"]} for name in "abc"}
    config = {"device": "cuda", "timing": {"rounds": 6}, "sssp": {"graphs": ["rome99"], "variants": variants}}
    made = Plan(config, REGISTRY, gpu=True)
    order = "".join(run.variant for run, _ in made.processes if run.variant in variants)
    assert order == "abc" + "cba" + "bca" + "acb" + "cab" + "bac"


@pytest.mark.parametrize(
    ("kind", "gpu", "rounds", "once"),
    [
        ("host", True, None, True),
        ("auto", False, None, True),
        ("auto", True, None, False),
        ("host", False, 2, False),
    ],
)
def test_emulated_variants_have_one_round_and_need_no_machine_unless_more_are_asked_for(
    kind, gpu, rounds, once
):
    made, found = processes(kind, gpu=gpu, rounds=rounds)
    second = [RIVAL, B, A, *([] if once else [EMULATED])]
    assert found == [*((*one, 1) for one in (EMULATED, A, B, ONCE, RIVAL)), *((*one, 2) for one in second)]
    timed = {run.variant for run in made.runs.values() if made.is_timed(run)}
    assert timed == {"dijkstra-cpu", "once", "cugraph"} | (set() if once else {"tiled"})


def test_a_suite_that_needs_a_gpu_says_so():
    for file in (ROOT / "config/suites").glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        comment = " ".join(text.partition("\n\n")[0].replace("#", " ").split())
        needs = "GPU" in comment and "without a GPU" not in comment
        assert needs == (yaml.safe_load(text).get("device") == "cuda"), file.name


def test_suites_have_samples_enough_and_the_a_a_test_measures_emulated_kernels_twice():
    runs = load_plan([Path("config/suites/dominators.yaml")]).runs.values()
    assert {run.timing.sources for run in runs} == {1}
    assert all(run.timing.passes * 2 >= FEWEST for run in runs)
    plan = load_plan([Path("config/suites/aa-host.yaml")])
    assert {len(plan.rounds(run)) for run in plan.runs.values()} == {2}
    default = load_plan([])
    assert default.config.timing.rounds is None


@pytest.mark.parametrize(
    ("repetitions", "rounds", "passes"), [(2, 2, 1), (3, 2, 2), (1, 2, 1), (9, 1, 9), (3, None, 2)]
)
def test_repetitions_are_divided_over_rounds(repetitions, rounds, passes):
    assert Timing(repetitions=repetitions, rounds=rounds).passes == passes


def test_numbers_given_as_text_are_numbers():
    given = {"timing": {"repetitions": "9", "sources": ["3", "4"], "enough_s": "null"}, "device": "host"}
    config = Plan(with_types(given), REGISTRY).config
    assert (config.timing.repetitions, config.timing.sources, config.timing.enough_s) == (9, [3, 4], None)
    assert config.device == "host"
    config = {"timing": {"timeout_s": "1e3"}, **sssp(adaptive={"to_all_us": ["1e-1", "auto"]})}
    found = Plan(config, REGISTRY)
    assert found.config.timing.timeout_s == 1000
    assert {key[2] for key in found.runs} == {"adaptive-1e-1", "adaptive-auto"}


def on_ny(**section):
    return {"sssp": {"graphs": ["usa-ny"], **section}}


def in_traffic(**section):
    return {"traffic": {"graphs": ["usa-ny"], **section}}


def on_two_kinds(**variants):
    return {"dominators": {"graphs": ["flow-random-30", "cfg-python-100"], "variants": variants}}


def ranks(**series):
    return {"distributed": {"weak": {"ranks": [1, 2, 4], **series}}}


ADAPTIVE_BY_2 = {"to_all_us": [20, 40]}
TWICE = {"a": {"scale": 9, "ranks": [2]}, "a-2": {"scale": 9, "ranks": 2}}


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({"timing": {"rounds": 0}}, ["timing.rounds: 0", "greater than or equal to 1"]),
        ({"device": "CUDA"}, ["device: 'CUDA' is invalid", "did you mean 'cuda'?"]),
        ({"SSSP": {}}, ["SSSP: unknown key", "did you mean 'sssp'?"]),
        ({"rivals": False}, ["rivals: false is invalid: should be a valid list; write [] for none"]),
        ({"sssp": {"graphs": ["cfg-python-stdlib"]}}, ["sssp.graphs", "'cfg-python-stdlib' is a batch"]),
        (sssp(adptive={}), ["sssp.variants.adptive", "'adptive'", "'adaptive'", "conventional"]),
        (sssp(adaptive={"to_all_us": -3}), ["sssp.variants.adaptive", "to_all_us", "-3"]),
        (
            sssp(adaptive={"graphs": ["rome99"]}),
            ["sssp.variants.adaptive.graphs", "'rome99'", "kanto-highways"],
        ),
        (
            sssp(adaptive={"timing": {"sources": 64}}),
            ["sssp.variants.adaptive.timing.sources: 64, but timing.sources has 8"],
        ),
        (
            {"sssp": {"graphs": ["usa-ny", "usa-ny"]}},
            ["sssp.graphs: ['usa-ny', 'usa-ny'] is invalid: 'usa-ny' is given 2 times"],
        ),
        (on_ny(only=["tild"]), ["sssp.only: unknown variant or rival of sssp 'tild'; did you mean 'tiled'?"]),
        (
            on_two_kinds(**{"batch-warp": {"graphs": ["flow-random-30"]}}),
            ["batch-warp.graphs: 'flow-random-30' is a graph; ", "batch-warp takes batches only"],
        ),
        (
            {"sssp": {"graphs": "usa-ny"}},
            ["sssp.graphs: 'usa-ny' is invalid: should be a valid list; write [usa-ny]"],
        ),
        (
            on_ny(rivals={"mine": {"command": "/bin/true"}}),
            ["sssp.rivals.mine: unknown rival for sssp 'mine'", "name the folder of one of yours in"],
        ),
        (
            {"sssp": {"graphs": ["zzzzzz"]}},
            ["unknown dataset 'zzzzzz'; known: ", ", ...; all: docs/graphs.md; or define it under"],
        ),
        (sssp(**{"Fast!": {}}), ["sssp.variants", "Fast!"]),
        (
            sssp(selection={"graphs": ["kanto-highways"], "not_on": ["kanto-highways"]}),
            ["variants.selection: not_on leaves none of its graphs"],
        ),
        (sssp(selection={"not_on": ["rome98"]}), ["selection.not_on: ", "'rome98'", "did you mean 'rome99'"]),
        (
            on_ny() | {"bfs_throughput": {"graphs": ["usa-ny"]}},
            ["bfs_throughput.graphs", "'usa-ny'", "graph of bfs.graphs"],
        ),
        ({"traffic": {"variants": ["phasst"]}}, ["traffic.variants", "solver of sssp 'phasst'", "'phast'"]),
        (
            {"traffic": {"rivals": {"nk": {"rival": "networkit"}}}},
            ["traffic.rivals.nk: networkit cannot take new weights", "`customizes: true`"],
        ),
        (
            {"traffic": {"rivals": {"routingkit": {"tune": {"delta": [1]}}}}},
            ["traffic.rivals.routingkit.tune: nothing is tuned in this study"],
        ),
        (
            {"traffic": {"rivals": {"routingkit": {"timing": {"sources": 3}}}}},
            ["traffic.rivals.routingkit.timing.sources: leave it out; timeout_s is the only key here"],
        ),
        (
            on_ny() | in_traffic(rivals={"phast": {"rival": "routingkit"}}),
            ["traffic.rivals.phast: the name would be 'phast'", "the name of traffic.variants: phast"],
        ),
        ({"updates": {"arcs": [2**70]}}, ["updates.arcs.0", "less than 4294967296"]),
        (sssp(adaptive={"to_all_us": []}), ["sssp.variants.adaptive.to_all_us", "empty list"]),
        (
            sssp(**{"adaptive-20": {"solver": "adaptive"}, "adaptive": ADAPTIVE_BY_2}),
            ["sssp.variants.adaptive with to_all_us = 20", "name of sssp.variants.adaptive-20; rename"],
        ),
        (sssp(adaptive={"to_all_us": [1, 1]}), ["'adaptive-1'", "adaptive with to_all_us = 1;"]),
        (sssp(adaptive={"to_all_us": ["あ"]}), ["adaptive.to_all_us: no name", "'あ'"]),
        (
            sssp(adaptive={"to_all_us": [1, 10**20]}),
            ["adaptive: the name 'adaptive-1000", "not repeat '0' more than 19 times at its end; give"],
        ),
        (
            sssp(adaptive={"to_all_us": [*range(1, 99)], "to_selected_us": [*range(1, 99)]}),
            ["sssp.variants.adaptive: to_all_us, to_selected_us", "9,604 combinations", "1,000"],
        ),
        (sssp(x={"solver": "edge-bf", "edges_per_thread": True}), ["edges_per_thread: true", "write 1"]),
        (sssp(adaptive=0), ["sssp.variants.adaptive: 0 ", "should be false"]),
        ({"sssp": None}, ["sssp: null is invalid", "section with keys", "; { graphs: [] } leaves it out"]),
        ({"sssp": {"graphs": [1]}}, ["sssp.graphs.0: 1 ", "write it in quotes"]),
        ({1: 2}, ["key 1 is invalid: should be a string"]),
        ({"\x1b]0;": "\x1b" * 200}, [r"'\x1b]0;': unknown key", "..."]),
        (sssp(x={"solver": "edge-bf", "blocked": 1}), ["blocked: 1 ", "write true or false"]),
        (sssp(adaptive={"to_all_us": ["x" * 200]}), ["sssp.variants.adaptive: ", "100 characters"]),
        (
            {"distributed": {"x" + "-1" * 19: {"scale": 8, "ranks": [1]}}},
            ["distributed.x-1-1", "'x-1-1", "should not repeat '-1' more than 19 times at its end; rename"],
        ),
        (
            on_ny(rivals={"cugraph": {"threads": 4}}),
            ["sssp.rivals.cugraph.threads: cugraph runs on a GPU; leave it out"],
        ),
        ({"timing": {"sources": True}}, ["timing.sources: true", "YAML reads yes and on as true"]),
        ({"timing": {"warmup": "3"}}, ["timing.warmup: '3'", "write 3 without quotes"]),
        ({"timing": {"timeout_s": float("nan")}}, ["timing.timeout_s: nan", "finite"]),
        ({"timing": {"sources": 1000, "repetitions": 1000}}, ["timing: 1,000 sources", "100,000 searches"]),
        (
            {"sssp": {"graphs": ["rome99"], "variants": {"phast": {}}}, "report": {"maps": ["rome99"]}},
            ["report.maps: graph 'rome99' has no coordinates"],
        ),
        ({"kernels": ["a\0b"]}, ["kernels: 'a\\x00b' is not a folder"]),
        (
            on_ny(queries={"a": {"pairs": 1}}),
            ["sssp.queries: searches of sssp start from sources; leave the key out"],
        ),
        ({"routes": routes()}, ["routes.queries: routes.graphs is not empty; name at least one query set"]),
        ({"routes": routes(a={"pair": 1})}, ["routes.queries.a: pair: unknown key"]),
        (
            {"routes": {**routes(a={"pairs": 1}), "rivals": {"scipy": {}}}},
            ["routes.rivals.scipy: rival 'scipy' solves sssp and bfs, not routes"],
        ),
        (ranks(), ["distributed.weak", "graph, scale and scale_per_rank"]),
        (ranks(graph="rome9"), ["distributed.weak.graph", "'rome99'"]),
        (ranks(scale=20, scheme="2x4"), ["distributed.weak", "2x4 needs 8 ranks", "given 1"]),
        (ranks(scale=20, ranks=4, scheme="paired"), ["paired needs 2, 8, 32", "given 4"]),
        (ranks(scale=20, ranks=4, scheme="2x2", problem="sssp"), ["1x4 only", "given 2x2"]),
        (ranks(scale=20, engine="sssp-1d"), ["'sssp-1d'", "engine of bfs", "hybrid-2d"]),
        (ranks(scale_per_rank=20, ranks=3), ["powers of two", "given 3"]),
        (ranks(scale=20, parent="level"), ["distributed.weak", "parent", "'parents'"]),
        (ranks(graph="cfg-python-stdlib"), ["distributed.weak.graph", "is a batch; expected a graph"]),
        (ranks(scale_per_rank=39), ["distributed.weak: 4 ranks have scale 41, at most 40"]),
        (ranks(scale=20, ranks=10**9), ["distributed.weak.ranks: 1000000000", "65536"]),
        (ranks(scale=20, roots=99_999), ["distributed.weak.roots", "more than 100,000 searches"]),
        ({"distributed": TWICE}, ["distributed.a-2: another run is called 'a-2'"]),
    ],
)
def test_a_mistake_is_one_line_that_names_key_value_and_what_is_right(config, parts):
    message = refusal(Plan, config, REGISTRY, "my.yaml")
    assert message.startswith("my.yaml: ")
    assert all(part in message for part in parts), message


def test_a_variant_and_a_rival_share_no_name_across_problems():
    bfs = {"graphs": ["kanto-highways"], "rivals": {"graphblas": {"pull": [4]}}}
    taken = {**sssp(**{"graphblas-4": {"solver": "adaptive"}}), "bfs": bfs}
    message = refusal(Plan, taken, REGISTRY)
    assert "bfs.rivals.graphblas with pull = 4: " in message or "name of bfs.rivals.graphblas" in message
    assert "sssp.variants.graphblas-4" in message
    without = taken | {"bfs": bfs | {"graphs": []}}
    assert {run.variant for run in Plan(without, REGISTRY).runs.values()} == {"graphblas-4"}
    both = {"rivals": {"graphblas": {}}, "graphs": ["kanto-highways"]}
    assert len(Plan({"sssp": both, "bfs": both}, REGISTRY).runs) == 2, "two rivals may"


def distributed(**series):
    return Plan(ranks(**series), REGISTRY).distributed


def test_a_series_makes_one_run_for_each_number_of_ranks():
    runs = distributed(scale_per_rank=23, parents="level")
    assert list(runs) == ["weak-1", "weak-2", "weak-4"]
    assert [(run.scale, run.scheme) for run in runs.values()] == [(23, "1x1"), (24, "2x1"), (25, "2x2")]
    assert [run.scheme for run in distributed(scale=20, ranks=[2, 8]).values()] == ["2x1", "paired"]
    assert all(run.parameters == {"parents": "level"} for run in runs.values())
    assert [run.scheme for run in distributed(problem="sssp", scale=20).values()] == ["1x1", "1x2", "1x4"]


def test_a_configuration_has_a_limited_number_of_runs(monkeypatch):
    monkeypatch.setattr("relaxometer.plan.plan.MAX_RUNS", 10)
    with pytest.raises(UserError, match=r"^config: more than 10 runs; [^\n]+$"):
        plan(variants={"adaptive": {"to_all_us": [*range(1, 12)]}})


def test_a_file_that_is_missing_or_may_not_be_read_is_found_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(**entry):
        mine = {"format": "dimacs", "path": "mine.gr", **entry}
        config = {"datasets": {"mine": mine}, "sssp": {"graphs": ["mine"], "variants": {"phast": {}}}}
        Plan(config, REGISTRY, "my.yaml").check_files()

    assert refusal(check) == "my.yaml: datasets.mine.path: 'mine.gr' is not a file"
    (tmp_path / "mine.gr").touch()
    check()
    Plan(
        {"datasets": {"mine": {"format": "dimacs", "path": "nowhere"}}}, REGISTRY
    ).check_files()  # not needed
    with pytest.raises(UserError, match=r"datasets\.mine\.coordinates\.path: '\.' is not a file$"):
        check(coordinates={"path": "."})
    monkeypatch.setattr("os.access", lambda path, mode: not (path == "mine.gr" and mode == os.R_OK))
    assert "datasets.mine.path: 'mine.gr' is not readable (Perm" in refusal(check)


def test_a_base_that_is_not_a_bundle_is_found_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("base.zip").touch()
    for base, said in (("base.zip", "is not a bundle"), ("gone.zip", "is neither a bundle nor a folder")):
        asked = plan(report={"base": base})
        with pytest.raises(UserError, match=rf"^config: report\.base: '{base}' {said}$"):
            asked.check_files()


def test_query_sets_are_checked_and_drawn_as_often_as_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {
        "timing": {"sources": [4, 5]},
        "routes": routes(a={"pairs": 7}, b={"file": "pairs.csv"}, c=False),
    }
    found = Plan(config, REGISTRY, "my.yaml")
    assert (list(found.queries), list(found.queries["routes"])) == (["routes"], ["a", "b"])
    assert found.queries["routes"]["a"].pairs == 7
    assert found.draws == 2
    assert Plan({"timing": {"sources": 3}}, REGISTRY).draws == 3
    assert refusal(found.check_files) == "my.yaml: routes.queries.b.file: 'pairs.csv' is not a file"
    (tmp_path / "pairs.csv").touch()
    found.check_files()


def test_a_folder_without_a_base_falls_back_to_that_of_the_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    expected = list(load_plan([]).runs)
    monkeypatch.chdir(tmp_path)
    assert list(load_plan([]).runs) == expected
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("timing: {sources: 3}\n", encoding="utf-8")
    assert load_plan([]).config.timing.sources == 3
