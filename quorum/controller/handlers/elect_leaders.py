"""ElectLeaders: preferred elections, and unclean elections of leaderless partitions (KIP-183, KIP-460)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from metadata_log.image import NO_LEADER, PartitionImage, TopicImage
from metadata_log.records import PartitionChangeRecord
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.elections import ElectedPartition, ElectedTopic, ElectionType, ElectLeaders, ElectLeadersResponse
from quorum.api.error_codes import Error
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.leader_changes import election_rules
from quorum.controller.partitions.partition_change import ElectionRules, change_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_TYPES = frozenset(ElectionType)
_MOST_NAMED: Final = 50_000
"""Topics and partitions that a request names, each time it does: all are looked at and answered in a fifth of a
second."""


def handle_elect_leaders(request: ElectLeaders, turn: Turn) -> ControllerResult[ElectLeadersResponse]:
    """Return a PartitionChangeRecord for each partition with a new leader, and a result for each partition.

    A rejected partition does not affect the others. A request with too many partitions gets a single error: so many
    results would take as long as the elections.
    """
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    if request.election_type not in _TYPES:
        why = f"Unknown election type {request.election_type}"
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    named = sum(1 + len(asked.partitions) for asked in request.partitions or ())
    if named > _MOST_NAMED:
        why = f"It names {named} topics and partitions, more than {_MOST_NAMED}: ask for fewer at once, or for all."
        return ControllerResult(response=ElectLeadersResponse(error=Error.POLICY_VIOLATION, error_message=why))
    vote = _Vote(ElectionType(request.election_type), turn)
    topics = tuple(vote.all_topics() if request.partitions is None else vote.named(request))
    if (too_many := refusal_of_too_many(request, len(vote.records), turn)) is not None:
        return too_many
    return ControllerResult(
        records=tuple(vote.records.values()), response=ElectLeadersResponse(topics=topics), is_atomic=False
    )


class _Vote:
    """The elections of one request."""

    __slots__ = ("_kind", "_turn", "records")

    def __init__(self, kind: ElectionType, turn: Turn) -> None:
        self._kind = kind
        self._turn = turn
        self.records: dict[tuple[str, int], PartitionChangeRecord] = {}
        """Results by topic and partition: a repeated partition is elected once."""

    def named(self, request: ElectLeaders) -> Iterator[ElectedTopic]:
        """Yield results of the named partitions."""
        for asked in request.partitions or ():
            topic = self._turn.image.topics.named(asked.topic)
            rules = None if topic is None or not topic.partitions else self._rules(topic)
            elected = {
                index: self._elect(asked.topic, topic, rules, index) for index in dict.fromkeys(asked.partitions)
            }
            yield ElectedTopic(topic=asked.topic, partitions=tuple(map(elected.__getitem__, asked.partitions)))

    def all_topics(self) -> Iterator[ElectedTopic]:
        """Yield results of every partition that needs an election."""
        for _, topic in sorted((topic.name, topic) for topic in self._turn.image.topics.by_id.values()):
            if not topic.partitions:
                continue
            rules = self._rules(topic)
            results = (self._elect(topic.name, topic, rules, each.partition_id) for each in topic.partitions)
            yield ElectedTopic(
                topic=topic.name,
                partitions=tuple(each for each in results if each.error is not Error.ELECTION_NOT_NEEDED),
            )

    def _rules(self, topic: TopicImage) -> ElectionRules:
        is_preferred = self._kind is ElectionType.PREFERRED
        return msgspec.structs.replace(
            election_rules(self._turn, topic), prefers_first_replica=is_preferred, allows_unclean=not is_preferred
        )

    def _elect(self, name: str, topic: TopicImage | None, rules: ElectionRules | None, index: int) -> ElectedPartition:
        partition = None if topic is None else topic.partition(index)
        if topic is None or rules is None or partition is None:
            why = f"No such topic as {name}" if topic is None else f"No such partition as {name}-{index}"
            return ElectedPartition(partition_index=index, error=Error.UNKNOWN_TOPIC_OR_PARTITION, error_message=why)
        if self._is_content(partition):
            why = "Leader election not needed for topic partition."
            return ElectedPartition(partition_index=index, error=Error.ELECTION_NOT_NEEDED, error_message=why)
        record = change_of(topic.topic_id, partition, rules, isr=partition.isr)
        if record is not None and record.leader != NO_LEADER:
            self.records[name, index] = record
            return ElectedPartition(partition_index=index)
        if self._kind is ElectionType.PREFERRED:
            error, why = Error.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
        else:
            error, why = Error.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
        return ElectedPartition(partition_index=index, error=error, error_message=why)

    def _is_content(self, partition: PartitionImage) -> bool:
        if self._kind is ElectionType.PREFERRED:
            return partition.leader == partition.preferred_leader
        return partition.leader != NO_LEADER
