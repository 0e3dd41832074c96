"""Partition directories with another topic's id, which look stale but are mislabelled.

Decides: when an id that no topic has any more is wrong for a directory, and not stale. Must not know: the remedy.

A directory keeps the id of its topic. Suppose that the broker should have a partition of the directory's name. If the
id belonged to a topic of another name, it is wrong in any case. If it belonged to an earlier topic of the same name,
the broker may have been away while that topic was removed. Then the id is wrong only if the broker must have created
the present topic's partition in its place since (`required_replicas`). An id that no log here knows is treated alike:
if the logs begin with a checkpoint, a topic may have had it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metadata_log.ids import NodeId, id_text
from metadata_log.image import MetadataImage
from metadata_log.reconcile import DirectoryFacts, Kind, Verdict
from metadata_log.tools.partitions.required_replicas import OwnLog
from metadata_log.tools.rules.records import RecordRules


def with_wrong_id(
    verdict: Verdict,
    facts: DirectoryFacts,
    broker_id: NodeId,
    image: MetadataImage,
    knowing: Iterable[RecordRules],
    own: Callable[[], OwnLog | None],
) -> Verdict:
    """Return the image's verdict, or the verdict that the id is wrong.

    Args:
        knowing: for each log, the history of its topics.
        own: returns the broker's own log; called only if the verdict depends on it.
    """
    topic_id, name, number = facts.topic_id, facts.topic_name, facts.partition
    is_asked = verdict.kind is Kind.STALE and not facts.is_future and not facts.is_deleted and not facts.is_stray
    if not is_asked or topic_id is None or name is None or number is None:
        return verdict
    if image.topics.topic(topic_id) is not None or not _is_replica(image, name, number, broker_id):
        return verdict
    former = next((known for known in (rules.name_of(topic_id) for rules in knowing) if known is not None), None)
    if former is not None and former != name:
        why = f"its id {id_text(topic_id)} is that of topic {former!r}, which is deleted"
        return Verdict(kind=Kind.WRONG_ID, why=why)
    why_due = _due(facts, own())
    return verdict if why_due is None else Verdict(kind=Kind.WRONG_ID, why=f"{verdict.why}; {why_due}")


def _is_replica(image: MetadataImage, name: str, number: int, broker_id: NodeId) -> bool:
    topic_id = image.topics.by_name.get(name)
    partition = None if topic_id is None else image.topics.partition(topic_id, number)
    return partition is not None and broker_id in partition.replicas


def _due(facts: DirectoryFacts, own: OwnLog | None) -> str | None:
    """Return why the broker must have the partition of the topic that has the name now, by its own log, or None."""
    name, number = facts.topic_name, facts.partition
    if own is None or name is None or number is None:
        return None
    topic_id = own.now.topics.by_name.get(name)
    if topic_id is None or topic_id == facts.topic_id or not _is_replica(own.now, name, number, own.broker_id):
        return None
    partition = own.now.topics.partition(topic_id, number)
    due = None if partition is None else own.due(topic_id, name, partition)
    if due is None:
        return None
    return f"the broker's own copy of the log has it as a replica of that one, {due.because}"
