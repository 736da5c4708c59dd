"""Failed jobs as results: the output of a failed job is empty, and a hidden note next to it gives the reason.

A failed download, build or run must not cost what others measured, so for Snakemake its job succeeds: it
leaves empty files and notes with the reason. A job that needs such a file fails for the same reason. One that
gathers results leaves it out, and an empty note says that its own output lacks something. The next run
deletes all files that have a note (:func:`retry`), so that Snakemake makes them again.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

SUFFIX = ".failed"  # ends the name of a note
PREVIOUS = ".previous"  # ends the name of the last good file, which is kept until its job succeeds


class Prevented(Exception):  # noqa: N818 - the error was that of another job
    """An input is missing because an earlier job failed; the message is the line of that job."""


def _note_of(file: str | Path) -> Path:
    path = Path(file)
    return path.with_name(f".{path.name}{SUFFIX}")


def failure_of(file: str | Path) -> str:
    """Return why a file could not be made; empty if it was."""
    try:
        return _note_of(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def is_made(file: Path) -> bool:
    """Return whether a file exists and its job succeeded."""
    return file.is_file() and not failure_of(file)


def made(files: Iterable[str]) -> list[str]:
    """Return those of some files that could be made."""
    return [file for file in files if not failure_of(file)]


def refuse_failed(files: Iterable[str]) -> None:
    """Raise Prevented if one of some files could not be made."""
    for file in files:
        if reason := failure_of(file):
            raise Prevented(reason)


def refuse_lack(files: Sequence[str]) -> list[str]:
    """Return those of some files that could be made; Prevented if none of several could."""
    found = made(files)
    if not found:
        refuse_failed(files)
    return found


def note_failure(files: Iterable[str], reason: str) -> None:
    """Leave empty files that say why they could not be made; good ones from before get another name."""
    for file in map(Path, files):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file() and file.stat().st_size:
            file.replace(f"{file}{PREVIOUS}")
        file.touch()
        _note_of(file).write_text(reason, encoding="utf-8")


def note_success(files: Iterable[str], inputs: Iterable[str]) -> None:
    """Forget earlier failures to make some files; note whether something is lacking in them."""
    lacks = any(_note_of(file).exists() for file in inputs)
    for file in files:
        Path(f"{file}{PREVIOUS}").unlink(missing_ok=True)
        forget(file)
        if lacks:
            _note_of(file).touch()


def forget(file: str | Path) -> None:
    """Remove the note of a file."""
    _note_of(file).unlink(missing_ok=True)


def retry(folder: Path) -> None:
    """Delete the files below a folder that have a note, and the notes."""
    for note in folder.rglob(f".*{SUFFIX}"):
        note.with_name(note.name[1:].removesuffix(SUFFIX)).unlink(missing_ok=True)
        note.unlink()
