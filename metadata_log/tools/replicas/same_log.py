"""Shows whether two replicas are of one log, by their content: two clusters may have the same cluster id.

Decides: what counts as shared, and what as a contradiction. Must not know: the faults of a log.

Two clusters have one cluster id if a clone runs on, or if a person set the id. If replicas of one log have records at
the same offsets, they share at least one batch, however much is damaged or was never committed. Ids of topics, brokers'
runs and directories are random, so two clusters never share one by chance.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

import msgspec

from metadata_log.ids import ZERO_DIRECTORY_ID, ReplicaKey, id_text, is_reserved_directory_id
from metadata_log.image import MetadataImage
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.verify.log_facts import LogFacts


class SameLog(enum.Enum):
    """The relation of two replicas: of one log, of different logs, or unknown."""

    SHOWN = enum.auto()
    """They share a batch, a topic, a broker's run, or a broker's directory."""
    DENIED = enum.auto()
    """They share nothing, and cannot be of one log."""
    UNKNOWN = enum.auto()
    """They share nothing, but nothing contradicts."""


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a replica that identify its log.

    Attributes:
        sums: the checksums of its batches; None if a segment cannot be read.
        spans: the offsets at which it has batches.
        image: the metadata at its end, or None if unknown.
        committed_before: all records before this offset are committed, by the log itself.
        hides_metadata: True if a later release wrote metadata that is not read.
    """

    sums: BatchSums | None
    spans: tuple[EpochSpan, ...]
    image: MetadataImage | None
    committed_before: int
    hides_metadata: bool


def traces_of(facts: LogFacts) -> Traces:
    """Return the traces in the facts of a verification."""
    return Traces(
        sums=None if facts.is_unread else facts.sums,
        spans=facts.epochs,
        image=facts.image,
        committed_before=facts.committed_before,
        hides_metadata=facts.newer.hides_metadata,
    )


def traces_of_prefix(prefix: ValidPrefix) -> Traces:
    """Return the traces of a valid prefix, without the records behind it."""
    return Traces(
        sums=prefix.sums,
        spans=prefix.spans,
        image=None if prefix.state is None else prefix.state.image,
        committed_before=prefix.committed_before,
        hides_metadata=prefix.newer.hides_metadata,
    )


def named_directories(voters: Iterable[ReplicaKey]) -> frozenset[ReplicaKey]:
    """Return the voters with a directory id, which is random: no two clusters share one."""
    return frozenset(voter for voter in voters if voter.directory_id != ZERO_DIRECTORY_ID)


def same_log(one: Traces, other: Traces) -> SameLog:
    """Return whether these are of one log: shown, denied or unknown.

    Raises:
        OSError: a segment can no longer be read.
    """
    if share_batch(one, other) or _share_ids(one.image, other.image):
        return SameLog.SHOWN
    is_denied = _overlap(one, other) or contradiction(one, other) is not None
    return SameLog.DENIED if is_denied else SameLog.UNKNOWN


def share_batch(one: Traces, other: Traces) -> bool:
    """Return True if both have the same batch at one end offset. A changed epoch in its header does not matter.

    Raises:
        OSError: a segment can no longer be read.
    """
    return one.sums is not None and other.sums is not None and one.sums.shares_batch(other.sums)


def contradiction(one: Traces, other: Traces) -> str | None:
    """Return a clause on metadata that cannot be of one log, or None. Replicas that share a batch do not contradict.

    Raises:
        OSError: a segment can no longer be read.
    """
    mine, theirs = one.image, other.image
    if mine is None or theirs is None or share_batch(one, other):
        return None
    for topic_id, topic in mine.topics.by_id.items():
        renamed = theirs.topics.topic(topic_id)
        if renamed is not None and renamed.name != topic.name:
            return f"topic {id_text(topic_id)} is {topic.name} in one and {renamed.name} in the other"
    if one.hides_metadata or other.hides_metadata:
        return None  # the unread records may hold the later registration
    for node_id, broker in mine.cluster.brokers.items():
        again = theirs.cluster.brokers.get(node_id)
        if again is None or again.incarnation_id == broker.incarnation_id:
            continue
        # A broker epoch is the offset of the process's first registration, or of its batch. A log that has committed
        # records past the later registration must hold it, so a log that lacks it is another one.
        behind = one if broker.epoch < again.epoch else other
        if broker.epoch == again.epoch or max(broker.epoch, again.epoch) < behind.committed_before:
            return (
                f"broker {node_id} registered at offset {broker.epoch} as {id_text(broker.incarnation_id)} in one, and "
                f"at offset {again.epoch} as {id_text(again.incarnation_id)} in the other"
            )
    return None


def _overlap(one: Traces, other: Traces) -> bool:
    """Return True if both can be read, and have batches at the same offsets."""
    if one.sums is None or other.sums is None:
        return False
    return any(
        max(mine.start_offset, theirs.start_offset) < min(mine.end_offset, theirs.end_offset)
        for mine in one.spans
        for theirs in other.spans
    )


def _share_ids(one: MetadataImage | None, other: MetadataImage | None) -> bool:
    if one is None or other is None:
        return False
    fewer, more = sorted((one.topics, other.topics), key=len)
    if any(more.topic(topic_id) is not None for topic_id in fewer.by_id):
        return True
    runs = {broker.incarnation_id for broker in one.cluster.brokers.values()}
    disks = {directory for broker in one.cluster.brokers.values() for directory in broker.directories}
    own = {directory for directory in disks if not is_reserved_directory_id(directory)}
    return any(
        broker.incarnation_id in runs or not own.isdisjoint(broker.directories)
        for broker in other.cluster.brokers.values()
    )


def same_log_groups(reports: Sequence[LogFacts]) -> list[list[int]]:
    """Return the logs, by their indexes, in groups that may be replicas of one log.

    Raises:
        OSError: a segment can no longer be read.
    """
    groups: list[list[int]] = []
    traces = [traces_of(report) for report in reports]
    for number, own in enumerate(traces):
        fitting = (group for group in groups if all(same_log(own, traces[one]) is not SameLog.DENIED for one in group))
        group = next(fitting, None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    return groups
