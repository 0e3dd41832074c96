"""The lock of a log directory: one process at a time, ours or a Kafka.

Decides: who may use a directory. Must not know: what for.
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import DirectoryError, DirectoryLockedError
from metadata_log.files.port import Files, HeldLock

LOCK_FILE: Final = ".lock"


class DirectoryLock:
    """The held lock of `log_dir`. Kafka takes the same lock on the same file, so each sees the other.

    Raises:
        DirectoryLockedError: it is taken, naming the file.
        DirectoryError: the lock file cannot be opened.
    """

    def __init__(self, files: Files, log_dir: str) -> None:
        path = f"{log_dir}/{LOCK_FILE}"
        try:
            self._held: HeldLock | None = files.lock(path)
        except BlockingIOError as error:
            raise DirectoryLockedError(
                f"{path} is locked: another process, one of ours or a Kafka, uses {log_dir}. Stop it, or give each "
                "process its own log.dirs"
            ) from error
        except OSError as error:
            raise DirectoryError(f"{path} cannot be locked: {error.strerror or error}") from error
        self.path = path

    def release(self) -> None:
        """Give it back; the file stays, as Kafka leaves it."""
        if self._held is not None:
            self._held.release()
            self._held = None
