"""The lock of a log directory: one process at a time, of this project or of Kafka."""

from __future__ import annotations

from typing import Final

from metadata_log.errors import DirectoryError, DirectoryLockedError
from metadata_log.files.port import Files, HeldLock

LOCK_FILE: Final = ".lock"


class DirectoryLock:
    """The held lock of `log_dir`. Kafka takes the same lock on the same file, so each sees the other's.

    Raises:
        DirectoryLockedError: the lock is taken.
        DirectoryError: the lock file cannot be opened.
    """

    def __init__(self, files: Files, log_dir: str) -> None:
        path = f"{log_dir}/{LOCK_FILE}"
        try:
            self._held: HeldLock | None = files.lock(path)
        except BlockingIOError as error:
            raise DirectoryLockedError(
                f"{path} is locked: another process, of kraft or of Kafka, uses {log_dir}. Stop it, or give each "
                "process its own log.dirs"
            ) from error
        except OSError as error:
            raise DirectoryError(f"{path} cannot be locked: {error.strerror or error}") from error
        self.path = path

    def release(self) -> None:
        """Release the lock. The file stays, as Kafka leaves it."""
        if self._held is not None:
            self._held.release()
            self._held = None
