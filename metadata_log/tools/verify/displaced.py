"""A batch at another offset than the one due: the batch behind it shows if records are missing in front of it.

Decides: the sentence. Must not know: how batches are read, and the severity of findings.

The base offset is in the part of the header that no checksum covers. So that field may be wrong, and no record missing.
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
        """Reword the finding by the base offset of the batch behind it.

        That batch continues either from the offset due (the field is wrong) or from this header (records are missing).
        """
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
    return f"offset {due} is due, and {header.base_offset} is there: {missing_records(header.base_offset - due)}"


def gap_or_offset(due: int, header: BatchHeader) -> str:
    """Return the sentence for a batch while no batch behind it shows if there is a gap or a wrong field."""
    return f"{gap(due, header)}, or the base offset in its header is wrong, which no checksum covers"
