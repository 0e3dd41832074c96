"""One request of every API and version that the Kafka listener supports, with a value in every field."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from metadata_log.ids import METADATA_TOPIC_NAME
from tests.support.kafka_admin_requests import ADMIN_SAMPLES
from tests.support.kafka_voter_requests import CLUSTER_ID, ID, VOTER_SAMPLES, only
from tests.support.kafka_wire import request_bytes, requests_of, written

SENTINEL: Final = uuid.UUID(int=1)
__all__ = ["CLUSTER_ID", "ID", "SENTINEL", "only"]


def fetch(version: int, **changes: Any) -> Any:
    """Return a broker's Fetch at the log's start; `changes` apply to the field of that name, in any part."""
    module = requests_of(1, version)
    words: dict[str, Any] = {
        "partition": 0,
        "current_leader_epoch": 3,
        "fetch_offset": 5,
        "last_fetched_epoch": 2,
        "partition_max_bytes": 0,
        "replica_directory_id": ID,
        "high_watermark": 5,
        "cluster_id": CLUSTER_ID,
        "replica_id": 11,
        "replica_state": module.ReplicaState(replica_id=11) if hasattr(module, "ReplicaState") else None,
        "max_wait": timedelta(milliseconds=500),
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "forgotten_topics_data": (),
        "topic": METADATA_TOPIC_NAME,
        "topic_id": SENTINEL,
        **changes,
    }
    partitions = (only(module.FetchPartition, **words),)
    topics = (only(module.FetchTopic, **{"partitions": partitions, **words}),)
    return only(module.FetchRequest, **{"topics": topics, **words})


def fetch_snapshot(version: int, **changes: Any) -> Any:
    """Return a broker's FetchSnapshot of the snapshot 100-2."""
    module = requests_of(59, version)
    words: dict[str, Any] = {
        "partition": 0,
        "current_leader_epoch": 3,
        "snapshot_id": module.SnapshotId(end_offset=100, epoch=2),
        "position": 7,
        "replica_directory_id": ID,
        "name": "__cluster_metadata",
        "cluster_id": CLUSTER_ID,
        "replica_id": 11,
        "max_bytes": 1 << 20,
        **changes,
    }
    partitions = (only(module.PartitionSnapshot, **words),)
    topics = (only(module.TopicSnapshot, **{"partitions": partitions, **words}),)
    return only(module.FetchSnapshotRequest, **{"topics": topics, **words})


def api_versions(version: int, **changes: Any) -> Any:
    words: dict[str, Any] = {
        "client_software_name": "apache-kafka-java",
        "client_software_version": "4.3.0",
        "cluster_id": CLUSTER_ID,
        "node_id": 7,
        **changes,
    }
    return only(requests_of(18, version).ApiVersionsRequest, **words)


def describe_quorum(version: int, name: str = "__cluster_metadata", partition: int = 0) -> Any:
    module = requests_of(55, version)
    topic = module.TopicData(topic_name=name, partitions=(module.PartitionData(partition_index=partition),))
    return module.DescribeQuorumRequest(topics=(topic,))


def describe_cluster(version: int, endpoint_type: int = 2, *, operations: bool = True) -> Any:
    return only(
        requests_of(60, version).DescribeClusterRequest,
        include_cluster_authorized_operations=operations,
        endpoint_type=endpoint_type,
        include_fenced_brokers=False,
    )


def alter_partition(version: int) -> Any:
    module = requests_of(56, version)
    partition = only(
        module.PartitionData,
        partition_index=4,
        leader_epoch=5,
        new_isr=(11, 12),
        new_isr_with_epochs=tuple(module.BrokerState(broker_id=n, broker_epoch=n * 10) for n in (11, 12))
        if version > 2
        else (),
        leader_recovery_state=1,
        partition_epoch=6,
    )
    topic = module.TopicData(topic_id=ID, partitions=(partition,))
    return module.AlterPartitionRequest(broker_id=11, broker_epoch=110, topics=(topic,))


def broker_registration(version: int) -> Any:
    module = requests_of(62, version)
    return only(
        module.BrokerRegistrationRequest,
        broker_id=11,
        cluster_id=CLUSTER_ID,
        incarnation_id=ID,
        listeners=(module.Listener(name="PLAINTEXT", host="b11", port=65535, security_protocol=0),),
        features=(module.Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),),
        rack="r1",
        is_migrating_zk_broker=False,
        log_dirs=(ID,),
        previous_broker_epoch=42,
    )


def broker_heartbeat(version: int) -> Any:
    return only(
        requests_of(63, version).BrokerHeartbeatRequest,
        broker_id=11,
        broker_epoch=110,
        current_metadata_offset=120,
        want_fence=True,
        want_shut_down=True,
        offline_log_dirs=(ID,),
        cordoned_log_dirs=(ID,),
    )


def create_topics(version: int, timeout_ms: int = 5000) -> Any:
    module = requests_of(19, version)
    topic = module.CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=(module.CreatableReplicaAssignment(partition_index=0, broker_ids=(11, 12)),),
        configs=(
            module.CreatableTopicConfig(name="flush.ms", value="1"),
            module.CreatableTopicConfig(name="x", value=None),
        ),
    )
    return module.CreateTopicsRequest(topics=(topic,), timeout=timedelta(milliseconds=timeout_ms), validate_only=True)


