"""The C++ program that docs/rivals.md works through is a rival like any other."""

import re
from pathlib import Path

from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import Installed, installation
from rival_runs import only, run_on
from sample_graphs import sample_graphs

PAGE = Path(__file__).parents[2] / "docs/rivals.md"


def test_the_example_in_cpp_is_proven(tmp_path):
    blocks = re.findall(
        r"^`(my_rivals/heap/\S+)`:\n\n```\w+\n(.*?)^```$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    rival = find_rivals([str(tmp_path / "my_rivals")])["heap"]
    installed = installation(rival)
    assert isinstance(installed, Installed), installed
    for name in ("grid", "zero-weights", "parallel-arcs"):
        graph = sample_graphs()[name]
        assert only(run_on(graph, rival, installed, tmp_path / name)) == ("ok", "")
