"""The tools for metadata logs as functions: they read files, take no lock, and change nothing.

They accept the directories of running nodes. What the command line prints beside a result, such as the proof
that a log lost its end, is a warning here.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from metadata_log.image import MetadataImage
from metadata_log.tools.check.check import CheckReport, check_paths
from metadata_log.tools.read.history import LogHistory
from metadata_log.tools.read.sources import SourceError
from metadata_log.tools.replicas.diff import DiffReport
from metadata_log.tools.replicas.diff_paths import diff_paths
from metadata_log.tools.replicas.hashes import histories
from metadata_log.tools.timelines import TimelineReport, lost_ends_of, timeline_of_paths

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class IncompleteWarning(UserWarning):
    """A result lacks something: the log lost its end, or a later release wrote records that this one cannot show."""


def open_log(path: str | PathLike[str]) -> LogHistory:
    """Return the metadata log at a path: a node's directory, a metadata directory, an export, a segment or checkpoint.

    Nothing is replayed yet. `batches()`, `states()` and `state_at()` read the log.

    Raises:
        SourceError: the path leads to no log, or to several.
        HistoryError: the directory holds neither segments nor checkpoints.
    """
    found = histories([Path(path)])
    if len(found) > 1:
        raise SourceError(f"{path} holds several logs ({', '.join(label for label, _ in found)}): name one of them")
    return found[0][1]


def image_at(log: str | PathLike[str] | LogHistory, at: int | datetime | None = None) -> MetadataImage:
    """Return the metadata as of an offset (exclusive) or a time, by default as of the end of the log.

    The image is the last one at `at` or before: `image.offset_and_epoch` names its exact place.

    Raises:
        HistoryError: the log does not reach back so far, or is damaged before `at`.
        ValueError: the time has no time zone, or the offset is negative.
    """
    history = log if isinstance(log, LogHistory) else open_log(log)
    for sentence in history.left_out():
        warnings.warn(sentence, IncompleteWarning, stacklevel=2)
    if at is None:
        for sentence in lost_ends_of(history):
            warnings.warn(sentence, IncompleteWarning, stacklevel=2)
    state = history.state_at(_end(history, at))
    if state.newer:
        warnings.warn(state.newer.text("not shown in full"), IncompleteWarning, stacklevel=2)
    return state.image


def _end(history: LogHistory, at: int | datetime | None) -> int | None:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError(f"{at!r} has no time zone: write datetime(..., tzinfo=UTC)")
        return history.end_at(round((at - _EPOCH).total_seconds() * 1000))
    if at is not None and at < 0:
        raise ValueError(f"{at} is no offset: offsets begin at 0")
    return at


def check(*paths: str | PathLike[str]) -> CheckReport:
    """Return what is wrong with a cluster's directories, as `kraft check` does; `findings` has the gravest first.

    Raises:
        SourceError: there is no metadata log at one of the paths.
    """
    return check_paths(_all(paths))


def diff(*paths: str | PathLike[str]) -> DiffReport:
    """Return where replicas of one log diverge, as `kraft log diff` does.

    Raises:
        SourceError: the paths are not two logs or more of one cluster.
    """
    return diff_paths(_all(paths))


def timeline(*paths: str | PathLike[str], gap_s: float = 5.0) -> TimelineReport:
    """Return the events of a cluster by offset, as `kraft log timeline` does; a pause of `gap_s` seconds is a gap.

    Raises:
        SourceError: a path leads to no log, or the logs are of several clusters.
        HistoryError, OSError: the only log cannot be read.
    """
    return timeline_of_paths(_all(paths), round(gap_s * 1000))


def _all(paths: tuple[str | PathLike[str], ...]) -> list[Path]:
    """Return the paths.

    Raises:
        SourceError: no path was given.
    """
    if not paths:
        raise SourceError("no path was given: name the directory of a node")
    return [Path(path) for path in paths]
