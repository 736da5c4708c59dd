"""Control-flow graphs of C functions: from LLVM's text everywhere, through clang where it is installed."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from built import refusal
from flow_facts import arcs_of, branches, exits, joins, loop_heads
from relaxometer.datasets.build import build_batch
from relaxometer.datasets.readers.c_cfgs import compile_to_llvm, control_flow
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Batch

SOURCE = """
int sum(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0) s += i; else s -= i;
    }
    return s;
}

int choose(int x) {
    switch (x) {
    case 1: return 3;
    case 2: x++;
    case 7: return x;
    default: return 0;
    }
}

int one(void) { return 1; }
"""

LLVM = """
declare void @outside()

define i32 @pick(i32 %x) {
entry:
  switch i32 %x, label %other [ i32 1, label %first
                                i32 2, label %first ]
first:
  call void @outside()
  br label %end
other:
  %small = icmp slt i32 %x, 0
  br i1 %small, label %other, label %end
end:
  ret i32 %x
dead:
  br label %end
}
"""

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang on PATH")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "few.c"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_arcs_are_the_labels_of_terminators_also_between_blocks_without_names():
    batch = Batch.from_graphs("llvm", list(control_flow(LLVM, Path("pick.c"))))
    assert list(batch.names) == ["pick.c:pick"]
    graph = batch[0]
    assert graph.n_vertices == 4
    assert len(arcs_of(graph)) == 5
    assert len(loop_heads(graph)) == 1
    assert exits(graph) == [3]
    text = """
define i32 @f(i32 %x) {
  %1 = icmp eq i32 %x, 0
  br i1 %1, label %2, label %4
2:
  br label %3
3:
  ret i32 1
4:
  br label %3
}
"""
    ((_, n_blocks, tails, heads, entry),) = control_flow(text, Path("f.c"))
    assert (n_blocks, entry) == (4, 0)
    assert sorted(zip(tails, heads, strict=True)) == [(0, 1), (0, 3), (1, 2), (3, 2)]


def test_text_that_is_not_llvm_is_refused(monkeypatch):
    monkeypatch.setattr("relaxometer.datasets.readers.c_cfgs.clang_version", lambda: "clang version 99")
    said = refusal(lambda: list(control_flow("define nonsense", Path("a.c"))))
    assert re.match(r"a\.c: llvmlite [\d.]+ \(LLVM\) cannot read what clang version 99", said)


def test_without_clang_one_line_says_so(source, monkeypatch):
    monkeypatch.setenv("PATH", "")
    said = refusal(build_batch, "c", Dataset(format="c-cfgs", path=str(source)), files=[source])
    assert said.startswith("clang, which ")
    assert said.endswith(" is not on PATH; install clang or leave the batch out")


@needs_clang
def test_functions_of_a_file(source):
    dataset = Dataset(format="c-cfgs", path=str(source), parameters={"minimum_blocks": 1})
    batch = build_batch("c", dataset, files=[source])
    assert list(batch.names) == ["few.c:sum", "few.c:choose", "few.c:one"]
    total, choose, one = batch
    assert total.n_vertices == 8
    assert len(loop_heads(total)) == 1
    assert len(branches(total)) == 2
    assert len(joins(total)) == 2
    assert np.diff(choose.offsets)[0] == 4
    assert one.n_vertices == 1
    assert "clang" in batch.metadata["compiler"]
    assert len(batch.metadata["file_sha256"]) == 64
    larger = build_batch("c", Dataset(format="c-cfgs", path=str(source)), files=[source])
    assert list(larger.names) == ["few.c:sum", "few.c:choose"]


ODD = "printf 'few.c:3:1: error: \\033]0;owned\\007\\377%0900d\\n' 0 >&2\nexit 1\n"


@pytest.mark.parametrize(
    ("clang", "message"),
    [(ODD, "could not compile it: "), ("exec sleep 60\n", "could not compile it within 0.1 s")],
)
def test_a_clang_that_says_odd_things_or_nothing_is_one_short_line(source, monkeypatch, clang, message):
    path = source.parent / "clang"
    path.write_text(f"#!/bin/sh\n{clang}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(source.parent), prepend=":")
    monkeypatch.setattr("relaxometer.datasets.readers.c_cfgs.TIMEOUT_S", 60 if clang == ODD else 0.1)
    said = refusal(compile_to_llvm, source, [])
    assert message in said
    assert len(said) < len(str(source)) + 150


def test_options_for_the_code_are_taken_but_none_that_writes_files_or_loads_code():
    def taken(*options):
        return Dataset(format="c-cfgs", path="a.c", parameters={"options": list(options)}).parameters.options

    options = ["-O2", "-DNDEBUG", "-DLIMIT=3", "-UX", "-std=c11"]
    assert taken(*options) == options
    for option in ("-MF", "-fplugin=x.so", "-o", "-include", "-O1 -MD", "-DX=a/b"):
        with pytest.raises(ValidationError, match="options"):
            taken(option)
