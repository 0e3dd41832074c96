"""Names, ids and requests of the clusters that the node's own tests drive."""

from __future__ import annotations

from metadata_log.ids import DirectoryId, Uuid
from quorum.api.brokers import FeatureRange, Listener, RegisterBroker
from quorum.api.topics import CreatableTopic, CreateTopics
from quorum.node.controller.registration import SUPPORTED_FEATURES

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


DATA = "/data"


LEVEL = 30


WALL_START_MS = 1_700_000_000_000


BROKER = 100


REGISTER_BROKER = RegisterBroker(
    broker_id=BROKER,
    cluster_id=CLUSTER_ID,
    incarnation_id=Uuid(b"\x20" * 16),
    listeners=(Listener(name="PLAINTEXT", host="b", port=9092),),
    features=tuple(
        FeatureRange(name=feature.name, min_supported_version=0, max_supported_version=feature.max_supported_version)
        for feature in SUPPORTED_FEATURES
    ),
    log_dirs=(DirectoryId(b"\x30" * 16),),
)


def create_request(*names: str) -> CreateTopics:
    """Return a request for topics of one partition on `BROKER`."""
    return CreateTopics(
        topics=tuple(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names)
    )
