"""ListPartitionReassignments: a read, from one image (KIP-455)."""

from __future__ import annotations

from metadata_log.image import TopicImage
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.reassignments import (
    ListPartitionReassignments,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    OngoingTopic,
)
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_list_partition_reassignments(
    request: ListPartitionReassignments, turn: Turn
) -> ControllerResult[ListPartitionReassignmentsResponse]:
    """Return the partitions that are being moved, without unknown topics."""
    error = authorize(turn.context, Operation.DESCRIBE, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    topics = turn.image.topics
    if request.topics is None:
        found = [_ongoing(topic, None) for topic in topics.by_id.values()]
        found.sort(key=lambda topic: topic.name)
    else:
        named = ((topics.named(asked.topic), asked.partitions) for asked in request.topics)
        found = [_ongoing(topic, partitions) for topic, partitions in named if topic is not None]
    response = ListPartitionReassignmentsResponse(topics=tuple(topic for topic in found if topic.partitions))
    return ControllerResult(response=response)


def _ongoing(topic: TopicImage, indexes: tuple[int, ...] | None) -> OngoingTopic:
    partitions = topic.partitions if indexes is None else tuple(topic.partition(index) for index in indexes)
    return OngoingTopic(
        name=topic.name,
        partitions=tuple(
            OngoingReassignment(
                partition_index=partition.partition_id,
                replicas=partition.replicas,
                adding=partition.adding,
                removing=partition.removing,
            )
            for partition in partitions
            if partition is not None and (partition.adding or partition.removing)
        ),
    )
