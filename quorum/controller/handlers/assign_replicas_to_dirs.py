"""AssignReplicasToDirs: records the directories of a broker's replicas (KIP-858).

Any directory is accepted. A replica that is assigned to a lost directory leaves ISR and leadership at once, as if the
directory had been lost with it.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import DirectoryId, NodeId
from metadata_log.image import PartitionImage, TopicImage
from metadata_log.records import MetadataRecord, PartitionChangeRecord
from metadata_log.records.levels import DIRECTORIES_LEVEL
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.directories import (
    AssignedDirectory,
    AssignedTopic,
    AssignReplicasToDirs,
    AssignReplicasToDirsResponse,
    DirectoryAssignment,
    TopicInDirectory,
)
from quorum.api.error_codes import Error
from quorum.controller.leader_changes import BrokerEvent, election_rules, is_being_lost
from quorum.controller.metadata_levels import level_of
from quorum.controller.partitions.brokers import has_online_directory
from quorum.controller.partitions.partition_change import change_of
from quorum.controller.result import ControllerResult
from quorum.controller.sessions import why_stale
from quorum.controller.turn import Turn


def handle_assign_replicas_to_dirs(
    request: AssignReplicasToDirs, turn: Turn
) -> ControllerResult[AssignReplicasToDirsResponse]:
    """Return a PartitionChangeRecord for each replica with a changed directory; not atomic."""
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    if level_of(turn.image) < DIRECTORIES_LEVEL:
        why = "Directory assignment is not supported yet: metadata.version 3.7-IV2 is needed."
        return ControllerResult(response=request.rejected(Error.UNSUPPORTED_VERSION, why))
    stale = why_stale(request.broker_id, request.broker_epoch, turn.image)
    if stale is not None:
        return ControllerResult(response=request.rejected(Error.STALE_BROKER_EPOCH, stale))
    named = sum(len(topic.partitions) for each in request.directories for topic in each.topics)
    if named > turn.config.max_records_per_batch:
        why = f"It names {named} replicas, more than {turn.config.max_records_per_batch}: say it in several requests."
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    assignment = _Assignment(NodeId(request.broker_id), turn)
    directories = tuple(assignment.of_directory(each) for each in request.directories)
    return ControllerResult(
        records=tuple(assignment.records + assignment.departures),
        response=AssignReplicasToDirsResponse(directories=directories),
        is_atomic=False,
    )


class _Assignment:
    """The assignments of one broker's replicas."""

    def __init__(self, broker_id: NodeId, turn: Turn) -> None:
        self._broker_id = broker_id
        self._broker = turn.image.cluster.brokers[broker_id]
        self._turn = turn
        self.records: list[MetadataRecord] = []
        self.departures: list[MetadataRecord] = []
        """The records that remove replicas in lost directories from ISRs and leadership."""

    def of_directory(self, asked: DirectoryAssignment) -> AssignedDirectory:
        """Assign one directory's replicas, and return the results."""
        return AssignedDirectory(
            directory_id=asked.directory_id,
            topics=tuple(self._of_topic(topic, asked.directory_id) for topic in asked.topics),
        )

    def _of_topic(self, asked: TopicInDirectory, directory: DirectoryId) -> AssignedTopic:
        topic = self._turn.image.topics.topic(asked.topic_id)
        return AssignedTopic(
            topic_id=asked.topic_id,
            partitions=tuple(
                (index, Error.UNKNOWN_TOPIC_ID if topic is None else self._of_partition(topic, index, directory))
                for index in asked.partitions
            ),
        )

    def _of_partition(self, topic: TopicImage, index: int, directory: DirectoryId) -> Error:
        partition = topic.partition(index)
        if partition is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if self._broker_id not in partition.replicas:
            return Error.NOT_LEADER_OR_FOLLOWER
        record = self._moved(topic, partition, directory)
        if record is not None:
            self.records.append(record)
        if not has_online_directory(self._broker, directory) or is_being_lost(self._turn, self._broker_id, directory):
            self._depart(topic, partition)
        return Error.NONE

    def _moved(
        self, topic: TopicImage, partition: PartitionImage, directory: DirectoryId
    ) -> PartitionChangeRecord | None:
        if partition.directory_of(self._broker_id) == directory:
            return None
        change = change_of(topic.topic_id, partition, election_rules(self._turn, topic), isr=partition.isr)
        if change is None:
            change = PartitionChangeRecord(topic_id=topic.topic_id, partition_id=partition.partition_id)
        replicas = partition.replicas if change.replicas is None else change.replicas
        known = partition.directories if change.directories is None else change.directories
        directories = tuple(
            directory if replica == self._broker_id else at for replica, at in zip(replicas, known, strict=True)
        )
        return msgspec.structs.replace(change, directories=directories)

    def _depart(self, topic: TopicImage, partition: PartitionImage) -> None:
        rules = election_rules(self._turn, topic, BrokerEvent(removed=self._broker_id))
        isr = tuple(replica for replica in partition.isr if replica != self._broker_id)
        record = change_of(topic.topic_id, partition, rules, isr=isr)
        if record is not None:
            self.departures.append(record)
