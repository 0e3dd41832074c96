"""The events of a cluster by its log: elections, leaders, brokers fenced and unfenced, gaps, new levels.

Decides: which records are an event, and how long a pause is a gap. Must not know: files and pictures
(`pictures.timeline` draws).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from metadata_log.errors import MalformedRecordError, MetadataLogError, UnknownRecordError
from metadata_log.format.batch import batch_records, batch_values
from metadata_log.image import MetadataImage
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    MetadataRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    VotersRecord,
    control_or_newer,
    decode_record,
)
from metadata_log.records.levels import FEATURE_NAME, level_text
from metadata_log.records.newer import NewerPart, NewerParts, newer_control, newer_levels, newer_record
from metadata_log.storage.segment import LocatedBatch
from metadata_log.voters import VoterSet, format_voter


class EventKind(enum.StrEnum):
    """The kind of an event."""

    ELECTION = "election"
    REGISTERED = "registered"
    FENCED = "fenced"
    UNFENCED = "unfenced"
    SHUTDOWN = "controlled-shutdown"
    UNREGISTERED = "unregistered"
    FEATURE = "feature"
    VOTERS = "voters"
    GAP = "gap"
    MISSING = "missing"
    """Offsets before this one are not in the log: their events are unknown."""
    STATE = "state"
    """A fact at the start of a trimmed log, or that it is unknown."""
    WAS_FENCED = "already-fenced"
    WAS_UNFENCED = "already-unfenced"


_OF_STATE: Final = frozenset({EventKind.STATE, EventKind.WAS_FENCED, EventKind.WAS_UNFENCED})


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event at the time of its batch (ms since 1970). `node_id`: the elected leader, or the broker."""

    time_ms: int
    offset: int
    epoch: int
    kind: EventKind
    node_id: int | None = None
    text: str
    duration_ms: int | None = None
    """Of a gap: the pause before this offset, in ms. Of missing offsets: the unknown time, in ms."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All events by offset, between the times of the first and the last batch.

    `newer`: parts of a later release, which may be events that are not listed.
    """

    start_ms: int
    end_ms: int
    end_offset: int
    events: tuple[Event, ...]
    start_offset: int = 0
    newer: tuple[NewerPart, ...] = ()

    @property
    def not_shown(self) -> str | None:
        """Return a sentence on all parts of a later release, or None."""
        return NewerParts(parts=self.newer).text("not shown in full") if self.newer else None


def timeline_of(
    batches: Iterable[LocatedBatch],
    gap_ms: int,
    on_unreadable: Callable[[MetadataLogError], None] | None = None,
    missing: Mapping[int, str] = MappingProxyType({}),
) -> Timeline:
    """Return the events in these batches of one log, in order. A pause of more than `gap_ms` is a gap.

    No gap and no unused epoch is concluded across missing offsets. `missing`: sentences on offsets that are missing
    without damage, by the offset after them. Records of a later release are skipped. `on_unreadable` receives the error
    of a record that does not decode, and the rest of its batch is skipped.

    Raises:
        MalformedRecordError, CorruptBatchError: a record does not decode, and there is no `on_unreadable`.
    """
    events, newer = list[Event](), list[NewerPart]()
    start = last = -1
    end_offset = epoch = start_offset = 0
    for batch in batches:
        header = batch.header
        goes_on = start < 0 or header.base_offset == end_offset
        start_offset = int(header.base_offset) if start < 0 else start_offset
        start = header.base_timestamp if start < 0 else start
        if not goes_on:
            epoch = 0
            if header.base_offset in missing:
                events.append(_missing(batch, missing[header.base_offset], last))
        elif 0 <= last < header.base_timestamp - gap_ms:
            events.append(_gap(batch, header.base_timestamp - last))
        try:
            events.extend(_of_control(batch, epoch, newer) if header.is_control else _of_records(batch, newer))
        except MetadataLogError as error:
            if on_unreadable is None:
                raise
            on_unreadable(error)
        last = max(last, header.max_timestamp)
        end_offset, epoch = int(header.next_offset), int(header.partition_leader_epoch)
    return Timeline(
        start_ms=max(start, 0),
        end_ms=max(last, 0),
        end_offset=end_offset,
        events=tuple(events),
        start_offset=start_offset,
        newer=tuple(dict.fromkeys(newer)),
    )


