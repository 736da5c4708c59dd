"""Further rounds: which are measured, with which parameters, and how they are gathered."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from race_runs import GRAPH, run_of
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json
from relaxometer.plan.models import RivalRun, Timing
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import entrant, jobs
from relaxometer.race.measurement import Measurement, not_measured
from relaxometer.race.rows import SearchRow
from relaxometer.results.gather import gather
from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import Installed, write_installation

TWO = {"repetitions": 2, "rounds": 2}


def measured(folder, solver, **timing):
    """Make two rounds; return the folder of each and the statuses of the second."""
    second = folder / "rounds/2"
    what = run_of(solver, **(timing or TWO)), GRAPH, np.array([7]), "host"
    jobs.run_variant(*what, folder)
    return [folder, second], jobs.run_variant(*what, second, 2)


def test_two_rounds_are_gathered(tmp_path):
    folders, statuses = measured(tmp_path, "conventional")
    assert statuses == {"ok"}
    for file in ("runs.parquet", "certificates.parquet"):
        rows = gather(folders, file).to_pylist()
        assert [(row["round"], row["repetition"]) for row in rows] == [(1, 0), (2, 1)]


def test_a_variant_takes_its_own_number_of_listed_sources(tmp_path):
    jobs.run_variant(run_of(sources=[3]), GRAPH, np.array([3, 5, 9]), "host", tmp_path)
    assert pq.read_table(tmp_path / "runs.parquet")["source"].to_pylist() == [3]


def test_a_round_after_an_emulated_one_is_empty_unless_asked_for(tmp_path):
    folders, statuses = measured(tmp_path, "conventional", repetitions=2, rounds=None)
    assert statuses == {"not measured"}
    context = json.loads((folders[1] / "context.json").read_text(encoding="utf-8"))
    assert context["not_measured"] == "times of the emulated device mean nothing"
    for file in ("runs.parquet", "certificates.parquet"):
        assert gather(folders, file)["round"].to_pylist() == [1]
        assert gather(folders, file)["repetition"].to_pylist() == [0]


@pytest.mark.parametrize("fails", [False, True])
def test_a_round_on_another_kind_of_machine_than_the_first_has_no_times(tmp_path, monkeypatch, fails):
    class Solver(dijkstra_cpu.Solver):
        def __init__(self, *given):
            super().__init__(*given)
            self.resolved = {"threads": 2}

        def solve(self, source, phases=None):
            answer = super().solve(source, phases)
            answer.distance[source] += fails
            return answer

    second = tmp_path / "rounds/2"
    what = run_of(**TWO), GRAPH, np.array([7]), "host"
    jobs.run_variant(*what, tmp_path)
    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    assert jobs.run_variant(*what, second, 2) == {"invalid" if fails else "not measured"}
    context = json.loads((second / "context.json").read_text(encoding="utf-8"))
    reason = "on several cores, but the first round ran on one core"
    assert context.get("not_measured") == (None if fails else reason)
    rows = gather([tmp_path, second], "runs.parquet").to_pylist()
    assert [row["status"] for row in rows] == (["ok", "invalid"] if fails else ["ok"])


@pytest.mark.parametrize(
    ("around", "statuses", "kept"),
    [
        ([[1.0, 1.1]], ["ok"], 0),
        ([[1.0, 1.5], [1.0, 1.2]], ["ok", "ok"], 1),
        ([[1.4, 1.4], [1.5, 1.5]], ["ok", "ok"], 0),
        ([[1.5, 1.5], [1.0, 1.0]], ["unproven", "ok"], 1),
        ([[1.5, 1.5], [1.0, 1.0]], ["invalid"], 0),
        ([[1.5, 1.5], [2.0, 2.0]], ["ok", "invalid"], 1),
        ([[None, None]], ["ok"], 0),
    ],
)
def test_a_round_on_a_machine_that_was_slowed_is_measured_again(
    tmp_path, monkeypatch, around, statuses, kept
):
    """The quieter of both rounds counts, and a failure in any case."""
    folder = tmp_path / "race/dijkstra-cpu"
    for name, times in (("other", [1.0, 1.3]), ("other/rounds/2", [1.2, 1.2])):
        context = {"device_kind": "cpu", "reference_ms": dict(zip("ab", times, strict=True))}
        write_json(context, tmp_path / "race" / name / "context.json")
    write_json({"device_kind": "cuda", "reference_ms": {"a": 0.1}}, tmp_path / "race/gpu/context.json")
    made = []

    def measure(*what):
        number = len(made)
        context = {"device_kind": "cpu", "device": "a core", "number": number}
        context["reference_ms"] = dict(zip(("before", "after"), around[number], strict=True))
        row = SearchRow(source=7, round=1, repetition=0, status=statuses[number], reason="")
        made.append(Measurement(runs=[row], context=context))
        return made[-1]

    monkeypatch.setattr(jobs, "measure", measure)
    monkeypatch.setattr(jobs, "write_measurement", lambda result, *where: written.append(result))
    written = []
    assert jobs.run_variant(run_of(), GRAPH, np.array([7]), "host", folder) == {statuses[kept]}
    assert [result.context["number"] for result in written] == [kept]
    assert len(made) == len(statuses)


def test_a_long_round_is_not_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "AGAIN_BELOW_S", 0.0)
    monkeypatch.setattr(jobs, "SLOWED", 0.0)
    made = []
    original = jobs.measure
    monkeypatch.setattr(jobs, "measure", lambda *what: made.append(what) or original(*what))
    jobs.run_variant(run_of(), GRAPH, np.array([7]), "host", tmp_path)
    assert len(made) == 1


def test_rows_from_before_there_were_rounds_are_of_the_first(tmp_path):
    folders, _ = measured(tmp_path, "dijkstra-cpu")
    old = pq.read_table(tmp_path / "runs.parquet").drop_columns("round")
    pq.write_table(old, tmp_path / "runs.parquet")
    table = gather(folders, "runs.parquet")
    assert table["round"].to_pylist() == [1, 2]
    assert table.schema.field("round").type == pa.int32()


@pytest.mark.parametrize("written", [Installed(["of the other machine"]), "no network"])
def test_how_a_rival_starts_is_asked_where_it_runs(tmp_path, monkeypatch, written):
    file, started = tmp_path / "cugraph.json", []
    write_installation(written, file)

    def measure_rival(one, *what):
        started.append(one.installed)
        return not_measured(one.run, "cuda", "d", 1, "a test")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entrant, "installation", lambda rival, command: "it needs an NVIDIA GPU")
    monkeypatch.setattr(jobs, "measure_rival", measure_rival)
    run = RivalRun(**run_of("cugraph").model_dump() | {"kind": "gpu"})
    jobs.run_rival(run, find_rivals([])["cugraph"], str(file), GRAPH, np.array([7]), "host", tmp_path)
    assert started == ["no network" if written == "no network" else "it needs an NVIDIA GPU"]


def test_a_round_without_a_first_one_is_a_line(tmp_path):
    with pytest.raises(UserError, match="no results of the first round"):
        jobs.run_variant(run_of(**TWO), GRAPH, np.array([7]), "host", tmp_path / "rounds/2", 2)


@pytest.mark.parametrize("text", ["[1]", "{"])
def test_a_damaged_context_of_the_first_round_is_a_line(tmp_path, text):
    (tmp_path / "context.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"context\.json: not readable as JSON"):
        jobs.run_variant(run_of(**TWO), GRAPH, np.array([7]), "host", tmp_path / "rounds/2", 2)


def test_a_rival_keeps_the_parameters_that_it_was_tuned_to(tmp_path):
    context = {"parameters": {"delta": 8, "threads": 1, "version": "3"}}
    (tmp_path / "context.json").write_text(json.dumps(context), encoding="utf-8")
    tune = {"delta": [4, 8]}
    what = {"problem": "sssp", "graph": "grid", "variant": "r", "solver": "r", "timing": Timing()}
    run = RivalRun(**what, parameters={"pull": 2}, kind="cpu-1", tune=tune)
    tuned = jobs._as_tuned(run, tmp_path / "rounds/2")
    assert (tuned.parameters, tuned.tune) == ({"pull": 2, "delta": 8}, {})
