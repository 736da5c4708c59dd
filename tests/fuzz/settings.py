"""Damaged registries and configurations."""

import json
import os
import random
from pathlib import Path
from typing import Any

import yaml

from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.datasets.registry import load_registry
from relaxometer.plan.load import load_plan

REGISTRY = """
town: &town
  format: osm-pbf
  description: A town
  urls: [https://example.org/maps/town.osm.pbf]
  sha256: 7b2446c7ffe6179efbc42af6812448e8cb782f12968ca2bb1d50d979343056d4
  bytes: 3667907
  license: &licence ODbL 1.0
  parameters: { classes: drive, oneway: respect, box: { south: 1, west: 2, north: 3.5, east: 4 } }
roads:
  { format: dimacs, url: https://example.org/a.gr.gz, coordinates: { path: a.co }, vertices: 10, arcs: 20 }
matrix:
  format: matrix-market
  path: data/file.mtx
  parameters: { banner: real general, weights: { distribution: values, scale: 1.0e-3 } }
list:
  format: edge-list
  path: list.txt
  license: *licence
  parameters: { directed: true, weights: { distribution: log-uniform, range: [1, 255], seed: 3 } }
grid: { format: grid, seed: 1, parameters: { rows: 10, columns: 10 } }
kron: { format: graph500, parameters: { scale: 5, edge_factor: 4 } }
ladder: { format: ladder, parameters: { rungs: 5 } }
part: { format: kanto-like-main, extracted_from: whole }
whole: { format: kanto-like, seed: 2 }
cfgs: { format: python-cfgs, parameters: { modules: [json] } }
"""
CONFIG = """
device: host
seed: 20140301
data_mirrors: [~/mirror, "http://example.org"]
datasets:
  mine: { format: chain, seed: 1, parameters: { vertices: 7, weights: { range: [1, 9] } } }
timing: { sources: 8, repetitions: 2, rounds: 2, warmup: 1, timeout_s: 600 }
sssp:
  graphs: [grid, mine]
  variants:
    conventional: {}
    adaptive: { to_all_us: [20, 40.5] }
    near-far-8: { solver: near-far, graphs: [grid], timing: { sources: 2 } }
    dijkstra-cpu:
bfs: { graphs: [kron], variants: { top-down: {}, hybrid: { alpha: 15 }, hybrid-cpu: false } }
dominators: { graphs: [ladder, cfgs], variants: { semi-nca: {} } }
distributed:
  weak: { problem: bfs, scale_per_rank: 4, ranks: [1, 2], scheme: auto, roots: 2 }
throughput: { graphs: [grid], searches: [1, 16] }
bfs_throughput: { graphs: [kron], variants: [multi-source], searches: [1, 64] }
all_pairs: { graphs: [grid], sources: 8, table: [1, 2] }
updates: { graphs: [ladder] }
report: { papers: [adaptive], maps: [] }
"""


def text_of(rng: random.Random, sample: str) -> bytes:
    """Return a damaged YAML file: its text, its tree, or both."""
    if rng.random() < 0.4:
        return damaged(rng, sample.encode())
    tree: Any = tree_damaged(rng, yaml.safe_load(sample))
    try:
        text = json.dumps(tree) if rng.random() < 0.5 else yaml.safe_dump(tree)
    except (ValueError, TypeError):  # numbers of 400 digits, keys that JSON does not have
        text = repr(tree)
    content = text.encode("utf-8", "surrogatepass")
    return damaged(rng, content) if rng.random() < 0.1 else content


def registry(rng: random.Random, folder: Path) -> None:
    """Damage the registry or the datasets of a configuration; accepted entries must survive being written."""
    path = folder / "datasets.yaml"
    extra: Any = {}
    if rng.random() < 0.6:
        path.write_bytes(text_of(rng, REGISTRY))
    else:
        path.write_text("{}", encoding="utf-8")
        damaged_tree = tree_damaged(rng, yaml.safe_load(REGISTRY))
        extra = damaged_tree if isinstance(damaged_tree, dict) else {}
    found = outcome(load_registry, path, extra)
    for name, dataset in (found or {}).items():
        written = type(dataset).model_validate(dataset.model_dump(exclude_unset=True))
        assert written.model_dump() == dataset.model_dump(), name
        for file in dataset.files:
            if file.file_name is not None:
                assert Path(file.file_name).name == file.file_name, f"{name} leaves its folder"


def configuration(rng: random.Random, folder: Path) -> None:
    """Damage the configuration or an overlay; names of runs and graphs must serve as folders."""
    os.chdir(folder)
    for name in ("config", "resources"):
        Path(name).mkdir()
    Path("resources/datasets.yaml").write_text(REGISTRY, encoding="utf-8")
    overlay = Path("overlay.yaml")
    in_overlay = rng.random() < 0.3
    Path("config/config.yaml").write_bytes(CONFIG.encode() if in_overlay else text_of(rng, CONFIG))
    overlay.write_bytes(text_of(rng, CONFIG) if in_overlay else b"")
    plan = outcome(load_plan, [overlay])
    if plan is not None:
        for run in plan.runs.values():
            for part in (run.problem, run.graph, run.variant):
                assert part.replace("-", "").isalnum(), f"{part!r} does not serve as a folder"
            assert plan.datasets[run.graph]


TARGETS = [Target("registry", registry, 15), Target("configuration", configuration, 6)]
