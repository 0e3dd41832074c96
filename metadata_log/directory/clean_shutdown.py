"""`.kafka_cleanshutdown`: what a broker that was stopped in an orderly way leaves in each of its log directories.

Decides: what the file says. Must not know: what follows from it.

It names the broker's epoch, which is the offset of the registration that a controller committed before it answered.
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
    """Return the broker's epoch; None: there is no such file, or it says nothing usable."""
    path = f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"
    try:
        return decode_json(read_small_file(files, path), CleanShutdown).broker_epoch if files.exists(path) else None
    except (OSError, CorruptFileError, msgspec.DecodeError):
        return None


def registered_end(files: Files, log_dirs: Iterable[str]) -> int:
    """Return up to where the log was committed by what a clean stop left in any of these: 0 where none has the file.

    A registration is answered once it is committed, and the broker's epoch is its offset.
    """
    epochs = (read_clean_shutdown(files, path) for path in log_dirs)
    return max((epoch + 1 for epoch in epochs if epoch is not None), default=0)
