"""The fence by the metadata topic's own id: may this replica take a peer's records, or must it hold?

Decides: when a response is of another log than this one. Must not know: the network, the disk, Raft's states. It is a
pure rule over facts: what is committed here, and what the response contains or requires.

Only committed ids count. A replica without a committed own id takes any log, so the fence costs no election. A log may
change its own id, because a Java leader allows the topic to be deleted. An id that the other log once had does not
fence.

Source: KIP-516.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.ids import METADATA_TOPIC_NAME, NodeId, TopicId, id_text
from metadata_log.offsets import NO_EPOCH, Epoch, Offset
from metadata_log.records import RemoveTopicRecord, TopicRecord, decode_record

_NAME: Final = METADATA_TOPIC_NAME.encode()
_KINDS: Final = frozenset({bytes((TopicRecord.API_KEY,)), bytes((RemoveTopicRecord.API_KEY,))})


class HoldReason(enum.StrEnum):
    """The reason of a hold; the label of the metric `kraft_held`."""

    OTHER_TOPIC = "other-metadata-topic"
    """The other log has another own id, and never had this one."""
    BELOW_COMMITTED = "below-committed-end"
    """The other log lacks records that are committed here."""
    OTHER_LEADER = "other-leader-of-epoch"
    """The same metadata topic has another leader in an epoch that has one here: the epoch is used a second time."""

    OTHER_HISTORY = "other-history"
    """The other log has another batch than this one at the same offset and epoch."""
    LOWER_EPOCH = "lower-epoch"
    """The same metadata topic has been led for a while in an epoch below one that is known here."""


LASTS_MS: Final = 10_000
"""How long lower epochs must last. A leader that was cut off names its former epoch, but resigns long before."""


class Hold(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A hold: the replica does not truncate, install or append anything that this peer offers."""

    reason: HoldReason
    what: str
    """The reason in one sentence, for operators."""
    own_id: TopicId | None
    other_id: TopicId | None
    """The own id of the other log, or None if unknown."""


class LeaderAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The leader of an epoch."""

    leader_id: NodeId
    epoch: Epoch


class OwnLog(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts about this replica's log."""

    ids: tuple[TopicId, ...]
    """The committed own id, then those that it replaced; empty if none is committed."""
    committed_end: Offset
    leader: LeaderAndEpoch | None = None
    """The leader that this replica knows, or None."""
    epoch: Epoch = NO_EPOCH
    """The epoch that this replica knows."""
    names_later: tuple[TopicId | None, ...] = ()
    """Changes of the own id past the committed end, in order; None: removed."""


class Offered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of a peer's response, and the end that it requires."""

    ids: tuple[TopicId, ...] = ()
    """The other log's committed own id, then those that it replaced; empty if unknown."""
    end_wanted: Offset | None = None
    """The offset to which this log would have to be cut, or the end of the snapshot that would replace it."""
    leader: LeaderAndEpoch | None = None
    """The leader that the response names, or None."""
    lower_for_ms: int = 0
    """For how long responses have named only leaders of lower epochs."""
    lacks_committed: bool = False
    """True if the other log lacks the newest batch that is committed here."""
    has_other_batch: bool = False
    """True if the other log lacks a batch of this one below an offset and epoch that both logs have."""
    names: tuple[TopicId | None, ...] = ()
    """Changes of the own id in the offered records, in order; None: removed."""


def judge(own: OwnLog, offered: Offered) -> Hold | None:
    """Return why this replica must hold, or None."""
    other_id = _contradicting_id(own, offered)
    if other_id is not None:
        own_id = own.ids[0]
        what = f"the other log's metadata topic is {id_text(other_id)}, ours is {id_text(own_id)}: it is another quorum"
        return Hold(reason=HoldReason.OTHER_TOPIC, what=what, own_id=own_id, other_id=other_id)
    earlier = _earlier_time(own, offered)
    if earlier is None:
        return None
    reason, what = earlier
    return Hold(
        reason=reason,
        what=what,
        own_id=own.ids[0] if own.ids else None,
        other_id=offered.ids[0] if offered.ids else None,
    )


def _earlier_time(own: OwnLog, offered: Offered) -> tuple[HoldReason, str] | None:
    """Return the proof that the other log is this quorum's at an earlier time, and continued from there, or None."""
    if offered.end_wanted is not None and offered.end_wanted < own.committed_end:
        what = f"it would have us cut the log to {offered.end_wanted}, below the committed {own.committed_end}"
        return HoldReason.BELOW_COMMITTED, what
    if offered.lacks_committed:
        what = f"the other log lacks records that are committed here before offset {own.committed_end}"
        return HoldReason.BELOW_COMMITTED, what
    if offered.has_other_batch:
        return HoldReason.OTHER_HISTORY, "the other log has another batch under an offset and epoch where ours has one"
    return _other_time(own, offered)


def _other_time(own: OwnLog, offered: Offered) -> tuple[HoldReason, str] | None:
    known, named = own.leader, offered.leader
    if named is None or not own.ids or own.ids[0] not in offered.ids:
        return None  #   # Without the ids, equal leaders prove nothing. Once they are known, they decide.
    if named.epoch < own.epoch and offered.lower_for_ms >= LASTS_MS:
        what = f"node {named.leader_id} leads epoch {named.epoch} there, below the epoch {own.epoch} that is known here"
        return HoldReason.LOWER_EPOCH, what
    if known is None or known.epoch != named.epoch or known.leader_id == named.leader_id:
        return None
    what = f"node {known.leader_id} leads epoch {known.epoch} here, and node {named.leader_id} there"
    return HoldReason.OTHER_LEADER, what


def _contradicting_id(own: OwnLog, offered: Offered) -> TopicId | None:
    if not own.ids:
        return None
    present: TopicId | None = own.ids[0]
    for named in (*own.names_later, *offered.names):
        if named is not None and present is not None and named != present:
            return named
        present = named
    if not offered.ids or own.ids[0] in offered.ids or offered.ids[0] in own.ids:
        return None
    has_changed = None in (*own.names_later, *offered.names)
    return None if has_changed else offered.ids[0]


def names_in(records: bytes, own_id: TopicId | None) -> tuple[TopicId | None, ...]:
    """Return the changes of the metadata topic's own id in these whole batches, in order.

    `own_id`: the committed one, whose removal counts. A malformed batch is skipped here; the append of the batch
    reports it.
    """
    if records.find(_NAME) < 0 and (own_id is None or records.find(own_id) < 0):
        return ()
    found: list[TopicId | None] = []
    present = own_id
    with suppress(MetadataLogError):
        for value in _topic_values(records):
            record = decode_record(value)
            if isinstance(record, TopicRecord) and record.name == METADATA_TOPIC_NAME:
                found.append(record.topic_id)
                present = record.topic_id
            elif isinstance(record, RemoveTopicRecord) and record.topic_id == present:
                found.append(None)
                present = None
    return tuple(found)


def _topic_values(records: bytes) -> Iterator[bytes]:
    for position, header in iter_batches(records):
        if not header.is_control:
            yield from (value for value in batch_values(records, header, position) if value[1:2] in _KINDS)
