"""Damaged heap snapshots of V8 and heap dumps of Java."""

import json
import random
from pathlib import Path

from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from heap_samples import PLAIN, java, text
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset

WEAK_MAP = "1 / part of key (a @3) -> value (b @5) pair in WeakMap (table @7)"


def snapshots(rng: random.Random, folder: Path) -> None:
    """Damage the text or the tree of a snapshot; compare what is accepted with what JSON says."""
    content = text(PLAIN | {"strings": [*PLAIN["strings"], WEAK_MAP]})
    if rng.random() < 0.4:
        tree = tree_damaged(rng, json.loads(content))
        content = json.dumps(tree, separators=(",", ":")).encode("utf-8", "surrogatepass")
    content = damaged(rng, content)
    path = folder / "file.heapsnapshot"
    path.write_bytes(content)
    rules = rng.choice(["chrome", "memlab"])
    dataset = Dataset(format="heapsnapshot", path=str(path), parameters={"rules": rules})
    graph = outcome(build_graph, "mutant", dataset, files=[path])
    if graph is None:
        return
    assert graph.is_sound
    graph.objects.validate(full=True)
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        return  # what was not needed is damaged
    if all(content.count(b'"%b"' % key) == 1 for key in (b"nodes", b"edges", b"strings", b"node_fields")):
        fields = said["snapshot"]["meta"]["node_fields"]
        sizes = said["nodes"][fields.index("self_size") :: len(fields)]
        assert graph.objects["size"].to_pylist() == sizes, "other sizes"
        names = [said["strings"][name] for name in said["nodes"][fields.index("name") :: len(fields)]]
        found = graph.objects["name"].to_pylist()
        assert found == [_whole(name) for name in names], "other names"


def _whole(name: str) -> str:
    """Return a text with halves of characters replaced."""
    return "".join("\ufffd" if 0xD800 <= ord(sign) < 0xE000 else sign for sign in name)


def dumps(rng: random.Random, folder: Path) -> None:
    path = folder / "file.hprof"
    path.write_bytes(damaged(rng, java(rng.choice([4, 8]))))
    graph = outcome(build_graph, "mutant", Dataset(format="hprof", path=str(path)), files=[path])
    if graph is not None:
        assert graph.is_sound
        graph.objects.validate(full=True)


TARGETS = [Target("heap snapshots", snapshots, 30), Target("heap dumps", dumps, 20)]
