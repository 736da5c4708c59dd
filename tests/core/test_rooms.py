"""The check of the order of the package's rooms."""

import shutil

import pytest

import rooms
from relaxometer.core import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a few modules whose imports all lead downward."""
    copy = tmp_path / "relaxometer"
    for module in ("__init__.py", "core/errors.py", "core/__init__.py", "results/__init__.py"):
        (copy / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(provenance.PACKAGE / module, copy / module)
    (copy / "results/gather.py").write_text("from relaxometer.core.errors import UserError\n")
    (copy / "results/shared.cuh").write_text("int shared;\n")
    monkeypatch.setattr(provenance, "PACKAGE", copy)
    return copy


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/wrong.py", "from relaxometer.results.gather import UserError"),
        ("core/wrong.py", "def later():\n    from relaxometer.results import gather"),
        ("core/wrong.py", "from importlib import import_module\nimport_module('relaxometer.results.gather')"),
        ("core/wrong.cu", '#include "results/shared.cuh"'),
    ],
)
def test_an_upward_use_is_named(package, file, line):
    (package / file).write_text(line + "\n")
    found = list(rooms.violations())
    assert found
    assert all(one.startswith(f"{file} uses results/") for one in found)
    assert all(one.endswith("results is above core") for one in found)


def test_a_new_folder_needs_a_place_in_the_order(package):
    assert list(rooms.violations()) == []
    (package / "misc").mkdir()
    (package / "misc/tools.py").write_text("")
    assert [one.split(":")[0] for one in rooms.violations()] == ["misc/tools.py"]
