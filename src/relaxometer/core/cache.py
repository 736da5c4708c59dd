"""The cache folder: compiled kernels and functions, environments of rivals, parsed files."""

import os
from pathlib import Path

from relaxometer.core.checkout import PACKAGE
from relaxometer.core.errors import UserError


def cache_location() -> Path:
    """Return ``$RELAXOMETER_CACHE``, else ``relaxometer`` in the user's cache; it may not exist yet."""
    given = os.environ.get("RELAXOMETER_CACHE")
    folder = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "relaxometer")
    try:
        return folder.expanduser()
    except RuntimeError:
        raise UserError("no home folder to keep compiled kernels in; set RELAXOMETER_CACHE") from None


def let_numba_write() -> None:
    """Let Numba keep compiled functions in the cache if it cannot next to their modules.

    It would try the home folder next, and fail if that cannot be written. A ``NUMBA_CACHE_DIR`` that is set
    already stays. This holds for processes that are started later, and for this one unless it has imported
    Numba. UserError if the cache cannot be written.
    """
    folders = (PACKAGE, *PACKAGE.rglob("__pycache__"))
    if "NUMBA_CACHE_DIR" in os.environ or all(os.access(folder, os.W_OK) for folder in folders):
        return
    folder = cache_location() / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write compiled functions to {folder}: {error.strerror}; set RELAXOMETER_CACHE"
        ) from None
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
