"""For the requests of a real Kafka 4.4, 4.3 or 3.9 controller, our controller writes the same records.

The test replays the fixtures' logs. Before each record of a kind that our controller writes, it gets the request that
must have led to it, on the image so far. Its records must be Kafka's. Three known differences are not compared:

- the order of topics that lose a broker: Kafka's is that of a hash table
- the broker epoch of a registration that cleans up first: in Kafka the offset of the first record, here that of the
  registration
- a second fence of a fenced broker: our controller does not write it
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.ids import DirectoryId, TopicId
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_record,
)
from quorum.api.brokers import BrokerHeartbeat, FeatureRange, Listener, RegisterBroker
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController
from quorum.api.request import Request
from quorum.api.topics import (
    CreatableConfig,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopics,
    DeleteTopics,
    DeleteTopicState,
)
from quorum.controller.config import ControllerConfig
from quorum.controller.machine import ControllerMachine
from tests.support.controller import Time, uuid
from tests.support.image_logs import batches, directory_id, log_directories, scenario_of

_TRANSACTION = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
_CLUSTER_ID = "fixture"


class Walk:
    """One log of Kafka's, and our controller beside it."""

    def __init__(self, directory: Path) -> None:
        data = [batch for batch in batches(directory) if batch.values]
        self.records = [
            (batch.header.base_offset + index, decode_record(value))
            for batch in data
            for index, value in enumerate(batch.values)
        ]
        self.first_batch = len(data[0].values)
        self.batch_of = [number for number, batch in enumerate(data) for _ in batch.values]
        self.image = MetadataImage.empty()
        self.position = 0
        self.time = Time()
        self.machine = ControllerMachine(ControllerConfig(node_id=1, cluster_id=_CLUSTER_ID, kraft_version=0))
        self.compared: dict[str, int] = {}

    @property
    def offset(self) -> int:
        return self.records[self.position][0]

    def upcoming(self) -> MetadataRecord:
        return self.records[self.position][1]

    def take(self, *kinds: type) -> list[MetadataRecord]:
        """The run of records of these kinds that comes next in the batch of the last one, applied to the image."""
        taken: list[MetadataRecord] = []
        batch = self.batch_of[self.position - 1]
        while self.position < len(self.records) and isinstance(self.upcoming(), kinds):
            if self.batch_of[self.position] != batch:
                break
            taken.append(self.next())
        return taken

    def next(self) -> MetadataRecord:
        offset, record = self.records[self.position]
        self.position += 1
        if not isinstance(record, _TRANSACTION):
            builder = ImageBuilder(self.image)
            builder.apply(record, offset)
            self.image = builder.build(offset + 1, 1, self.time.wall_ms)
        return record

    def ours(self, request: Request, *ids: TopicId) -> list[MetadataRecord]:
        self.time = Time(monotonic_ms=self.time.monotonic_ms + 10_000)
        result = self.machine.on_request(
            request, RequestContext(), self.image, Offset(self.offset), self.time, 1, iter(ids)
        )
        return list(result.records)

    def bootstrap(self) -> None:
        before = self.image
        kafka = [self.next() for _ in range(self.first_batch)]
        values = tuple(record for record in kafka if not isinstance(record, (*_TRANSACTION, ConfigRecord)))
        result = self.machine.activate(
            before,
            self.time,
            epoch=Epoch(1),
            bootstrap_values=values,
            open_transaction=False,
            metadata_topic_id=TopicId(uuid(9)),
        )
        ours = [record for record in result.records if not isinstance(record, TopicRecord)]
        assert ours == kafka

    def step(self) -> None:
        record, before = self.upcoming(), self.position
        if isinstance(record, TopicRecord):
            self.create_topic(record)
        elif isinstance(record, RemoveTopicRecord):
            state = DeleteTopicState(topic_id=record.topic_id)
            self.compare([self.ours(DeleteTopics(topics=(state,))), [self.next()]])
        elif isinstance(record, RegisterBrokerRecord):
            existing = self.image.cluster.brokers.get(record.broker_id)
            # Nothing was cleaned up, so the broker had stopped cleanly, if it had ever been there.
            previous = -1 if existing is None else existing.epoch
            self.compare([self.ours(registration_of(record, previous)), [self.next()]])
        elif isinstance(record, RegisterControllerRecord):
            self.compare([self.ours(controller_of(record)), [self.next()]])
        elif isinstance(record, BrokerRegistrationChangeRecord) and self.says_something(record):
            self.heartbeat(record)
        elif not self.is_clean_up():
            self.next()
            return
        name = type(self.records[before][1]).__name__
        self.compared[name] = self.compared.get(name, 0) + 1

    def says_something(self, record: BrokerRegistrationChangeRecord) -> bool:
        """Kafka fences a broker again when it falls silent after having been fenced; ours writes nothing then."""
        return not (record.fenced == 1 and self.image.cluster.brokers[record.broker_id].fenced)

    def is_clean_up(self) -> bool:
        """Take the partition changes that come next if a broker's record ends them, and compare them as one."""
        batch, end = self.batch_of[self.position], self.position
        while end + 1 < len(self.records) and isinstance(self.records[end][1], PartitionChangeRecord):
            end += 1
        last = self.records[end][1]
        if end == self.position or self.batch_of[end] != batch:
            return False
        if isinstance(last, RegisterBrokerRecord):
            *ours, ours_last = self.ours(registration_of(last, -1))
            last = msgspec.structs.replace(last, broker_epoch=self.records[end][0])
        elif isinstance(last, BrokerRegistrationChangeRecord) and last.log_dirs:
            *ours, ours_last = self.ours(self.loss_of(last))
        elif isinstance(last, BrokerRegistrationChangeRecord) and last.fenced == 1:
            *ours, ours_last = self.ours(self.departure_of(last))
        else:
            return False
        kafka = [self.next() for _ in range(end - self.position)]
        self.next()
        assert ours_last == last
        assert sorted(ours, key=place_of) == sorted(kafka, key=place_of)
        return True

    def loss_of(self, record: BrokerRegistrationChangeRecord) -> BrokerHeartbeat:
        broker = self.image.cluster.brokers[record.broker_id]
        return BrokerHeartbeat(
            broker_id=record.broker_id,
            broker_epoch=record.broker_epoch,
            current_metadata_offset=self.offset,
            want_fence=broker.fenced,
            offline_log_dirs=tuple(each for each in broker.directories if each not in record.log_dirs),
        )

    def departure_of(self, record: BrokerRegistrationChangeRecord) -> BrokerHeartbeat:
        """Return the request that has the records of a fence for silence: leadership and ISRs first, the fence last."""
        return BrokerHeartbeat(
            broker_id=record.broker_id,
            broker_epoch=record.broker_epoch,
            current_metadata_offset=self.offset,
            want_fence=True,
            want_shut_down=True,
        )

    def compare(self, both: list[list[MetadataRecord]]) -> None:
        ours, kafka = both
        assert ours == kafka, f"at offset {self.records[self.position - len(kafka)][0]}"

    def create_topic(self, topic: TopicRecord) -> None:
        start = self.position + 1
        tail = []
        while start < len(self.records) and isinstance(
            self.records[start][1], ConfigRecord | ClearElrRecord | PartitionRecord
        ):
            tail.append(self.records[start][1])
            start += 1
        mine = [record for record in tail if isinstance(record, PartitionRecord) and record.topic_id == topic.topic_id]
        request = CreateTopics(
            topics=(
                CreatableTopic(
                    name=topic.name,
                    assignments=tuple(
                        CreatableReplicaAssignment(partition_index=each.partition_id, broker_ids=each.replicas)
                        for each in mine
                    ),
                    configs=tuple(
                        CreatableConfig(name=each.name, value=each.value)
                        for each in tail
                        if isinstance(each, ConfigRecord) and each.resource_name == topic.name
                    ),
                ),
            )
        )
        ours = self.ours(request, topic.topic_id)
        self.compare([ours, [self.next() for _ in range(len(ours))]])

    def heartbeat(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self.image.cluster.brokers[record.broker_id]
        base = {
            "broker_id": record.broker_id,
            "broker_epoch": record.broker_epoch,
            "current_metadata_offset": self.offset,
        }
        if record.fenced == -1:
            ours, kafka = self.ours(BrokerHeartbeat(**base)), [self.next(), *self.take(PartitionChangeRecord)]
        elif record.cordoned_log_dirs is not None:
            wish = BrokerHeartbeat(**base, want_fence=broker.fenced, cordoned_log_dirs=record.cordoned_log_dirs)
            ours, kafka = self.ours(wish), [self.next()]
        else:
            # Leaving: the others have seen everything, so that nothing but its own leaderships holds it back.
            for other in self.image.cluster.brokers.values():
                if other.broker_id != record.broker_id and not other.fenced:
                    assert (
                        self.ours(
                            BrokerHeartbeat(
                                broker_id=other.broker_id, broker_epoch=other.epoch, current_metadata_offset=self.offset
                            )
                        )
                        == []
                    )
            ours = self.ours(BrokerHeartbeat(**base, want_shut_down=True))
            kafka = [self.next(), *(self.take(PartitionChangeRecord) if record.in_controlled_shutdown else [])]
        assert ours[0] == kafka[0]
        assert sorted(ours[1:], key=place_of) == sorted(kafka[1:], key=place_of)


def place_of(record: MetadataRecord) -> tuple[bytes, int]:
    assert isinstance(record, PartitionChangeRecord)
    return record.topic_id, record.partition_id


def features_of(record: RegisterBrokerRecord | RegisterControllerRecord) -> tuple[FeatureRange, ...]:
    return tuple(
        FeatureRange(
            name=each.name,
            min_supported_version=each.min_supported_version,
            max_supported_version=each.max_supported_version,
        )
        for each in record.features
    )


def listeners_of(record: RegisterBrokerRecord | RegisterControllerRecord) -> tuple[Listener, ...]:
    return tuple(
        Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
        for each in record.end_points
    )


def registration_of(record: RegisterBrokerRecord, previous_broker_epoch: int) -> RegisterBroker:
    return RegisterBroker(
        broker_id=record.broker_id,
        cluster_id=_CLUSTER_ID,
        incarnation_id=record.incarnation_id,
        listeners=listeners_of(record),
        features=features_of(record),
        rack=record.rack,
        log_dirs=tuple(DirectoryId(each) for each in record.log_dirs),
        previous_broker_epoch=previous_broker_epoch,
    )


def controller_of(record: RegisterControllerRecord) -> RegisterController:
    return RegisterController(
        controller_id=record.controller_id,
        incarnation_id=record.incarnation_id,
        listeners=listeners_of(record),
        features=features_of(record),
    )


_FROM_THE_START = [
    directory for directory in log_directories() if min(int(each.stem) for each in directory.glob("*.log")) == 0
]
_COMPARED = {
    "basic": {"TopicRecord": 7, "RemoveTopicRecord": 4, "RegisterBrokerRecord": 2, "RegisterControllerRecord": 3},
    "basic-4.4": {"TopicRecord": 7, "RemoveTopicRecord": 4, "RegisterBrokerRecord": 2, "RegisterControllerRecord": 3},
    "every-record": {"TopicRecord": 5, "RegisterBrokerRecord": 6, "PartitionChangeRecord": 7},
    "every-record-4.4": {"TopicRecord": 5, "RegisterBrokerRecord": 6, "PartitionChangeRecord": 7},
    "static-3.9": {"TopicRecord": 9, "RemoveTopicRecord": 4, "RegisterBrokerRecord": 2},
    "upgrade-path": {"TopicRecord": 7, "RegisterBrokerRecord": 7},
}
"""What each scenario must at least have shown, so that a walk that compares nothing is no proof."""


@pytest.mark.parametrize("directory", _FROM_THE_START, ids=directory_id)
def test_a_log_of_kafkas_is_written_again(directory: Path) -> None:
    walk = Walk(directory)
    walk.bootstrap()
    while walk.position < len(walk.records):
        walk.step()
    for name, count in _COMPARED.get(scenario_of(directory), {}).items():
        assert walk.compared[name] >= count, walk.compared
    assert walk.compared["BrokerRegistrationChangeRecord"] >= 4, walk.compared
