"""Where tests find real road maps."""

import os
from pathlib import Path

import pytest

DEFAULT = Path(__file__).parents[3] / "shared/data/roads"


@pytest.fixture
def road_file():
    """Return a function from a file's name to its path in a mirror; it skips the test if none has it."""
    named = os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep)
    folders = [Path(folder) for folder in named if folder] or [DEFAULT]

    def find(name):
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is in no folder of RELAXOMETER_DATA_MIRRORS")

    return find
