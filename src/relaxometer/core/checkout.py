"""The checkout that this package is part of."""

from pathlib import Path

from relaxometer.core.errors import UserError

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
"""The top folder of the checkout; without one, the folder that the package was installed to."""


def refuse_other_package(folder: Path) -> None:
    """Raise UserError if `folder` is the top of another checkout with its package."""
    theirs = folder / "src/relaxometer"
    if theirs.is_dir() and not theirs.samefile(PACKAGE):
        raise UserError(
            f"this is {folder.absolute()}, but Python imports the package of {ROOT}: "
            "activate this checkout's environment (`make run` sets it up) and unset PYTHONPATH"
        )
