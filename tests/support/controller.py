"""A controller machine with its own log: each record that it writes is replayed at once, so a test reads like a
session."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.ids import DirectoryId, TopicId, Uuid
from metadata_log.image import ImageBuilder, MetadataImage, PartitionImage
from metadata_log.image.hash import image_hash
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    decode_record,
    encode_record,
)
from metadata_log.records.levels import write_version
from quorum.api.brokers import (
    BrokerHeartbeat,
    BrokerHeartbeatResponse,
    FeatureRange,
    Listener,
    RegisterBroker,
    RegisterBrokerResponse,
)
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.request import Read, Request
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopics,
    CreateTopicsResponse,
)
from quorum.controller.authorizer import Authorizer
from quorum.controller.config import ControllerConfig
from quorum.controller.machine import ControllerMachine
from quorum.controller.result import ControllerResult
from quorum.node.controller.reads import ImageReader

CLUSTER_ID = "c1u5t3r-id-c1u5t3r-id-"
LEVEL = 30
ELR = "eligible.leader.replicas.version"
FEATURES = (
    FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=30),
    FeatureRange(name="kraft.version", min_supported_version=0, max_supported_version=1),
    FeatureRange(name=ELR, min_supported_version=0, max_supported_version=1),
)
EVE = RequestContext(principal="User:eve", client_host="10.0.0.9", authorizer=Authorizer())
"""A principal without any permission."""
_TRANSACTION = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """The clock that a test sets."""

    monotonic_ms: int = 1_000_000
    wall_ms: int = 1_700_000_000_000


def uuid(number: int) -> Uuid:
    """Return an id that is not reserved, different for each number."""
    return Uuid((0x4000_0000_0000_0000_8000_0000_0000_0000 + number).to_bytes(16, "big"))


def directory(broker_id: int, index: int = 0) -> DirectoryId:
    """Return one of a broker's log directories."""
    return DirectoryId(uuid(0xD000_0000 + broker_id * 16 + index))


def topic_ids(start: int = 0xF000_0000) -> Iterator[TopicId]:
    """Yield new topic ids without end."""
    while True:
        start += 1
        yield TopicId(uuid(start))


def bootstrap(level: int = LEVEL, *, elr: bool = True) -> tuple[MetadataRecord, ...]:
    """Return the first records of a freshly formatted directory."""
    records: list[MetadataRecord] = [FeatureLevelRecord(name="metadata.version", feature_level=level)]
    if elr:
        records.append(FeatureLevelRecord(name=ELR, feature_level=1))
    return tuple(records)


