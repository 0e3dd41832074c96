"""One timeline of the logs at several paths, past damage; shared by `kraft log timeline` and `kraft.timeline`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.counts import counted_are
from metadata_log.errors import MetadataLogError
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.gaps import Gap
from metadata_log.tools.read.history import (
    HistoryError,
    LogHistory,
    RemovedMeanwhileError,
    State,
    past_removals,
)
from metadata_log.tools.read.readable import readable_sources, why_unread
from metadata_log.tools.read.sources import SourceError, require_one_cluster
from metadata_log.tools.timeline import Event, Timeline, merged, timeline_of, why_not_one, with_first_state
from metadata_log.tools.verify.lost_end import LostEnd, lost_end_of, of_one_log
from metadata_log.tools.verify.sound_history import open_sound_history, sound_file_history


class TimelineReport(msgspec.Struct, frozen=True, kw_only=True):
    """The timeline of one cluster, and why it may be incomplete.

    Attributes:
        problems: a sentence for each file or range that could not be read.
        lost_ends: a sentence for each log that once reached further than it does now, with the proof.
    """

    timeline: Timeline
    problems: tuple[str, ...]
    lost_ends: tuple[str, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events by offset."""
        return self.timeline.events

    @property
    def is_whole(self) -> bool:
        """Return True if every log was read to its end."""
        return not (self.problems or self.lost_ends)


def timeline_of_paths(
    paths: Sequence[Path], gap_ms: int, on_lost_end: Callable[[str], None] = lambda sentence: None
) -> TimelineReport:
    """Return one timeline of the replicas and files at these paths.

    `on_lost_end` receives each sentence of `lost_ends` as soon as it is known, even if this function raises later.

    Raises:
        SourceError: a path leads to no log, the logs are of several clusters, or there are only checkpoints.
        HistoryError, OSError: the only log cannot be read.
    """
    sources = readable_sources(paths)
    require_one_cluster(sources.nodes, "what was named")
    places: list[tuple[Callable[[Path], LogHistory], Path]]
    places = [(open_sound_history, node.metadata) for node in sources.nodes if node.metadata is not None]
    places += [(sound_file_history, file) for file in sources.files]
    logs: list[Timeline] = []
    problems = [f"{one.path} is left out: {why_unread(one.error)}" for one in sources.unread]
    lost: list[str] = []
    for opened, place in places:
        try:
            history = opened(place)
            end = lost_end_of(history)
            for sentence in _sentences(history, end):
                lost.append(sentence)
                on_lost_end(sentence)
            if history.segments:
                found, damaged = past_removals(functools.partial(_timeline, opened, place, gap_ms, end.gaps))
                logs.append(found)
                problems += damaged
        except (HistoryError, RemovedMeanwhileError, OSError) as error:
            if len(places) + len(sources.unread) == 1:
                raise
            problems.append(f"{place} is left out: {why_unread(error)}")
    if not logs and not problems:
        where = ", ".join(map(str, paths))
        raise SourceError(f"{where}: no segment is there, and a checkpoint does not say when: give segments")
    timeline = merged(logs)
    mixed = why_not_one(timeline)
    problems += [] if mixed is None else [mixed]
    return TimelineReport(timeline=timeline, problems=tuple(problems), lost_ends=tuple(lost))


def lost_ends_of(history: LogHistory) -> Iterator[str]:
    """Yield a sentence for each proof that a log ends before its former end. A single checkpoint has no such proof."""
    yield from _sentences(history, lost_end_of(history))


def _sentences(history: LogHistory, end: LostEnd) -> Iterator[str]:
    yield from (f"{history.path}: {of_one_log(found)}" for found in end.findings)


def _timeline(
    opened: Callable[[Path], LogHistory], place: Path, gap_ms: int, gaps: Sequence[Gap]
) -> tuple[Timeline, list[str]]:
    """Return the events of one log, past its damage, and sentences on the damage."""
    history = opened(place)
    problems = list(history.left_out())
    problems += [f"{history.path}: {gap}, with their events unless another replica holds them" for gap in gaps]

    def sound() -> Iterator[LocatedBatch]:
        for found in history.readable():
            if isinstance(found, LocatedBatch):
                yield found
                continue
            path, damage = found
            problems.append(
                f"{path}, position {damage.position}: {counted_are(damage.size, 'byte')} damaged ({damage.what}): "
                "events in them are missing unless another replica holds them"
            )

    missing = {gap.end: str(gap) for gap in gaps}
    events = timeline_of(sound(), gap_ms, lambda error: problems.append(f"{history.path}: {error}"), missing)
    first = _first_state(history, problems) if events.start_offset else None
    if first is None:
        return with_first_state(events, None), problems
    return with_first_state(events, first.image, first.quorum.voters), problems


def _first_state(history: LogHistory, problems: list[str]) -> State | None:
    """Return the state with which a trimmed log begins, or None if no intact checkpoint has it."""
    try:
        return history.trimmed_state()
    except RemovedMeanwhileError:
        raise
    except MetadataLogError as error:
        problems.append(f"{history.path}: the checkpoint that the log goes on from cannot be read: {error}")
        return None