def delete_topics(version: int) -> Any:
    module = requests_of(20, version)
    topics = ()
    if version > 5:
        topics = (module.DeleteTopicState(name="t", topic_id=None), module.DeleteTopicState(name=None, topic_id=ID))
    return only(module.DeleteTopicsRequest, topics=topics, topic_names=("t", "u"), timeout=timedelta(milliseconds=5000))


def create_partitions(version: int) -> Any:
    module = requests_of(37, version)
    by_hand = (module.CreatePartitionsAssignment(broker_ids=(11, 12)),)
    topics = (
        module.CreatePartitionsTopic(name="t", count=3, assignments=by_hand),
        module.CreatePartitionsTopic(name="u", count=4, assignments=None),
    )
    return module.CreatePartitionsRequest(topics=topics, timeout=timedelta(milliseconds=5000), validate_only=True)


def incremental_alter_configs(version: int) -> Any:
    module = requests_of(44, version)
    configs = (
        module.AlterableConfig(name="flush.ms", config_operation=0, value="1"),
        module.AlterableConfig(name="x", config_operation=1, value=None),
    )
    resource = module.AlterConfigsResource(resource_type=2, resource_name="t", configs=configs)
    return module.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True)


def alter_partition_reassignments(version: int) -> Any:
    module = requests_of(45, version)
    partitions = (
        module.ReassignablePartition(partition_index=0, replicas=(11, 12)),
        module.ReassignablePartition(partition_index=1, replicas=None),
    )
    return only(
        module.AlterPartitionReassignmentsRequest,
        timeout=timedelta(milliseconds=5000),
        allow_replication_factor_change=False,
        topics=(module.ReassignableTopic(name="t", partitions=partitions),),
    )


def elect_leaders(version: int, *, everything: bool = False) -> Any:
    module = requests_of(43, version)
    topic = module.TopicPartitions(topic="t", partitions=(0, 1))
    return only(
        module.ElectLeadersRequest,
        election_type=1,
        topic_partitions=None if everything else (topic,),
        timeout=timedelta(milliseconds=5000),
    )


def list_partition_reassignments(version: int, *, everything: bool = False) -> Any:
    module = requests_of(46, version)
    topic = module.ListPartitionReassignmentsTopics(name="t", partition_indexes=(0, 1))
    return module.ListPartitionReassignmentsRequest(
        timeout=timedelta(milliseconds=5000), topics=None if everything else (topic,)
    )


def allocate_producer_ids(version: int) -> Any:
    return requests_of(67, version).AllocateProducerIdsRequest(broker_id=11, broker_epoch=110)


def assign_replicas_to_dirs(version: int) -> Any:
    module = requests_of(73, version)
    topic = module.TopicData(topic_id=ID, partitions=(module.PartitionData(partition_index=4),))
    directory = module.DirectoryData(id_=ID, topics=(topic,))
    return module.AssignReplicasToDirsRequest(broker_id=11, broker_epoch=110, directories=(directory,))


def update_features(version: int) -> Any:
    module = requests_of(57, version)
    updates = tuple(
        only(module.FeatureUpdateKey, feature=name, max_version_level=level, allow_downgrade=down, upgrade_type=kind)
        for name, level, down, kind in (("metadata.version", 30, False, 1), ("group.version", 0, True, 3))
    )
    return only(
        module.UpdateFeaturesRequest,
        timeout=timedelta(milliseconds=5000),
        feature_updates=updates,
        validate_only=True,
    )


def unregister_broker(version: int) -> Any:
    return requests_of(64, version).UnregisterBrokerRequest(broker_id=11)


def unregister_controller(version: int) -> Any:
    return requests_of(94, version).UnregisterControllerRequest(controller_id=4)


def envelope(version: int = 0, **changes: Any) -> Any:
    """Return an Envelope with CreateTopics of User:ANONYMOUS at 10.1.2.3; the client's correlation id is 42."""
    words: dict[str, Any] = {
        "request_data": request_bytes(19, 7, written(create_topics(7)), 42)[4:],
        "request_principal": b"\0\0\5User\nANONYMOUS\0\0",
        "client_host_address": bytes((10, 1, 2, 3)),
        **changes,
    }
    return requests_of(58, version).EnvelopeRequest(**words)


SAMPLES: Final[dict[int, Callable[[int], Any]]] = {
    1: fetch,
    18: api_versions,
    19: create_topics,
    20: delete_topics,
    37: create_partitions,
    43: elect_leaders,
    44: incremental_alter_configs,
    45: alter_partition_reassignments,
    46: list_partition_reassignments,
    55: describe_quorum,
    56: alter_partition,
    57: update_features,
    58: envelope,
    59: fetch_snapshot,
    60: describe_cluster,
    62: broker_registration,
    63: broker_heartbeat,
    64: unregister_broker,
    67: allocate_producer_ids,
    73: assign_replicas_to_dirs,
    94: unregister_controller,
    **VOTER_SAMPLES,
    **ADMIN_SAMPLES,
}
