"""The batches of one copy, read once more.

Decides: which of them are safe, by what was found when the copy was read. Must not know: what is looked for in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from metadata_log.files.port import Files
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.scan import scan
from quorum.recovery.copies import Copy


def batches_from(files: Files, copy: Copy, start: int) -> Iterator[LocatedBatch]:
    """The safe batches that end after `start`, in order."""
    for part in copy.segments:
        with closing(files.open(f"{copy.place.metadata}/{part.name}", read_only=True)) as handle:
            for found in scan(handle, part.skipped, part.safe_size):
                if isinstance(found, LocatedBatch) and found.header.next_offset > start:
                    yield found
