"""The one log that a command of states is about, and what is said where it is damaged."""

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
    """The one log at a path.

    Raises:
        CliError: there are several.
        SourceError, HistoryError: there is none.
    """
    from metadata_log.tools.replicas.hashes import histories  # noqa: PLC0415  (not needed for help)

    found = histories([path])
    if len(found) > 1:
        raise wrong_use(f"{path} holds several logs ({', '.join(label for label, _ in found)}): name one of them")
    return found[0][1]


def what_is_lost(history: LogHistory) -> LostEnd:
    """What is proven lost of the end of a history's log; of a single checkpoint, nothing."""
    from metadata_log.tools.verify.lost_end import LostEnd, lost_end  # noqa: PLC0415  (not needed for help)

    if not history.path.is_dir() and not history.segments:
        return LostEnd(findings=(), proved_end=0)
    return lost_end(history.path)


def say_what_is_left_out(history: LogHistory) -> None:
    """Say on standard error which checkpoints are misnamed, so that no state begins with one."""
    for sentence in history.left_out():
        say(f"kraft: {sentence}")


def say_what_is_lost(history: LogHistory, lost: LostEnd | None = None) -> bool:
    """Tell on standard error of a log that ends before what it once reached: later states are not known from it.

    `lost`: what is known of it already.
    Returns whether it does: what is shown of it up to its end is not all, and the exit status has to say so too.
    """
    from metadata_log.tools.verify.lost_end import of_one_log  # noqa: PLC0415  (not needed for help)

    say_what_is_left_out(history)
    findings = (what_is_lost(history) if lost is None else lost).findings
    for found in findings:
        say(f"kraft: {history.path}: {of_one_log(found)}")
    return bool(findings)


@contextlib.contextmanager
def an_earlier_offset_may_help() -> Iterator[None]:
    """Around what reads states, in commands that take `--at`.

    Raises:
        CliError: the log is damaged before the state that was asked for, and where it ends before that.
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
    """Around what reads the state at an offset.

    Raises:
        CliError: the log does not have it, since records before it are missing.
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
