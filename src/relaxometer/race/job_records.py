"""Snakemake's records of the files that a program writes in place of the workflow's jobs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord
from snakemake.persistence.file import FilePersistence


class Records:
    """The records in this folder.

    Without an update, Snakemake attributes the files to its own last job.
    """

    def __init__(self) -> None:
        self._kept = FilePersistence(nolock=True)

    def differ(self, parameters: Mapping[str, Any], files: Iterable[Path]) -> bool:
        """Return whether a file has a record of other parameters."""
        records = filter(None, map(self._kept._read_record, map(str, files)))
        return any(record.params not in (None, _as_recorded(parameters)) for record in records)

    def begin(self, files: Iterable[Path]) -> None:
        """Mark files that are about to be replaced, so that Snakemake makes them again after a kill."""
        for file in map(str, files):
            self._kept._mark_incomplete(file, None)

    def leave(self, files: Iterable[Path]) -> None:
        """Remove the marks of files that were not replaced."""
        for file in map(str, files):
            self._kept._unmark_incomplete(file)

    def end(self, rule: str, parameters: Mapping[str, Any], files: Sequence[Path]) -> None:
        """Record the rule and the parameters of files that are complete."""
        now = time.time()
        record = MetadataRecord(
            rule=rule,
            params=_as_recorded(parameters),
            record_format_version=RECORD_FORMAT_VERSION,
            # Snakemake's report needs these.
            starttime=now,
            endtime=now,
            job_hash=hash((rule, *files)),
            incomplete=False,
        )
        for file in map(str, files):
            self._kept._write_record(file, record)
        self.leave(files)


def _as_recorded(parameters: Mapping[str, Any]) -> list[str]:
    return sorted(map(repr, parameters.values()))
