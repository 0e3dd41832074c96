"""The image hash of one or several copies of a metadata log, at one offset.

Decides: at which offset copies are compared when none is named. Must not know: how a hash is computed (`image.hash`).
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
from metadata_log.tools.rules.orphaned_configs import loose_configs, without
from metadata_log.tools.verify.lost_end import hidden_end
from metadata_log.tools.verify.sound_history import open_sound_history, sound_file_history

_T = TypeVar("_T")


class HashLine(msgspec.Struct, frozen=True, kw_only=True):
    """The hash of one copy.

    Attributes:
        end_offset: exclusive.
        problem: why there is no hash.
        left_behind: topics that are gone, whose configs the copy holds nevertheless (`orphaned_configs`).
        hash_without: the hash as it would be without them.
        not_hashed: the sentence that names all that a later release has written, and the hash does not cover in full.
        is_comparable: no record was passed over, so that equal metadata gives an equal hash.
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
    """Each log and file at these paths, with what it is called.

    Raises:
        SourceError, HistoryError: one is none.
    """
    return [(label, opened()) for label, _, opened in _places(paths, find_sources(paths))]


def histories_and_problems(paths: Sequence[Path]) -> tuple[list[tuple[str, LogHistory]], list[HashLine]]:
    """The same, where of several logs one may be none, or closed: a line for it says why.

    Raises:
        SourceError: no path leads to a log.
        HistoryError: the only one is none.
        OSError, CorruptFileError: none can be read.
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
    """What each log and file is called, where it is, and how it is opened."""
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
    """The hash of a state, in hexadecimal.

    Raises:
        UnwritableMetadataError: there is no metadata.version yet.
    """
    return _hash_of(state.image, state)


def _hash_of(image: MetadataImage, state: State) -> str:
    return image_hash(image, state.quorum.kraft_version, state.quorum.voters).hex


def hash_logs(paths: Sequence[Path], at: int | None = None) -> list[HashLine]:
    """The hashes at offset `at`; by default at the last offset that all copies have a state for.

    Of several copies one that cannot be read, or is damaged before that, has a problem instead; alone it is an error.

    Raises:
        SourceError, HistoryError: a path is none of a log.
        MetadataLogError: the files of the only copy are damaged, or a running node removed some, again and again.
        OSError: the only copy cannot be read.
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
    """What `read` makes of a copy; where it may fail, why it did: the other copies are hashed nevertheless."""
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
    """Where the last state up to `end` ends; `end` itself where the copy begins later."""
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
    left = loose_configs(state.image)
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
