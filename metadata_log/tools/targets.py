"""Where something new may be written: not within what Kafka takes for its own.

Decides: which directories are refused as targets. Must not know: what is written there.
"""

from __future__ import annotations

from pathlib import Path

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.errors import WrongUseError


class TargetError(WrongUseError):
    """Nothing can be written where it was asked for."""


def require_outside_of_logs(target: Path) -> None:
    """Let a target pass that is not within a log directory: a broker refuses to start beside what it does not know.

    Raises:
        TargetError: it is.
    """
    for parent in target.resolve().parents:
        if (parent / META_PROPERTIES_FILE).exists() or (parent / METADATA_DIRECTORY).is_dir():
            raise TargetError(f"{target} is within the log directory {parent}: name a place outside of it")


def require_new_directory(target: Path, why: str) -> None:
    """Let a directory pass that is not there, or empty, and not within a log directory.

    Raises:
        TargetError: it is not so; `why` says what to do.
    """
    require_outside_of_logs(target)
    if target.exists() and not target.is_dir():
        raise TargetError(f"{target} is there and no directory: {why}")
    if target.exists() and any(target.iterdir()):
        raise TargetError(f"{target} is there and not empty: {why}")
