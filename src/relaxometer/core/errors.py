"""Errors that a user can fix, reported in one line without a traceback."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

MAX_QUOTED = 80  # maximum characters of foreign text in a message, quotation marks included

_SPACE, _PERMISSION = "make room", "give permission"
_REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EROFS: _PERMISSION,
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ENOTDIR: "name a folder that can be written",
    errno.EEXIST: "name another target",
    errno.EISDIR: "name a file",
}
"""Advice by error of the operating system."""


class UserError(Exception):
    """Invalid input. The one-line message says what is wrong, where, and what is expected."""

    __module__, __qualname__ = "relaxometer", "GraphError"  # its public name, which tracebacks show


class Failed(Exception):  # noqa: N818 - a status
    """A contestant failed: the status of its rows, and the reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def quoted(text: object) -> str:
    """Return foreign text in quotation marks, fit for a message.

    Control characters are escaped, since a file could send commands to the terminal. A long text is cut and
    ends in ``...``.
    """
    start = whole = str(text)[: MAX_QUOTED + 1]
    shown = repr(whole)
    while len(shown) > MAX_QUOTED:
        start = start[:-1]
        shown = repr(f"{start}...")
    return shown


def escaped(text: str) -> str:
    """Return a line that contains foreign text, with control characters escaped."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


@contextmanager
def naming_lacks() -> Iterator[None]:
    """Turn a lack of space, permission or memory in the block into a `UserError` that says what to do."""
    try:
        yield
    except MemoryError as error:
        detail = str(error).partition("\n")[0] or "the machine has no more"
        raise UserError(f"not enough memory: {detail}") from error
    except OSError as error:
        if error.errno not in _REMEDIES:
            raise
        place = f"{error.filename}: " if error.filename else ""
        reason = f"{place}{os.strerror(error.errno)}; {_REMEDIES[error.errno]}, then run again"
        raise UserError(reason) from error
