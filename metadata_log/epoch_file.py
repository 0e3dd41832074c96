"""`leader-epoch-checkpoint`: the text in which Kafka keeps the epoch history.

Decides: its bytes. Must not know: when it is written, and that the log itself is the authority.
"""

from __future__ import annotations

from typing import Final

from metadata_log.epochs import EpochHistory, EpochStart
from metadata_log.errors import CorruptFileError, InvariantViolation
from metadata_log.offsets import Epoch, Offset

EPOCH_FILE: Final = "leader-epoch-checkpoint"
_VERSION: Final = "0"


def format_epochs(history: EpochHistory) -> bytes:
    """The version, the count, and a line `epoch start_offset` for each entry."""
    lines = [_VERSION, str(len(history.entries)), *(f"{entry.epoch} {entry.start_offset}" for entry in history.entries)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def parse_epochs(data: bytes, path: str) -> EpochHistory:
    """The history that the file holds.

    Raises:
        CorruptFileError: it is not such a file.
    """
    try:
        lines = data.decode("ascii").splitlines()
        if len(lines) < 2 or lines[0] != _VERSION or int(lines[1]) != len(lines) - 2:
            raise ValueError("the version is not 0, or the count is not that of the lines")
        history = EpochHistory()
        for line in lines[2:]:
            epoch, start_offset = line.split(" ")
            entry = EpochStart(epoch=Epoch(int(epoch)), start_offset=Offset(int(start_offset)))
            history = history.assign(entry.epoch, entry.start_offset)
    except (ValueError, InvariantViolation) as error:
        raise CorruptFileError(path, f"it is no leader epoch checkpoint: {error}") from error
    return history
