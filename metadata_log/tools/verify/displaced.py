"""A batch that is not at the offset that is due: the batch behind it says if records are missing in front of it.

Decides: the sentence. Must not know: how the batches are read, and which finding of them is an error.

The base offset is in the header, which no checksum covers: one bit of it may be what is wrong, and all records there.
"""

from __future__ import annotations

import msgspec

from metadata_log.format.batch import BatchHeader
from metadata_log.tools.findings.sink import Taken
from metadata_log.tools.words import missing_records


class Displaced(msgspec.Struct, frozen=True, kw_only=True):
    """A batch with another base offset than `due`, and the finding that says so."""

    header: BatchHeader
    due: int
    said: Taken

    def on_next(self, base: int) -> None:
        """Take the base offset of the batch behind it."""
        header = self.header
        if base == self.due + header.count and base != header.next_offset:
            self.said.reword(
                f"offset {self.due} is due, and its header says {header.base_offset}, but the batch behind it goes on "
                f"from {base}: no record is missing or repeated, and that field, which no checksum covers, is wrong"
            )
        elif base == header.next_offset and header.base_offset > self.due:
            self.said.reword(gap(self.due, header))


def gap(due: int, header: BatchHeader) -> str:
    """Return the sentence for a batch behind a gap."""
    return f"offset {due} is due, and {header.base_offset} stands there: {missing_records(header.base_offset - due)}"


def gap_or_offset(due: int, header: BatchHeader) -> str:
    """Return the sentence for the last batch, of which no other one says if it is behind a gap."""
    return f"{gap(due, header)}, or the base offset in its header is wrong, which no checksum covers"
