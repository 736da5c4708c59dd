"""How costs follow from the pace of a device, and what is chosen on families of graphs."""

from types import SimpleNamespace

import pytest

from relaxometer.device.pace import Pace, pace_of
from relaxometer.graphs.survey import Features
from relaxometer.problems import choosing
from relaxometer.problems.bfs import auto as of_levels
from relaxometer.problems.choosing import AS_H200, H200, Scale, by_total
from relaxometer.problems.dominators import auto as of_dominators
from relaxometer.problems.sssp import auto as of_paths

FAMILIES = {
    "city": Features(264_346, 730_100, 264_346, 8, 3.1, 0.09, 0, 413),
    "roads": Features(1_524_453, 3_868_020, 1_524_453, 9, 2.9, 0.46, 0, 1218),
    "long roads": Features(1_427_876, 4_581_208, 1_427_876, 12, 3.5, 0.09, 0, 44),
    "grid": Features(1_000_000, 3_996_000, 1_000_000, 4, 4, 0.06, 0, 692),
    "cube": Features(262_144, 1_548_288, 262_144, 6, 5.9, 0.33, 0, 143),
    "triangulation": Features(1_048_576, 6_291_388, 1_048_576, 22, 6.3, 0.99, 0, 442),
    "nearest neighbours": Features(262_144, 2_420_006, 262_144, 17, 9.4, 0.99, 0, 207),
    "small world": Features(262_144, 2_621_434, 262_144, 16, 10.1, 0.1, 0, 20),
    "random": Features(262_144, 1_572_832, 261_486, 20, 7, 0.99, 0, 14),
    "dense random": Features(1_048_576, 16_777_092, 1_048_576, 38, 17, 0.99, 0, 6),
    "preferential attachment": Features(1_048_576, 16_775_374, 1_048_576, 11_689, 71, 0.98, 0, 6),
    "Kronecker": Features(262_144, 7_610_044, 173_692, 25_029, 1245, 1, 0, 6),
    "pages": Features(524_288, 3_349_551, 524_288, 64, 10.3, 0.21, 0.98, 20),
    "flow graph": Features(300_000, 493_375, 250_745, 9, 2.5, 0.01, 0.99, 207),
    "star": Features(1_048_576, 2_097_150, 1_048_576, 1_048_575, 524_288, 1, 0, 3),
    "tree": Features(1_048_575, 2_097_148, 1_048_575, 3, 2.5, 0.99, 0, 90),
    "caterpillar": Features(131_072, 262_142, 131_072, 3, 2.5, 0.49, 0, 32_768),
}
"""Features of generated graphs and two maps, as the survey found them."""

CHOICES = {
    "city": ("tiled phast", "tiled", "biconnected"),
    "roads": ("tiled phast", "tiled", "biconnected"),
    "long roads": ("near-far", "hybrid tiled", "biconnected"),
    "grid": ("tiled", "tiled", "biconnected"),
    "cube": ("near-far", "tiled", "biconnected"),
    "triangulation": ("near-far", "tiled", "biconnected"),
    "nearest neighbours": ("near-far", "tiled", "biconnected"),
    "small world": ("near-far", "hybrid tiled", "biconnected"),
    "random": ("near-far", "hybrid tiled", "iterative-tree"),
    "dense random": ("near-far", "hybrid hybrid-packed", "iterative-tree"),
    "preferential attachment": ("near-far push-pull", "hybrid hybrid-packed", "iterative-tree"),
    "Kronecker": ("near-far push-pull", "hybrid hybrid-packed", "biconnected"),
    "pages": ("near-far", "hybrid hybrid-packed", "iterative-tree"),
    "flow graph": ("tiled", "tiled", "iterative-tree"),
    "star": ("push-pull", "hybrid hybrid-packed", "biconnected"),
    "tree": ("tiled", "hybrid tiled", "biconnected"),
    "caterpillar": ("tiled phast", "tiled", "biconnected"),
}
"""The variants of the least expected totals of 1, 10, 100 and 1,000 searches, of SSSP, BFS and dominators."""


def test_a_device_has_a_pace(device):
    pace = pace_of(device)
    assert pace.copy_gb_s > 0
    assert pace.barrier_us > 0
    assert pace_of(device) is pace


def test_the_emulation_chooses_as_the_device_of_the_fit(host_device):
    assert Scale.of(host_device) == AS_H200 == (1, 1)


def test_costs_follow_the_pace_of_the_device(monkeypatch):
    pace = Pace(copy_gb_s=H200.copy_gb_s / 2, barrier_us=3 * H200.barrier_us)
    monkeypatch.setattr(choosing, "pace_of", lambda device: pace)
    scale = Scale.of(SimpleNamespace(kind="cuda"))
    assert scale == pytest.approx((2, 3))
    city = FAMILIES["city"]
    assert scale.sizes(city) == pytest.approx((2 * 0.264346, 2 * 0.7301, 3 * 413))
    here, there = (of_paths.expected_costs(city, *at)["near-far"] for at in ((), (scale,)))
    assert there.search - 0.15 == pytest.approx(2 * 0.03 * 0.7301 + 3 * 0.015 * 413)
    assert here.search < there.search


@pytest.mark.parametrize("family", FAMILIES)
def test_the_choice_for_families_of_graphs_by_the_number_of_searches(family):
    for module, names in zip((of_paths, of_levels, of_dominators), CHOICES[family], strict=True):
        costs = module.expected_costs(FAMILIES[family])
        best = [by_total(costs, searches)[0] for searches in (1, 10, 100, 1000)]
        assert list(dict.fromkeys(best)) == names.split()
