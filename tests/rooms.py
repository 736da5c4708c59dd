"""Check that each room of the package uses only itself and the rooms below it.

Every form of import counts, also inside functions and by ``import_module``; so do included kernel files.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from relaxometer.core import provenance

ROOMS = (
    *("cli", "report", "results", "studies", "race", "plan", "distributed", "rivals", "library"),
    *("problems", "datasets", "graphs", "device", "core"),
)
"""The folders of the package, from top to bottom."""


def violations() -> Iterator[str]:
    """Yield one line per use of a higher room, and per file outside the rooms."""
    suffixes = (".py", *provenance.NAMED_SUFFIXES)
    for file in sorted(path for path in provenance.PACKAGE.glob("*/**/*") if path.suffix in suffixes):
        name, room = _name_and_room(file)
        if room not in ROOMS:
            yield f"{name}: {room} is not one of the rooms {', '.join(ROOMS)}"
            continue
        for used, used_room in map(_name_and_room, provenance.used_by(file)):
            if used_room in ROOMS[: ROOMS.index(room)]:
                yield f"{name} uses {used}, but {used_room} is above {room}"


def _name_and_room(file: Path) -> tuple[str, str]:
    path = file.relative_to(provenance.PACKAGE)
    return str(path), path.parts[0]


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
