"""A device makes the same Kronecker graphs as the CPU."""

import os
from pathlib import Path

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators import graph500, graph500_device
from relaxometer.datasets.registry import Dataset
from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.graph import content_hash
from script_runs import run_script


@pytest.mark.parametrize(("start", "stop"), [(0, 3000), (16**5 - 100, 16**5 + 100), (2**35, 2**35 + 50)])
def test_edges_have_the_same_bits(device, start, stop):
    expected = graph500.kronecker_edges(20, start, stop)
    found = [device.asnumpy(array) for array in graph500_device.kronecker_edges(device, 20, start, stop)]
    np.testing.assert_array_equal(found[0], expected.tails)
    np.testing.assert_array_equal(found[1], expected.heads)
    np.testing.assert_array_equal(found[2].view(np.uint32), expected.weights.view(np.uint32))


@pytest.mark.parametrize(
    "keys",
    [
        {"scale": 1},
        {"scale": 6},
        {"scale": 7, "keep_parallel": True},
        {"scale": 8, "weight_range": (0, 2**32 - 2), "user_seeds": (5, 2**64 - 1)},
        {"scale": 6, "weight_range": (7, 7), "edge_factor": 3},
    ],
)
def test_graphs_have_the_same_bits(device, keys):
    parameters = Graph500Parameters(**keys)
    expected = graph500.kronecker_graph(parameters)
    made = graph500_device.kronecker_graph(device, parameters)
    assert content_hash(made.host) == content_hash(expected)
    assert made.host.metadata == expected.metadata
    np.testing.assert_array_equal(device.asnumpy(made.targets), expected.targets)


def test_arcs_that_do_not_fit_a_word_are_refused(host_device):
    with pytest.raises(UserError, match="scale 28 with weights from 1 to 255 needs 64 bits per arc"):
        graph500_device.kronecker_graph(host_device, Graph500Parameters(scale=28))


class Gpu:
    kind = "cuda"


def test_a_dataset_is_made_on_a_gpu_with_enough_memory(monkeypatch, capsys, host_device):
    dataset = Dataset(format="graph500", parameters={"scale": 6})
    expected = content_hash(graph500.kronecker_graph(Graph500Parameters(scale=6)))
    on_device = graph500_device.kronecker_graph(host_device, Graph500Parameters(scale=6))
    monkeypatch.setattr(graph500_device, "get_device", lambda kind: Gpu())
    monkeypatch.setattr(graph500_device, "kronecker_graph", lambda device, parameters: on_device)
    assert build_graph("kron", dataset, files=[]).offsets is on_device.host.offsets

    def no_room(device, parameters):
        raise DeviceOutOfMemory("needs 1 GB")

    monkeypatch.setattr(graph500_device, "kronecker_graph", no_room)
    assert content_hash(build_graph("kron", dataset, files=[])) == expected
    assert "made on the CPU, because GPU memory is too small (needs 1 GB)" in capsys.readouterr().err


@pytest.mark.parametrize(("gpu", "seen"), [(1, "0"), (0, "")])
def test_a_job_sees_only_a_reserved_gpu(monkeypatch, tmp_path, host_device, gpu, seen):
    """With `device: host` the rule reserves none, and another job may be timed on it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    visible = []

    def opened(kind):
        visible.append(os.environ["CUDA_VISIBLE_DEVICES"])
        return host_device

    monkeypatch.setattr(graph500_device, "get_device", opened)
    dataset = Dataset(format="graph500", parameters={"scale": 4}).model_dump()
    outputs, resources = {"metadata": "results/graphs/kron/graph.json"}, {"gpu": gpu}
    job = {"log": Path("log"), "inputs": {}, "outputs": outputs, "resources": resources}
    run_script("build_dataset", **job, dataset=dataset, about={})
    assert visible == [seen]
