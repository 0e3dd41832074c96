"""Partitions that have a directory on none of their brokers, though all of these brokers are here.

Decides: when that is most likely a loss. Must not know: which directories a single broker must hold
(`required_replicas` does).

A broker applies the log in order, and creates directories as it does so. So if it has the directory of an assignment in
a clearly later batch, it had created those of earlier assignments. A busy broker then applies several batches at once,
and creates leaders first. If it was killed in that moment, it may lack a directory. All brokers of one partition can
lack it only if all were killed while many topics were created. That is possible, so this is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, TypeAlias

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import NodeId, TopicId, id_text, is_reserved_directory_id
from metadata_log.image import PartitionImage
from metadata_log.tools.findings.finding import Finding, Severity, finding
from metadata_log.tools.partitions.directories import PartitionDirectory
from metadata_log.tools.partitions.required_replicas import OwnLog
from metadata_log.tools.read.log_reader import LogReader

LATER_MS: Final = 250
"""Ms between two assignments. A broker at work does not apply them in one step if they are further apart."""

TopicAndPartition: TypeAlias = tuple[TopicId, int]


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """A replica without a directory on its broker. `file`: the directory's path; `later`: a directory that was created
    after its turn."""

    own: OwnLog
    name: str
    file: str
    later: str


def absent_partitions(
    own: OwnLog,
    missing: Mapping[TopicAndPartition, tuple[str, PartitionImage]],
    directories: Iterable[PartitionDirectory],
) -> Iterator[tuple[TopicAndPartition, Absent]]:
    """Yield those of the `missing` partitions that were assigned clearly before a directory that this broker has.

    Raises:
        OSError: a segment cannot be read.
    """
    rules, latest, later = own.replica.facts.rules, -1, ""
    for one in directories:
        facts = one.facts
        if facts.topic_id is None or facts.topic_name is None or facts.partition is None or not missing:
            continue
        given = rules.given_to(facts.topic_id, facts.topic_name, facts.partition, own.broker_id)
        if given is not None and given > latest:
            latest, later = given, facts.name
    until = _last_before(own.replica.facts.segments, latest) if later else -1
    for (topic_id, number), (name, partition) in missing.items():
        disk = own.disks.get(own.assigned(partition))
        given = rules.given_to(topic_id, name, number, own.broker_id)
        if disk is None or is_reserved_directory_id(own.assigned(partition)) or given is None or not 0 <= given < until:
            continue
        full = f"{name}-{number}"
        yield (topic_id, number), Absent(own=own, name=full, file=str(disk.path / full), later=later)


def _last_before(segments: Sequence[str], offset: int) -> int:
    """Return the end of the last batch that was written at least `LATER_MS` before the one with this offset, or -1."""
    times: list[tuple[int, int]] = []
    with closing(LogReader(OsFiles(), segments).batches(past_removed=True)) as batches:
        for batch in batches:
            if batch.header.base_offset <= offset < batch.header.next_offset:
                latest = batch.header.max_timestamp - LATER_MS
                return max((end for end, time_ms in times if time_ms <= latest), default=-1)
            times.append((batch.header.next_offset, batch.header.max_timestamp))
    return -1


def lost_everywhere(absent: Sequence[tuple[TopicAndPartition, Absent]]) -> Iterator[Finding]:
    """Yield a finding on each broker for each partition that all of its brokers lack."""
    holders: dict[TopicAndPartition, dict[NodeId, Absent]] = {}
    for key, one in absent:
        holders.setdefault(key, {})[one.own.broker_id] = one
    for (topic_id, number), by_broker in holders.items():
        for broker_id, one in by_broker.items():
            partition = one.own.now.topics.partition(topic_id, number)
            if partition is None or not set(partition.replicas) <= by_broker.keys():
                continue
            others = ", ".join(str(other) for other in partition.replicas if other != broker_id)
            besides = f", nor on its other replicas' brokers ({others})" if others else ""
            what = (
                f"{one.name} is not there, nor on another disk of the broker{besides}: the log has the broker as its "
                f"replica, and the broker made {one.later}, which was given to it later"
            )
            yield finding(
                "partition_missing",
                what,
                severity=Severity.WARNING,
                node_id=int(broker_id),
                file=one.file,
                topic_id=id_text(topic_id),
            )
