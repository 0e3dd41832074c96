"""The image hashes of one or several replicas at one offset.

Decides: the offset, if the caller names none. Must not know: how a hash is computed (`image.hash`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.image import MetadataImage
from metadata_log.image.hash import image_hash
from metadata_log.tools.read.history import (
    DamagedLogError,
    HistoryError,
    LogHistory,
    NoStateError,
    RemovedMeanwhileError,
    State,
    past_removals,
)
from metadata_log.tools.read.readable import readable_sources, why_unread
from metadata_log.tools.read.sources import SourceError, Sources, find_sources
from metadata_log.tools.rules.orphaned_configs import orphaned_configs, without
from metadata_log.tools.verify.lost_end import hidden_end
from metadata_log.tools.verify.sound_history import open_sound_history, sound_file_history

_T = TypeVar("_T")


class HashLine(msgspec.Struct, frozen=True, kw_only=True):
    """The hash of one replica.

    Attributes:
        end_offset: the end of the hashed state, exclusive.
        problem: the reason if there is no hash.
        left_behind: removed topics whose configs the replica still holds (`orphaned_configs`).
        hash_without: the hash as it would be without these configs.
        not_hashed: a sentence that names the records of a later release, which the hash does not cover in full.
        is_comparable: True if no record was skipped, so that equal metadata gives an equal hash.
    """

    source: str
    path: str
    end_offset: int | None = None
    epoch: int | None = None
    hash: str | None = None
    problem: str | None = None
    left_behind: tuple[str, ...] = ()
    hash_without: str | None = None
    not_hashed: str | None = None
    is_comparable: bool = True


def histories(paths: Sequence[Path]) -> list[tuple[str, LogHistory]]:
    """Return the name and history of each log and file at these paths.

    Raises:
        SourceError: a path leads to no log.
        HistoryError: a log has no segment and no checkpoint, or a file is misnamed.
    """
    return [(label, opened()) for label, _, opened in _places(paths, find_sources(paths))]


def histories_and_problems(paths: Sequence[Path]) -> tuple[list[tuple[str, LogHistory]], list[HashLine]]:
    """Return the histories; of several logs, an unreadable one gives a line with its problem instead.

    Raises:
        SourceError: no path leads to a log.
        HistoryError: the only log has no history.
        OSError: no log can be read.
        CorruptFileError: no log can be read.
    """
    sources = readable_sources(paths)
    places = _places(paths, sources)
    found: list[tuple[str, LogHistory]] = []
    problems = [HashLine(source=one.label, path=str(one.path), problem=why_unread(one.error)) for one in sources.unread]
    for label, path, opened in places:
        try:
            found.append((label, opened()))
        except HistoryError as error:
            if len(places) + len(sources.unread) == 1:
                raise
            problems.append(HashLine(source=label, path=str(path), problem=str(error)))
    return found, problems


def _places(paths: Sequence[Path], sources: Sources) -> list[tuple[str, Path, Callable[[], LogHistory]]]:
    """Return the name, the path, and the function that opens each log and file."""
    found: list[tuple[str, Path, Callable[[], LogHistory]]] = [
        (node.label, node.metadata, partial(open_sound_history, node.metadata))
        for node in sources.nodes
        if node.metadata is not None
    ]
    found += [(path.name, path, partial(sound_file_history, path)) for path in sources.files]
    if not found:
        raise SourceError(f"{', '.join(map(str, paths))}: no metadata log is there, only other disks of a node")
    return found


def hash_of(state: State) -> str:
    """Return the hash of a state, in hexadecimal.

    Raises:
        UnwritableMetadataError: there is no metadata.version yet.
    """
    return _hash_of(state.image, state)


def _hash_of(image: MetadataImage, state: State) -> str:
    return image_hash(image, state.quorum.kraft_version, state.quorum.voters).hex


def hash_logs(paths: Sequence[Path], at: int | None = None) -> list[HashLine]:
    """Return the hashes at offset `at`; by default at the last offset at which all replicas have a state.

    If several replicas are given, an unreadable or damaged one has a problem instead of a hash.

    Raises:
        SourceError: a path leads to no log.
        HistoryError: the only replica has no history.
        MetadataLogError: the only replica is damaged, or a running node removed files during each attempt.
        OSError: the only replica cannot be read.
    """
    return past_removals(lambda: _hash_logs(paths, at))


def _hash_logs(paths: Sequence[Path], at: int | None) -> list[HashLine]:
    found, lines = histories_and_problems(paths)
    return [*_hashed(found, at, may_fail=len(found) + len(lines) > 1), *lines]


def _hashed(found: Sequence[tuple[str, LogHistory]], at: int | None, *, may_fail: bool) -> list[HashLine]:
    if at is not None:
        return [_read(label, history, partial(_line, label, at=at), may_fail=may_fail) for label, history in found]
    ends = [_read(label, history, _end, may_fail=may_fail) for label, history in found]
    common = min((end for end in ends if isinstance(end, int)), default=0)
    reached = [
        _read(label, history, partial(_end_of_state, end=common), may_fail=may_fail) if isinstance(end, int) else end
        for (label, history), end in zip(found, ends, strict=True)
    ]
    common = min((end for end in reached if isinstance(end, int)), default=0)
    return [
        _read(label, history, partial(_line, label, at=common), may_fail=may_fail) if isinstance(end, int) else end
        for (label, history), end in zip(found, reached, strict=True)
    ]


def _read(label: str, history: LogHistory, read: Callable[[LogHistory], _T], *, may_fail: bool) -> _T | HashLine:
    """Return the result of `read`; if it fails and `may_fail`, a line with the problem, so that others are hashed."""
    try:
        return read(history)
    except RemovedMeanwhileError:
        raise
    except DamagedLogError as error:
        if not may_fail:
            raise
        problem = str(error)
        if error.sound_end is not None:
            problem += f"; --at {error.sound_end} asks for the last state before it"
    except (MetadataLogError, OSError) as error:
        if not may_fail:
            raise
        problem = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return HashLine(source=label, path=str(history.path), problem=problem)


def _end_of_state(history: LogHistory, end: int) -> int:
    """Return the end of the last state up to `end`; `end` itself if the replica begins later."""
    return history.state_at(end).end if history.start_offset <= end else end


def _end(history: LogHistory) -> int:
    end = history.start_offset
    for batch in history.batches(end):
        end = batch.header.next_offset
    return end


def _line(label: str, history: LogHistory, at: int) -> HashLine:
    try:
        state = history.exact(at)
    except NoStateError as error:
        hidden = hidden_end(history, error.nearest, at)
        problem = str(error) if hidden is None else f"{error}; {hidden}"
        return HashLine(source=label, path=str(history.path), problem=problem)
    except HistoryError as error:
        return HashLine(source=label, path=str(history.path), problem=str(error))
    end = state.image.offset_and_epoch
    left = orphaned_configs(state.image)
    whole, newer = hash_of(state), state.newer
    return HashLine(
        source=label,
        path=str(history.path),
        end_offset=int(end.offset),
        epoch=int(end.epoch),
        hash=whole,
        left_behind=tuple(left),
        hash_without=_hash_of(without(state.image, left), state) if left else whole,
        not_hashed=newer.text("not hashed in full") if newer else None,
        is_comparable=not newer.hides_metadata and not (state.quorum.newer and state.quorum.voters is None),
    )
