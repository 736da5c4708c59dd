"""Control-flow graphs of Python code: known shapes, a second decoder as reference, and the whole batch."""

import dis
import sys
from pathlib import Path

import numpy as np
import pytest

from built import refusal
from flow_facts import branches, dominators, exits, joins
from relaxometer.datasets.build import build_batch, build_graph
from relaxometer.datasets.readers.python_cfgs import control_flow, graphs_of_file, library_files, nested_code
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Batch

LIBRARY = Path(dis.__file__).parent

# Each ends in more than the few instructions that the compiler would copy to each place that leads there.
END = "last = work(a, b, a, b)\n    return work(last, a, b)"

IF_ELSE = f"""
def f(a, b):
    if a:
        work(1)
    else:
        work(2)
    {END}
"""

LOOP_IN_TRY = f"""
def f(a, b):
    try:
        for i in a:
            work(i)
    except ValueError:
        b = work(b)
    {END}
"""


def code_of(source):
    """Return the code of the function in `source`."""
    _, function = nested_code(compile(source, "embedded", "exec"))
    return function


def flow_of(code):
    return Batch.from_graphs("one", [("f", *control_flow(code))])[0]


def unhandled(code):
    """Return the code without its table of handlers."""
    return code.replace(co_exceptiontable=b"")


def test_branches_are_diamonds_and_handlers_are_reached_only_by_exceptions():
    graph = flow_of(code_of(IF_ELSE))
    assert (graph.n_vertices, graph.n_arcs) == (4, 4)
    assert branches(graph) == [0]
    (join,) = joins(graph)
    assert dominators(graph)[join] == {0, join}
    assert exits(graph) == [join]
    code = code_of(LOOP_IN_TRY)
    graph, without = flow_of(code), flow_of(unhandled(code))
    assert graph.n_vertices > without.n_vertices
    assert len(exits(without)) == 1
    # What no handler takes leaves the function, too.
    assert len(exits(graph)) > 1


FINAL = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
FINAL |= {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}


def reference_flow(code):
    """Return blocks and arcs as :mod:`dis` and the table of handlers tell them, by offsets in the code."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    # A jump to an instruction with a long argument leads to the first of its prefixes.
    offsets, start = [], 0
    for i in dis.get_instructions(code):
        if i.opname != "EXTENDED_ARG":
            offsets.append(start if start is not None else i.offset)
            start = None
        elif start is None:
            start = i.offset
    jumps = {i.opcode for i in instructions if i.opcode in {*dis.hasjrel, *dis.hasjabs}}
    handlers = dis._parse_exception_table(code)
    leaders = {0} | {entry.target for entry in handlers}
    leaders |= {edge for entry in handlers for edge in (entry.start, entry.end)}
    for i, following in zip(instructions, [*offsets[1:], None], strict=True):
        if i.opcode in jumps:
            leaders.add(i.argval)
        if i.opcode in jumps or i.opname in FINAL:
            leaders.add(following)
    number, block_of = -1, {}
    for offset in offsets:
        number += offset in leaders
        block_of[offset] = number
    arcs = set()
    for i, offset, following in zip(instructions, offsets, [*offsets[1:], None], strict=True):
        block = block_of[offset]
        arcs |= {(block, block_of[e.target]) for e in handlers if e.start <= offset < e.end}
        if i.opcode in jumps:
            arcs.add((block, block_of[i.argval]))
        if following in leaders and i.opname not in FINAL:
            arcs.add((block, block_of[following]))
    return number + 1, arcs


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the reference knows the instructions up to 3.13")
@pytest.mark.parametrize("module", ["asyncio/streams", "contextlib", "tarfile"])
def test_blocks_and_arcs_are_those_that_dis_sees(module):
    file = LIBRARY / f"{module}.py"
    codes = list(nested_code(compile(file.read_bytes(), str(file), "exec", dont_inherit=True)))
    assert len(codes) > 10
    for code in codes:
        n_blocks, tails, heads, entry = control_flow(code)
        found = n_blocks, set(zip(tails, heads, strict=True))
        assert found == reference_flow(code), code.co_qualname
        assert entry == 0


def test_code_that_cannot_be_decoded_is_counted(tmp_path, monkeypatch):
    def decode(code):
        if code.co_name == "bad":
            raise IndexError
        return control_flow(code)

    monkeypatch.setattr("relaxometer.datasets.readers.python_cfgs.control_flow", decode)
    (tmp_path / "few.py").write_text("def good(): pass\ndef bad(): pass\n", encoding="utf-8")
    found = graphs_of_file(tmp_path / "few.py", tmp_path)
    assert [name for name, *_ in found.graphs] == ["few.<module>:1", "few.good:1"]
    assert found.not_decoded == 1
    (tmp_path / "bad.py").write_text("def f(:\n", encoding="utf-8")
    assert graphs_of_file(tmp_path / "bad.py", tmp_path) == ([], False, 0), "it does not compile"


def test_the_library_is_taken_without_tests_and_installed_packages(tmp_path):
    for name in ("a.py", "b/c.py", "test/d.py", "b/tests/e.py", "site-packages/f.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def taken(modules=None, tests=False):
        return [str(file.relative_to(tmp_path)) for file in library_files(tmp_path, modules, tests=tests)]

    assert taken() == ["a.py", "b/c.py"]
    assert taken(tests=True) == ["a.py", "b/c.py", "b/tests/e.py", "test/d.py"]
    assert taken(["b"]) == ["b/c.py"]


def built(**first):
    parameters = {"modules": ["json", "graphlib"], "minimum_blocks": 4, **first}
    dataset = Dataset(format="python-cfgs", license="PSF-2.0", parameters=parameters)
    return build_batch("mine", dataset, files=[])


def test_a_batch_carries_its_origin_and_only_large_enough_graphs_and_may_be_its_first_ones():
    batch, first = built(), built(first=5)
    assert batch.name == "mine"
    assert batch.sizes.min() >= 4
    assert batch.metadata["code_objects"] > len(batch) > 10
    assert batch.metadata["python"].endswith(sys.version.split()[0])
    assert batch.metadata["decoder"].startswith("bytecode ")
    assert batch.metadata["license"] == "PSF-2.0"
    assert len(set(batch.names)) == len(batch)
    assert all(name.startswith(("json.", "graphlib.")) for name in batch.names)
    assert any(name.startswith("json.decoder.JSONDecoder.raw_decode:") for name in batch.names)
    assert first.names.tolist() == batch.names[:5].tolist()
    np.testing.assert_array_equal(first.targets, batch.targets[: first.n_arcs])
    assert first.metadata["files"] < batch.metadata["files"]


@pytest.mark.parametrize(
    ("build", "entry", "message"),
    [
        (build_batch, {"parameters": {"modules": ["json", "jsno"]}}, "batch mine: parameters.modules: unkn"),
        (build_graph, {}, "mine is a batch of graphs, not a graph: it is built at"),
        (build_batch, {"format": "kanto-like", "seed": 1}, "mine is a graph, not a batch of graphs: it is"),
    ],
)
def test_what_cannot_be_built_is_one_line(build, entry, message):
    said = refusal(build, "mine", Dataset(**{"format": "python-cfgs", **entry}), files=[])
    assert said.startswith(message)
    assert "jsno" not in said or "did you mean 'json'" in said
