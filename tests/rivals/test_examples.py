"""The C++ program that docs/rivals.md works through is a rival like any other."""

import re
from pathlib import Path

from relaxometer.rivals.definition import find_rivals
from relaxometer.rivals.installation import Installed, installation
from rival_runs import make_rival, only, run_on
from sample_graphs import sample_graphs

THROWER = r"""
#include "rival.hpp"

struct Thrower : rival::Adapter {
    Thrower(const rival::Graph&, const rival::Job&)
    {
        std::string reason;
        for (int i = 0; i < 500; ++i) reason += "too\nlarge\r";
        throw rival::Skipped(reason);
    }
    void solve(int64_t) override {}
    void answer(rival::Answer&) override {}
};

int main(int count, char** arguments) { return rival::serve<Thrower>(count, arguments); }
"""

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
        result = run_on(graph, rival, installed, tmp_path / name)
        assert only(result) == ("ok", "")
        assert result.runs[0].call_ms > result.runs[0].cold_ms > 0


def test_an_exception_in_cpp_is_a_reason_of_one_line(tmp_path):
    (tmp_path / "adapter.cpp").write_text(THROWER, encoding="utf-8")
    rival = make_rival(tmp_path, adapter="adapter.cpp")
    installed = installation(rival)
    assert isinstance(installed, Installed), installed
    status, reason = only(run_on(sample_graphs()["grid"], rival, installed, tmp_path / "grid"))
    assert status == "skipped"
    assert reason == "too large " * 50


def test_the_first_missing_header_says_how_to_install_what_is_needed(tmp_path):
    (tmp_path / "adapter.cpp").write_text('#include "rival.hpp"\n#include <no/such.hpp>\n', encoding="utf-8")
    needs = {"header": "no/other.hpp", "how": "apt install libno-dev"}
    rival = make_rival(tmp_path, adapter="adapter.cpp", needs=needs)
    assert installation(rival) == "no no/such.hpp: apt install libno-dev"
