"""`leader-epoch-checkpoint`: the text file in which Kafka keeps the epoch history.

Decides: its bytes. Must not know: when it is written, or the log, which is the authority.
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.counts import lines_follow
from metadata_log.errors import CorruptFileError, InvariantViolation, NewerFileError
from metadata_log.format.epochs import EpochHistory
from metadata_log.java_text import java_lines
from metadata_log.offsets import Epoch, Offset

EPOCH_FILE: Final = "leader-epoch-checkpoint"
BEFORE_CUT_FILE: Final = "leader-epoch-checkpoint.before-cut"
"""The history before a truncation, kept until the log is cut. Kafka has no such file.

After a crash in between, it explains epochs that only the log still has.
"""
_VERSION: Final = "0"
_LINE: Final = re.compile(rb"(0|[1-9][0-9]{0,18}) (0|[1-9][0-9]{0,18})")
_COUNT: Final = re.compile(rb"0|[1-9][0-9]{0,9}")


def format_epochs(history: EpochHistory) -> bytes:
    """Return the file's text: the version, the count, and a line `epoch start_offset` for each entry."""
    lines = [_VERSION, str(len(history.entries)), *(f"{entry.epoch} {entry.start_offset}" for entry in history.entries)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def parse_epochs(data: bytes, path: str) -> EpochHistory:
    """Return the history in the file's bytes. `path` is for messages.

    Raises:
        CorruptFileError: the bytes are not such a file.
        NewerFileError: the file has an unknown, later version.
    """
    try:
        # Strict: `int` would also accept signs, blanks and underscores, which no node writes.
        lines = java_lines(data)
        if lines is None:
            raise ValueError("it does not end with a line feed")
        if lines and _COUNT.fullmatch(lines[0]) and int(lines[0]) > int(_VERSION):
            newer = f"newer software wrote version {int(lines[0])}"
            raise NewerFileError(path, f"it is no leader epoch checkpoint of version {_VERSION}: {newer}")
        if len(lines) < 2 or lines[0] != _VERSION.encode() or not _COUNT.fullmatch(lines[1]):
            raise ValueError("it does not begin with version 0 and a count")
        if int(lines[1]) != len(lines) - 2:
            raise ValueError(f"its count is {int(lines[1])}, and {lines_follow(len(lines) - 2)}")
        history = EpochHistory()
        for line in lines[2:]:
            found = _LINE.fullmatch(line)
            if found is None:
                raise ValueError(f"{line[:40].decode('ascii', 'backslashreplace')!r} is no epoch and start offset")
            if history.entries and int(found[1]) == history.last_epoch:
                raise ValueError(f"epoch {history.last_epoch} is listed twice")
            history = history.assign(Epoch(int(found[1])), Offset(int(found[2])))
    except (ValueError, InvariantViolation) as error:
        raise CorruptFileError(path, f"it is no leader epoch checkpoint: {error}") from error
    return history
