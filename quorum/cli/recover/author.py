"""The author of a repair, for its audit file."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from quorum.recovery.journal.carry_out import Author


_PATHS: Final = ("--dir", "--copy", "--broker-dir", "--work", "--config")


def author() -> Author:
    """Return the author of a repair that this command runs."""
    from quorum.recovery.journal.carry_out import Author  # noqa: PLC0415  (not needed for help)

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        user = str(os.getuid())
    if "SUDO_USER" in os.environ:
        user = f"{os.environ['SUDO_USER']} as {user}"
    words = ["kraft", *_with_whole_paths(sys.argv[1:])]
    return Author(who=f"{user}@{socket.gethostname()}", command=shlex.join(words), now_ms=time.time_ns() // 1_000_000)


def _with_whole_paths(words: Sequence[str]) -> list[str]:
    """Return the words with absolute paths, so that the command means the same in every directory."""
    found: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in _PATHS:
            found.append(f"{name}={Path(value).absolute()}")
        else:
            found.append(str(Path(word).absolute()) if found and found[-1] in _PATHS else word)
    return found
