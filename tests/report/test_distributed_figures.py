"""What the figures over ranks say, on tables put in by hand."""

import json

import pandas as pd
import pytest

from relaxometer.core.failures import note_failure
from relaxometer.distributed import model
from relaxometer.plan.models import DistributedRun
from relaxometer.report.catalogue import Inputs
from relaxometer.report.figures import ranks as distributed
from relaxometer.results.scaling import scaling_table
from script_runs import run_script
from synthetic_runs import texts


def run(series, ranks, scale):
    common = {"problem": "bfs", "engine": "hybrid-2d", "graph": None, "roots": 3, "device": "auto"}
    sizes = {"scale": scale, "ranks": ranks, "scheme": f"1x{ranks}", "parameters": {}}
    return DistributedRun(name=f"{series}-{ranks}", series=series, **common, **sizes)


def write(folder, run, gteps, *, status="ok", device_kind="cuda", transport="nccl"):
    """Write what a run leaves: three searches, the second at the rate given."""
    (folder / run.name).mkdir()
    graph = {"name": f"kron-g500-s{run.scale}", "vertices": 2**run.scale, "arcs": 30 << run.scale}
    context = {"device_kind": device_kind, "device": "NVIDIA X", "graph": graph}
    context["parameters"] = {"transport": transport}
    (folder / run.name / "run.json").write_text(json.dumps(context))
    rows = {"source": [1, 2, 3], "repetition": 0, "time_ms": [2.0, 3.0, 4.0], "status": ["ok", "ok", status]}
    rows |= {"teps": [gteps * 0.9e9, gteps * 1e9, gteps * 1.1e9]}
    rows |= {"reason": [None, None, None if status == "ok" else "rule tree"]}
    rows |= {"computing_ms": 3.0, "communication_ms": 1.0, "sent_bytes": 100, "plain_bytes": 200}
    pd.DataFrame(rows).to_parquet(folder / run.name / "times.parquet")


@pytest.fixture
def table(tmp_path):
    rates = {("weak", 1): 100, ("weak", 2): 180, ("weak", 4): 280, ("strong", 1): 100, ("strong", 4): 300}
    runs = [run(series, ranks, 20 + (series == "weak") * (ranks // 2)) for series, ranks in rates]
    for each, gteps in zip(runs, rates.values(), strict=True):
        write(tmp_path, each, gteps)
    return scaling_table(runs, tmp_path)


def test_the_efficiency_is_the_rate_a_rank_over_that_of_the_fewest(table):
    assert table["efficiency"].tolist() == pytest.approx([1, 0.9, 0.7, 1, 0.75])
    assert table["weak"].tolist() == [True] * 3 + [False] * 2
    assert table["median_ms"].tolist() == [3.0] * 5
    for draw in (distributed.rates, distributed.computing, distributed.scaling):
        assert "not GPU times" in texts(draw(table.assign(device_kind="host")))


@pytest.mark.filterwarnings("error")
def test_a_wrong_answer_leaves_no_rate(tmp_path):
    runs = [run("strong", ranks, 20) for ranks in (1, 2)]
    write(tmp_path, runs[0], 100)
    write(tmp_path, runs[1], 200, status="invalid")
    table = scaling_table(runs, tmp_path).set_index("variant")
    assert table.loc["strong-2", "status"] == "invalid"
    assert table.loc["strong-2", "reason"] == "rule tree"
    assert table.loc["strong-2", ["median_gteps", "computing_ms", "efficiency"]].isna().all()
    assert table.loc["strong-2", "certified"] == pytest.approx(2 / 3)
    assert "fastest: strong-1" in texts(distributed.rates(table.reset_index()))


@pytest.mark.filterwarnings("error")
def test_runs_that_could_not_be_made_are_lines_without_rates(tmp_path):
    runs = [run("strong", ranks, 20) for ranks in (1, 2)]
    write(tmp_path, runs[0], 100)
    reason = "run_distributed strong-2: no MPI"
    note_failure([tmp_path / runs[1].name / "run.json"], reason)
    for these in (runs[1:], runs):
        table = scaling_table(these, tmp_path)
        assert table["status"].tolist() == ["ok", "error"][-len(these) :]
        assert table["reason"].iloc[-1] == reason
        table.to_csv(tmp_path / "table.csv", index=False)
        (exhibit,) = distributed.EXHIBITS
        drawn = exhibit.draw(Inputs({"ranks": str(tmp_path / "table.csv")}, {}))
        assert "strong-2" in drawn.pop("distributed").to_string()
        assert not any("strong-2" in texts(figure) for figure in drawn.values())


def test_counts_have_all_their_digits(tmp_path, monkeypatch):
    """Also next to the lines of lost runs, which have none, so that the columns hold floats."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/runs/distributed"
    folder.mkdir(parents=True)
    made, lost = run("strong", 1, 25), run("strong", 2, 25)
    write(folder, made, 100)
    note_failure([folder / lost.name / "run.json"], "no MPI")
    outputs, runs = {"table": "distributed.csv"}, [made.model_dump(), lost.model_dump()]
    run_script("gather_distributed", log=tmp_path / "log", inputs={}, outputs=outputs, runs=runs)
    vertices = [str(2**25), ""]
    written = pd.read_csv("distributed.csv", dtype=str, keep_default_na=False)
    assert written["vertices"].tolist() == vertices
    (exhibit,) = distributed.EXHIBITS
    shown = exhibit.draw(Inputs({"ranks": "distributed.csv"}, {}))["distributed"]
    assert shown["vertices"].tolist() == vertices
    assert shown["median_gteps"].tolist() == ["100", ""]


def test_the_model_predicts_an_h200_alone(tmp_path):
    runs = [run("strong", ranks, 24) for ranks in (1, 2)]
    for each in runs:
        write(tmp_path, each, 100)
    assert scaling_table(runs, tmp_path)["model_gteps"].isna().all()
    path = tmp_path / "strong-2/run.json"
    path.write_text(path.read_text().replace("NVIDIA X", "NVIDIA H200"))
    table = scaling_table(runs, tmp_path)
    cost = model.search_cost(model.H200, 24, "1x2", 2)
    assert table["model_gteps"].iloc[1] == pytest.approx(16 * 2**24 / cost.seconds / 1e9)
    assert "dotted: cost model" in texts(distributed.rates(table))
