"""The message and the exit status of each kind of error.

Exit status 0: success. 1: the command failed, or found something. 2: it was used wrongly. A user's mistake ends in one
sentence on standard error. A bug in this software ends in one line, too; `kraft --debug` shows its traceback.
"""

from __future__ import annotations

import contextlib
import errno
import sys
from typing import Final, NamedTuple

from metadata_log.errors import MetadataLogError, WrongUseError
from metadata_log.files.links import remedy
from metadata_log.ids import InvalidIdError
from quorum.plain_text import plain

FAILED: Final = 1
WRONG_USE: Final = 2
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_SUCH_PLACE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EEXIST)


class CliError(Exception):
    """A sentence for the user, with the exit status that goes with it."""

    def __init__(self, message: str, *, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def wrong_use(message: str) -> CliError:
    """Return the error of a command that cannot be carried out as it is written, with exit status 2."""
    return CliError(message, exit_code=WRONG_USE)


def say(message: str) -> None:
    """Print a line for the user on standard error. Standard output stays data.

    The message may quote names from a log or a peer: control characters in them are escaped.
    """
    with contextlib.suppress(OSError):  # a full or closed standard error: the exit status has to say it alone
        print(plain(message), file=sys.stderr)


class UserError(NamedTuple):
    """The message and the exit status of an error."""

    sentence: str
    exit_code: int


def user_error_of(error: Exception) -> UserError | None:
    """Return the message and exit status of a known kind of error, or None for a bug in this software."""
    if isinstance(error, CliError):
        return UserError(str(error), error.exit_code)
    if isinstance(error, InvalidIdError | WrongUseError):
        return UserError(str(error), WRONG_USE)
    if isinstance(error, MetadataLogError) or _is_client_error(error):
        return UserError(str(error), FAILED)
    if isinstance(error, OSError):
        todo = remedy(error)
        return (
            _of_the_system(error)
            if todo is None
            else UserError(f"{error.filename}: {error.strerror}: {todo}", WRONG_USE)
        )
    return None


def _of_the_system(error: OSError) -> UserError:
    """Return the message of an OSError. One without a file name comes from standard output."""
    if error.errno in _NO_ROOM:
        where = error.filename or "standard output, which is not whole"
        return UserError(
            f"{where}: {error.strerror}: make room there or name another place, and run this again", WRONG_USE
        )
    where = f"{error.filename}: " if error.filename else "standard output: " if error.errno == errno.EBADF else ""
    if error.errno == errno.EROFS:
        return UserError(f"{where}{error.strerror}: name another place, or mount it for writing", WRONG_USE)
    return UserError(f"{where}{error.strerror or error}", WRONG_USE if error.errno in _NO_SUCH_PLACE else FAILED)


def unexpected(error: Exception) -> UserError:
    """Return the message of a bug: one line, and how to see the traceback."""
    text = " ".join(str(error).split())
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return UserError(
        f"unexpected error: {what}; this is a bug in kraft: to see where it is, put --debug before the command "
        "(kraft --debug ...), and report what that prints",
        FAILED,
    )


def exit_code_of(error: Exception) -> int | None:
    """Print the message of `error` and return its exit status. A bug is not printed: return None."""
    user_error = user_error_of(error)
    if user_error is None:
        return None
    say(f"kraft: {user_error.sentence}")
    return user_error.exit_code


def _is_client_error(error: Exception) -> bool:
    """Return True for a ClientError or ConfigError.

    The modules are not imported: if they are absent, so are the errors.
    """
    client, config = sys.modules.get("quorum.client.errors"), sys.modules.get("quorum.node.config.node_config")
    kinds = (getattr(client, "ClientError", None), getattr(config, "ConfigError", None))
    return any(kind is not None and isinstance(error, kind) for kind in kinds)