def merged(timelines: Iterable[Timeline]) -> Timeline:
    """Return one timeline of several replicas; an event that several of them hold is listed once."""
    every = [timeline for timeline in timelines if timeline.end_offset > 0]
    if not every:
        return Timeline(start_ms=0, end_ms=0, end_offset=0, events=())
    start_offset = min(timeline.start_offset for timeline in every)
    events = {
        event
        for timeline in every
        for event in timeline.events
        if (event.kind not in _OF_STATE or timeline.start_offset == start_offset) and not _is_elsewhere(event, every)
    }
    return Timeline(
        start_ms=min(timeline.start_ms for timeline in every),
        end_ms=max(timeline.end_ms for timeline in every),
        end_offset=max(timeline.end_offset for timeline in every),
        events=tuple(sorted(events, key=_place)),
        start_offset=start_offset,
        newer=tuple(dict.fromkeys(part for timeline in every for part in timeline.newer)),
    )


def _place(event: Event) -> tuple[object, ...]:
    return event.offset, event.kind is not EventKind.MISSING, event.epoch, event.time_ms, event.text


def _is_elsewhere(event: Event, timelines: Iterable[Timeline]) -> bool:
    """Return True if the event reports missing offsets that another of these timelines has."""
    return event.kind is EventKind.MISSING and any(
        other.start_offset < event.offset < other.end_offset and event not in other.events for other in timelines
    )


def with_first_state(timeline: Timeline, image: MetadataImage | None, voters: VotersRecord | None = None) -> Timeline:
    """Return the timeline of a trimmed log with the facts at its start, by its first checkpoint.

    Without a checkpoint, one event says that they are unknown. A log that begins at offset 0 needs neither.
    """
    if timeline.start_offset == 0:
        return timeline
    known = [_unknown_before(timeline)] if image is None else list(_of_state(image, voters))
    events = sorted([*known, *timeline.events], key=lambda event: event.offset)
    return msgspec.structs.replace(timeline, events=tuple(events))


def _unknown_before(timeline: Timeline) -> Event:
    text = "the log begins here without a checkpoint: brokers, leader and levels before it are not known"
    return Event(time_ms=timeline.start_ms, offset=timeline.start_offset, epoch=0, kind=EventKind.STATE, text=text)


def _of_state(image: MetadataImage, voters: VotersRecord | None) -> Iterator[Event]:
    epoch = int(image.offset_and_epoch.epoch)

    def event(kind: EventKind, node_id: int | None, text: str) -> Event:
        return Event(
            time_ms=image.last_contained_timestamp_ms,
            offset=int(image.offset_and_epoch.offset),
            epoch=epoch,
            kind=kind,
            node_id=node_id,
            text=text,
        )

    leader = f"the leader of epoch {epoch} is not known unless its election is in the log"
    yield event(EventKind.STATE, None, f"a checkpoint ends here, and the log goes on from it; {leader}")
    if voters is not None:
        where = f"VotersRecord of the checkpoint that ends at offset {image.offset_and_epoch.offset}"
        named = ", ".join(map(format_voter, VoterSet.from_record(voters, where)))
        yield event(EventKind.STATE, None, f"the voters are {named}")
    levels = dict(image.features.levels.items())
    if image.features.metadata_version is not None:
        levels[FEATURE_NAME] = image.features.metadata_version
    for name, level in sorted(levels.items()):
        yield event(EventKind.STATE, None, f"{name} is {level_text(name, level)}")
    for broker_id, broker in sorted(image.cluster.brokers.items()):
        kind = EventKind.WAS_FENCED if broker.fenced else EventKind.WAS_UNFENCED
        how = "fenced" if broker.fenced else "not fenced"
        how += ", in controlled shutdown" if broker.in_controlled_shutdown else ""
        yield event(kind, int(broker_id), f"broker {broker_id} is registered, {how}")


def why_not_one(timeline: Timeline) -> str | None:
    """Return why merged timelines are not of one log, or None: an epoch begins once, with one leader."""
    began: dict[int, Event] = {}
    for event in timeline.events:
        if event.kind is EventKind.ELECTION:
            other = began.setdefault(event.epoch, event)
            if (other.node_id, other.offset, other.time_ms) != (event.node_id, event.offset, event.time_ms):
                return (
                    f"these are not replicas of one log: epoch {event.epoch} begins at offset {other.offset} with node "
                    f"{other.node_id} in one, and at offset {event.offset} with node {event.node_id}, at another time, "
                    "in another; what follows mixes them"
                )
    return None


