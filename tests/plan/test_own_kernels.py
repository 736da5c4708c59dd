"""A mistake in a folder of kernels outside the package is one line that names the file."""

import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

from built import refusal
from relaxometer import problems
from relaxometer.core import provenance
from relaxometer.core.errors import UserError
from relaxometer.plan.plan import Plan
from relaxometer.problems import problem
from relaxometer.report import variant_pages

ROOT = Path(__file__).parents[2]
CONFIG = {
    "kernels": ["my_kernels"],
    "sssp": {"graphs": ["usa-ny"], "variants": {"conventional": {}}},
    "components": {"graphs": ["usa-ny"], "variants": {"broken": {}}},
}
REGISTRY = ROOT / "resources/datasets.yaml"
OWN = """from relaxometer.problems import variants
from relaxometer.problems.sssp.dijkstra.dijkstra_cpu import Solver

"""
"""The beginning of a variant whose flaw is in its parameters."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a problem of its own in the working directory; the package forgets it after the test."""
    own = ROOT / "tests/own_kernels"
    shutil.copytree(own, tmp_path / "my_kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    for package in (problems, importlib.import_module("relaxometer.problems.sssp")):
        monkeypatch.setattr(package, "__path__", [*package.__path__])
    monkeypatch.setattr(problem, "_ADDED", {})
    provenance._found.cache_clear()
    yield tmp_path / "my_kernels"
    vars(problems).pop("components", None)
    for module in [name for name in sys.modules if name.startswith("relaxometer.problems.components")]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        ("my_kernels/sssp", "name the folder above it"),
        ("my_kernels/components", "name the folder above it"),
        ("loose", "put a variant of sssp into a folder sssp"),
    ],
)
def test_a_folder_without_problems_is_refused(folder, named, hint):
    (folder / "sssp").mkdir()
    for place in (folder / "sssp", folder.parent / "loose"):
        shutil.copytree(folder / "components", place, ignore=lambda *_: ["__init__.py"], dirs_exist_ok=True)
    message = refusal(Plan, {**CONFIG, "kernels": [named]}, REGISTRY, "my.yaml")
    assert message == f"my.yaml: kernels: '{named}' holds no folders of problems; {hint}"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("nothing/x.py", "", "my_kernels/nothing: unknown problem 'nothing'; known: sssp, bfs,"),
        ("sssp/conventional.py", "", "sssp: two variants are called 'conventional'"),
        ("sssp/my-own.py", "", "my-own.py: rename it to my_own.py, which Python can import"),
        ("sssp/2nd own.py", "", "2nd own.py: rename it to my_2nd_own.py, which Python can import"),
        ("components/my-own/x.py", "", "components/my-own: rename it to my_own, which Python can import"),
        ("sssp/MyOwn.py", "", "MyOwn.py: rename it to myown.py, which a configuration can name"),
        ("components/broken.py", "x =\n", "components/broken.py:1: SyntaxError: invalid syntax"),
        ("components/broken.py", "x = 1\0\n", "components/broken.py: SyntaxError: source code string cannot"),
        ("components/broken.py", "import nowhere\n", "components/broken.py:1: ModuleNotFoundError"),
        (
            "components/broken.py",
            f"{OWN}class Parameters(variants.Parameters):\n    x = 1\n",
            "components/broken.py:4: PydanticUserError: A non-annotated attribute",
        ),
        (
            "components/broken.py",
            f"{OWN}class Parameters(variants.Parameters):\n    graphs: int = 1\n",
            "components/broken.py: Parameters.graphs: rename it; a configuration has another key graphs",
        ),
        (
            "components/broken.py",
            f"{OWN}class Parameters(variants.Parameters):\n    x: 'Lost' = 1\n",
            "components/broken.py: Parameters: name 'Lost' is not defined",
        ),
        ("components/broken.py", "Parameters = 1\n", "components/broken.py: defines no Solver"),
        (
            "components/broken.py",
            "Parameters = Solver = int\n",
            "broken.py: Parameters must be a subclass of",
        ),
        (
            "components/broken.py",
            "from relaxometer.problems.variants import Parameters\nSolver = int\n",
            "components/broken.py: Solver must set runs_on to 'device' or 'cpu'",
        ),
        ("components/__init__.py", "", "components/__init__.py: defines no PROBLEM"),
    ],
)
def test_a_mistake_is_one_line(folder, file, text, message):
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    said = refusal(Plan, CONFIG, REGISTRY)
    assert message in said


@pytest.mark.parametrize("suffix", [".py", ".cu"])
def test_a_file_that_is_not_utf_8_is_one_line(folder, suffix):
    (folder / "components/broken.py").write_text(f"{OWN}Parameters = variants.Parameters\n", encoding="utf-8")
    with (folder / f"components/broken{suffix}").open("ab") as file:
        file.write(b"\n# caf\xe9\n")
    with pytest.raises(
        UserError, match=rf"components/broken\{suffix}:\d+: byte 0xe9 is not UTF-8; save it as"
    ):
        Plan(CONFIG, REGISTRY)


def test_the_page_of_an_own_variant_names_its_code_which_no_commit_does(folder):
    config = {**CONFIG, "components": {"graphs": ["usa-ny"], "variants": {"label-propagation": {}}}}

    def codes():
        for cached in (provenance.code_hash, provenance._read):
            cached.cache_clear()
        programs = variant_pages.programs(Plan(config, REGISTRY))
        lines = {one["variant"]: one["about"]["lines"] for one in programs}
        return {name: of_name.get("Hash of the code") for name, of_name in lines.items()}

    first = codes()
    assert re.match("`[0-9a-f]{16}` ", first["label-propagation"])
    assert first["conventional"] is None
    kernel = folder / "components/label_propagation.cu"
    kernel.write_text(kernel.read_text(encoding="utf-8") + "\n__device__ int more;\n", encoding="utf-8")
    assert codes()["label-propagation"] != first["label-propagation"]


def test_what_editors_leave_is_no_variant(folder):
    """Notepad marks a file as UTF-8; Jupyter and Emacs keep copies in hidden folders and files."""
    (folder / "components/broken.py").write_text(
        f"{OWN}Parameters = variants.Parameters\n", encoding="utf-8-sig"
    )
    for copy in ("components/.ipynb_checkpoints/broken-checkpoint.py", "components/.#broken.py"):
        (folder / copy).parent.mkdir(exist_ok=True)
        (folder / copy).touch()
    runs = Plan(CONFIG, REGISTRY).runs
    assert set(runs) == {("sssp", "usa-ny", "conventional"), ("components", "usa-ny", "broken")}


def test_a_variant_with_a_required_parameter_cannot_take_new_weights(folder):
    """The study of new weights gives no parameters."""
    (folder / "sssp").mkdir()
    lines = [
        "from relaxometer.problems import variants",
        "from relaxometer.problems.sssp.dijkstra.dijkstra_cpu import Solver",
        "class Parameters(variants.Parameters):",
        "    width: int",
    ]
    (folder / "sssp/needing.py").write_text("\n".join(lines), encoding="utf-8")
    config = {
        **CONFIG,
        "components": {"graphs": []},
        "traffic": {"graphs": ["usa-ny"], "variants": ["needing"]},
    }
    assert "my.yaml: traffic.variants.needing.width: missing" in refusal(Plan, config, REGISTRY, "my.yaml")
