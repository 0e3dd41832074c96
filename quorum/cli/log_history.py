"""The one log that a command about states reads, and the messages if it is damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.cli.errors import CliError, say, wrong_use

if TYPE_CHECKING:
    from metadata_log.tools.read.history import LogHistory
    from metadata_log.tools.verify.lost_end import LostEnd


def only_history(path: Path) -> LogHistory:
    """Return the one log at a path.

    Raises:
        CliError: the path holds several logs.
        SourceError, HistoryError: it holds no log.
    """
    from metadata_log.tools.replicas.hashes import histories  # noqa: PLC0415  (not needed for help)

    found = histories([path])
    if len(found) > 1:
        raise wrong_use(f"{path} holds several logs ({', '.join(label for label, _ in found)}): name one of them")
    return found[0][1]


def what_is_lost(history: LogHistory) -> LostEnd:
    """Return the proven loss of a log's end. A single checkpoint has none."""
    from metadata_log.tools.verify.lost_end import lost_end_of  # noqa: PLC0415  (not needed for help)

    return lost_end_of(history)


def say_what_is_left_out(history: LogHistory) -> None:
    """Say on standard error which checkpoints are misnamed, so that no state begins with one."""
    for sentence in history.left_out():
        say(f"kraft: {sentence}")


def say_what_is_lost(history: LogHistory, lost: LostEnd | None = None) -> bool:
    """Report on standard error a log that ends before its historical extent: later states are unknown.

    `lost`: the result of `what_is_lost`, if the caller has it already.

    Returns:
        True if the end is lost. Then the output is incomplete, and the exit status must show that.
    """
    from metadata_log.tools.verify.lost_end import of_one_log  # noqa: PLC0415  (not needed for help)

    say_what_is_left_out(history)
    findings = (what_is_lost(history) if lost is None else lost).findings
    for found in findings:
        say(f"kraft: {history.path}: {of_one_log(found)}")
    return bool(findings)


@contextlib.contextmanager
def an_earlier_offset_may_help() -> Iterator[None]:
    """Surround code that reads states, in commands with `--at`.

    Raises:
        CliError: the log is corrupt before the requested state; the message names the last readable offset.
    """
    from metadata_log.tools.read.history import DamagedLogError  # noqa: PLC0415  (not needed for help)

    try:
        yield
    except DamagedLogError as error:
        if error.sound_end is None:
            raise
        raise CliError(f"{error}; --at {error.sound_end} asks for the last state before it") from error


@contextlib.contextmanager
def a_gap_is_named(history: LogHistory, at: int | None) -> Iterator[None]:
    """Surround code that reads the state at an offset.

    Raises:
        CliError: the log does not have that state, since records before it are missing.
    """
    from metadata_log.tools.read.history import NoStateError  # noqa: PLC0415  (not needed for help)
    from metadata_log.tools.verify.lost_end import hidden_end  # noqa: PLC0415

    try:
        yield
    except NoStateError as error:
        hidden = hidden_end(history, error.nearest, at)
        if hidden is None:
            raise
        raise CliError(f"{error}; {hidden}") from error
