"""The folder of what is worth keeping between runs: compiled kernels, rivals, and what files refer to."""

from __future__ import annotations

import os
from pathlib import Path

from relaxometer.core.errors import UserError


def cache_location() -> Path:
    """Return ``$RELAXOMETER_CACHE``, else ``relaxometer`` in the user's cache; it may not exist yet."""
    given = os.environ.get("RELAXOMETER_CACHE")
    folder = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "relaxometer")
    try:
        return folder.expanduser()
    except RuntimeError:
        raise UserError("no home folder to keep compiled kernels in; set RELAXOMETER_CACHE") from None
