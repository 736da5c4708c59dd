"""The figures and tables of published papers: one module per paper, found by its name."""

import os
import pkgutil
from collections.abc import Iterable
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.validation import suggestion


def names() -> list[str]:
    """Return the names of all papers, as ``report.papers`` of the configuration has them."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def check(chosen: Iterable[str], origin: str) -> None:
    """Raise UserError if a configuration, whose files are `origin`, names an unknown paper."""
    known = names()
    for name in chosen:
        if name not in known:
            hint = suggestion(name, known) or ";"
            raise UserError(
                f"{origin}: report.papers: unknown paper {name!r}{hint} known: {', '.join(known)}"
            )


def claims(chosen: Iterable[str], folder: Path) -> list[str]:
    """Return the files in `folder` with the claims of some papers, relative to the working directory."""
    files = (folder / f"{name}.yaml" for name in chosen)
    return [os.path.relpath(file) for file in files if file.is_file()]
