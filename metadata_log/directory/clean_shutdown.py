"""`.kafka_cleanshutdown`: the file that a broker leaves in each log directory at a clean stop.

It has the broker's epoch: the offset of the broker's registration, which a controller committed before it responded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.port import Files, read_small_file

CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"


class CleanShutdown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of the file."""

    version: int
    broker_epoch: int


def read_clean_shutdown(files: Files, log_dir: str) -> int | None:
    """Return the broker epoch, or None if there is no such file or it cannot be read."""
    path = f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"
    try:
        return decode_json(read_small_file(files, path), CleanShutdown).broker_epoch if files.exists(path) else None
    except (OSError, CorruptFileError, msgspec.DecodeError):
        return None


def registered_end(files: Files, log_dirs: Iterable[str]) -> int:
    """Return the offset before which the log was committed, as shown by these directories' clean stops, or 0.

    A controller responds to a registration after committing it. The broker epoch is never above the record's offset.
    """
    epochs = (read_clean_shutdown(files, path) for path in log_dirs)
    return max((epoch + 1 for epoch in epochs if epoch is not None), default=0)