def _before(batch: LocatedBatch, kind: EventKind, text: str, duration_ms: int) -> Event:
    """Return an event for the time before a batch."""
    return Event(
        time_ms=batch.header.base_timestamp,
        offset=int(batch.header.base_offset),
        epoch=int(batch.header.partition_leader_epoch),
        kind=kind,
        text=text,
        duration_ms=duration_ms,
    )


def _missing(batch: LocatedBatch, gap: str, last_ms: int) -> Event:
    duration_ms = max(batch.header.base_timestamp - last_ms, 0)
    return _before(batch, EventKind.MISSING, f"{gap}: what happened there is not known", duration_ms)


def _gap(batch: LocatedBatch, duration_ms: int) -> Event:
    text = f"nothing was written for {duration_ms / 1000:.1f} s before this"
    return _before(batch, EventKind.GAP, text, duration_ms)


def _of_control(batch: LocatedBatch, epoch_before: int, newer: list[NewerPart]) -> Iterator[Event]:
    epoch = int(batch.header.partition_leader_epoch)
    for record in batch_records(batch.buffer, batch.header, batch.at):
        offset = int(record.offset)
        match control_or_newer(record.key or b"", record.value or b""):
            case UnknownRecordError() as error:
                newer.append(newer_control(error))
            case LeaderChangeMessage() as change:
                skipped = epoch - epoch_before - 1
                lost = f"; unused epochs before it: {skipped}" if skipped > 0 and epoch_before else ""
                granting = ", ".join(str(voter.voter_id) for voter in change.granting_voters)
                how = f"by the votes of {granting}" if granting else "without a vote: a repair began this epoch"
                text = f"node {change.leader_id} leads, {how}{lost}"
                yield _event(batch, offset, EventKind.ELECTION, int(change.leader_id), text)
            case VotersRecord() as voters:
                members = VoterSet.from_record(voters, f"VotersRecord at offset {offset}")
                named = ", ".join(map(format_voter, members))
                yield _event(batch, offset, EventKind.VOTERS, None, f"the voters are {named}")
            case KRaftVersionRecord(kraft_version=version):
                newer += newer_levels({KRAFT_VERSION: version})
                yield _event(batch, offset, EventKind.FEATURE, None, f"kraft.version is {version}")
            case _:
                pass


def _of_records(batch: LocatedBatch, newer: list[NewerPart]) -> Iterator[Event]:
    for index, value in enumerate(batch_values(batch.buffer, batch.header, batch.at)):
        offset = int(batch.header.base_offset) + index
        try:
            record = decode_record(value)
        except UnknownRecordError as error:
            newer.append(newer_record(error))
            continue
        except MalformedRecordError as error:
            raise MalformedRecordError(f"record at offset {offset}: {error}") from error
        if isinstance(record, FeatureLevelRecord):
            newer += newer_levels({record.name: record.feature_level})
        for kind, node_id, text in _judge(record):
            yield _event(batch, offset, kind, node_id, text)


def _judge(record: MetadataRecord) -> Iterator[tuple[EventKind, int | None, str]]:
    match record:
        case RegisterBrokerRecord(broker_id=broker):
            state = "fenced until it has caught up" if record.fenced else "not fenced"
            yield EventKind.REGISTERED, int(broker), f"broker {broker} registers, {state}"
        case UnregisterBrokerRecord(broker_id=broker):
            yield EventKind.UNREGISTERED, int(broker), f"broker {broker} is unregistered"
        case FenceBrokerRecord(id=broker) | BrokerRegistrationChangeRecord(broker_id=broker, fenced=1):
            yield EventKind.FENCED, int(broker), f"broker {broker} is fenced"
        case UnfenceBrokerRecord(id=broker) | BrokerRegistrationChangeRecord(broker_id=broker, fenced=-1):
            yield EventKind.UNFENCED, int(broker), f"broker {broker} is unfenced"
        case BrokerRegistrationChangeRecord(broker_id=broker, in_controlled_shutdown=1):
            yield EventKind.SHUTDOWN, int(broker), f"broker {broker} shuts down in order"
        case FeatureLevelRecord(name=name, feature_level=level):
            yield EventKind.FEATURE, None, f"{name} is {level_text(name, level)}"
        case _:
            pass


def _event(batch: LocatedBatch, offset: int, kind: EventKind, node_id: int | None, text: str) -> Event:
    return Event(
        time_ms=int(batch.header.max_timestamp),
        offset=offset,
        epoch=int(batch.header.partition_leader_epoch),
        kind=kind,
        node_id=node_id,
        text=text,
    )