class ControlledCluster:
    """One active controller, its image and its log."""

    def __init__(self, *, level: int = LEVEL, elr: bool = True, config: ControllerConfig | None = None) -> None:
        self.config = config or ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_idle_interval_ms=None)
        self.time = Time()
        self.image = MetadataImage.empty()
        self.log: list[MetadataRecord] = []
        self.ids = topic_ids()
        self.draw = 7
        self.epoch = 0
        self._bootstrap = bootstrap(level, elr=elr)
        self.machine = ControllerMachine(self.config)
        self.fail_over()

    # --- the log

    def append(self, records: tuple[MetadataRecord, ...]) -> None:
        """Append and replay records; the bootstrap transaction is complete within its batch."""
        if not records:
            return
        builder = ImageBuilder(self.image)
        for record in records:
            if not isinstance(record, _TRANSACTION):
                builder.apply(record, len(self.log))
            self.log.append(record)
        self.image = builder.build(len(self.log), self.epoch, self.time.wall_ms)

    @property
    def next_offset(self) -> Offset:
        return Offset(len(self.log))

    @property
    def last_offset(self) -> int:
        """Return the offset that a broker reports once it has applied the whole log."""
        return len(self.log) - 1

    # --- the controller

    def fail_over(self) -> ControllerResult:
        """Let another controller take over with the same image and no soft state; its LeaderChange takes one offset."""
        self.epoch += 1
        self.log.append(BeginTransactionRecord(name="stands for LeaderChange"))
        self.machine.deactivate()
        self.machine = ControllerMachine(self.config)
        result = self.machine.activate(
            self.image,
            self.time,
            epoch=Epoch(self.epoch),
            bootstrap_values=self._bootstrap,
            open_transaction=False,
            metadata_topic_id=next(self.ids),
        )
        self.append(result.records)
        return result

    def ask(self, request: Request, context: RequestContext | None = None) -> ControllerResult:
        """Handle one request, and append its records. A read gets the same response from the image alone."""
        self.draw += 1
        context = context or RequestContext()
        result = self.machine.on_request(request, context, self.image, self.next_offset, self.time, self.draw, self.ids)
        is_late = context.deadline_ms is not None and self.time.monotonic_ms >= context.deadline_ms
        if isinstance(request, Read) and not is_late:
            assert result.records == (), "a read writes records"
            read = ImageReader(self.config).read(request, context, self.image, self.time.monotonic_ms)
            assert read == result.response, "a read's handler uses more than the image: a standby responds differently"
        self.append(result.records)
        return result

    def elapse(self, milliseconds: int) -> None:
        """Advance the clock; `on_elapsed` is not called yet."""
        self.time = Time(monotonic_ms=self.time.monotonic_ms + milliseconds, wall_ms=self.time.wall_ms + milliseconds)

    def look(self) -> tuple[MetadataRecord, ...]:
        """Call `on_elapsed` once, and append its records."""
        result = self.machine.on_elapsed(self.image, self.next_offset, self.time)
        self.append(result.records)
        return result.records

    def settle(self, most: int = 10_000) -> list[MetadataRecord]:
        """Do all the work that is due now."""
        records: list[MetadataRecord] = []
        for _ in range(most):
            deadline = self.machine.next_deadline_ms()
            if deadline is None or deadline > self.time.monotonic_ms:
                return records
            records += self.look()
        raise AssertionError(f"still due after {most} turns")

    # --- short forms

    def register(
        self, broker_id: int, *, incarnation: int | None = None, rack: str | None = None, dirs: int = 1, **kw: object
    ) -> RegisterBrokerResponse:
        fields: dict[str, object] = {
            "broker_id": broker_id,
            "cluster_id": CLUSTER_ID,
            "incarnation_id": uuid(broker_id if incarnation is None else incarnation),
            "listeners": (Listener(name="PLAINTEXT", host="127.0.0.1", port=9000 + broker_id),),
            "features": FEATURES,
            "rack": rack,
            "log_dirs": tuple(directory(broker_id, index) for index in range(dirs)),
        }
        response = self.ask(RegisterBroker(**(fields | kw))).response  # type: ignore[arg-type]
        assert isinstance(response, RegisterBrokerResponse)
        return response

    def heartbeat(self, broker_id: int, **kw: object) -> ControllerResult:
        fields: dict[str, object] = {
            "broker_id": broker_id,
            "broker_epoch": self.image.cluster.brokers[broker_id].epoch,  # type: ignore[index]
            "current_metadata_offset": self.last_offset,
        }
        return self.ask(BrokerHeartbeat(**(fields | kw)))  # type: ignore[arg-type]

    def beat(self, broker_id: int, **kw: object) -> BrokerHeartbeatResponse:
        response = self.heartbeat(broker_id, **kw).response
        assert isinstance(response, BrokerHeartbeatResponse)
        return response

    def start(self, *broker_ids: int, racks: dict[int, str] | None = None, dirs: int = 1) -> None:
        """Register and unfence these brokers."""
        for broker_id in broker_ids:
            assert self.register(broker_id, rack=(racks or {}).get(broker_id), dirs=dirs).error is Error.NONE
            assert not self.beat(broker_id).is_fenced

    def create(self, name: str, *, partitions: int = 1, factor: int = 1, **kw: object) -> TopicId:
        fields: dict[str, object] = {"name": name, "num_partitions": partitions, "replication_factor": factor}
        topic = CreatableTopic(**(fields | kw))  # type: ignore[arg-type]
        response = self.ask(CreateTopics(topics=(topic,))).response
        assert isinstance(response, CreateTopicsResponse)
        assert response.topics[0].error is Error.NONE, response.topics[0].error_message
        return response.topics[0].topic_id

    def place(self, name: str, *replicas: tuple[int, ...], configs: dict[str, str] | None = None) -> TopicId:
        """Create a topic with these replicas."""
        return self.create(
            name,
            partitions=-1,
            factor=-1,
            assignments=tuple(
                CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
                for index, brokers in enumerate(replicas)
            ),
            configs=tuple(CreatableConfig(name=key, value=value) for key, value in (configs or {}).items()),
        )

    def partition(self, topic_id: TopicId, partition_id: int = 0) -> PartitionImage:
        partition = self.image.topics.partition(topic_id, partition_id)
        assert partition is not None
        return partition

    def configure(self, name: str, value: str, topic: str | None = None) -> None:
        """Set a config as an administrator would: of a topic, or of the whole cluster."""
        kind, resource = (4, "") if topic is None else (2, topic)
        self.append((ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value),))


def check_standby(cluster: ControlledCluster) -> None:
    """Check that a standby that reads the bytes of the log has the same image and the same hash of it."""
    builder = ImageBuilder(MetadataImage.empty())
    for offset, record in enumerate(cluster.log):
        if not isinstance(record, _TRANSACTION):
            builder.apply(decode_record(encode_record(record, write_version(type(record), LEVEL))), offset)
    standby = builder.build(len(cluster.log), cluster.epoch, cluster.time.wall_ms)
    assert standby.says_the_same_as(cluster.image)
    assert image_hash(standby, 0, None).hex == image_hash(cluster.image, 0, None).hex
