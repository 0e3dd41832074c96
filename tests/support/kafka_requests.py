"""One request of every API and version that the Kafka door answers, with something in every field."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from tests.support.kafka_wire import requests_of

ID: Final = uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
SENTINEL: Final = uuid.UUID(int=1)
CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"


def only(kind: Any, **values: Any) -> Any:
    """kio's entity with those of the values that its version has."""
    known = kind.__dataclass_fields__
    return kind(**{name: value for name, value in values.items() if name in known})


def fetch(version: int, **changes: Any) -> Any:
    """A broker's, at the log's start; `changes` by field, of whatever part has it."""
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
        "replica_state": module.ReplicaState(replica_id=11),
        "max_wait": timedelta(milliseconds=500),
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "forgotten_topics_data": (),
        "topic_id": SENTINEL,
        **changes,
    }
    partitions = (only(module.FetchPartition, **words),)
    topics = (only(module.FetchTopic, **{"partitions": partitions, **words}),)
    return only(module.FetchRequest, **{"topics": topics, **words})


def fetch_snapshot(version: int, **changes: Any) -> Any:
    """A broker's, of the snapshot 100-2."""
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


def api_versions(version: int) -> Any:
    words = {} if version < 3 else {"client_software_name": "apache-kafka-java", "client_software_version": "4.3.0"}
    return requests_of(18, version).ApiVersionsRequest(**words)


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


SAMPLES: Final[dict[int, Callable[[int], Any]]] = {
    1: fetch,
    18: api_versions,
    55: describe_quorum,
    56: alter_partition,
    59: fetch_snapshot,
    60: describe_cluster,
    62: broker_registration,
    63: broker_heartbeat,
}
