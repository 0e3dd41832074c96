"""The records in a checkpoint of an image at each level, and the images that no checkpoint can hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from metadata_log.ids import MIGRATING_DIRECTORY_ID, NodeId
from metadata_log.image import MetadataImage, ReplayError, UnwritableMetadataError, image_of_checkpoint, records_of
from metadata_log.image.checkpoint import known_records_of, values_in_slices
from metadata_log.image.hash import image_hash
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    DelegationTokenRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    encode_record,
)
from metadata_log.records.levels import LATEST_PRODUCTION
from tests.support.image_logs import FIXTURES, final_image
from tests.support.image_records import broker, config, image_of, level, nodes, partition, topic, uuid

ELR = "eligible.leader.replicas.version"


def _image(metadata_version: int, *records: MetadataRecord) -> MetadataImage:
    return image_of(level("metadata.version", metadata_version), *records)


def _types(image: MetadataImage) -> list[str]:
    return [type(record).__name__ for record, _ in records_of(image)]


def _written(image: MetadataImage, kind: type[MetadataRecord]) -> list[tuple[MetadataRecord, int]]:
    return [(record, version) for record, version in records_of(image) if isinstance(record, kind)]


def test_metadata_version_comes_first_and_kinds_in_kafkas_order() -> None:
    image = _image(
        LATEST_PRODUCTION,
        topic(2),
        partition(2, 0),
        topic(1),
        broker(1),
        config("t1", "a", "b"),
        level("group.version", 1),
        ProducerIdsRecord(broker_id=NodeId(1), broker_epoch=3, next_producer_id=1000),
    )
    assert [str(getattr(record, "name", "")) for record, _ in records_of(image)][:2] == [
        "metadata.version",
        "group.version",
    ]
    assert _types(image)[2:] == [
        "RegisterBrokerRecord",
        "TopicRecord",
        "TopicRecord",
        "PartitionRecord",
        "ConfigRecord",
        "ProducerIdsRecord",
    ]
    assert [record.name for record, _ in _written(image, TopicRecord) if isinstance(record, TopicRecord)] == [
        "t1",
        "t2",
    ]


@pytest.mark.parametrize(
    ("metadata_version", "partition_version", "broker_version"),
    [(7, 0, 1), (8, 0, 2), (16, 0, 2), (17, 1, 3), (22, 1, 3), (23, 2, 3), (29, 2, 3), (30, 2, 4)],
)
def test_the_level_chooses_the_versions(metadata_version: int, partition_version: int, broker_version: int) -> None:
    with_directories = metadata_version >= 17
    image = _image(
        metadata_version,
        topic(1),
        partition(1) if with_directories else partition(1, directories=()),
        broker(1) if with_directories else broker(1, log_dirs=()),
    )
    assert [version for _, version in _written(image, PartitionRecord)] == [partition_version]
    assert [version for _, version in _written(image, RegisterBrokerRecord)] == [broker_version]
    for record, version in records_of(image):
        assert encode_record(record, version)
    (written, _), *_ = _written(image, PartitionRecord)
    assert isinstance(written, PartitionRecord)
    assert bool(written.directories) == with_directories


def test_the_elr_is_written_only_where_the_feature_is_on() -> None:
    records = (topic(1), partition(1, eligible_leader_replicas=nodes(2), last_known_elr=nodes(3)))
    for extra, expected in (((), (None, None)), ((level(ELR, 1),), (nodes(2), nodes(3)))):
        ((written, _),) = _written(_image(30, *extra, *records), PartitionRecord)
        assert isinstance(written, PartitionRecord)
        assert (written.eligible_leader_replicas, written.last_known_elr) == expected


def test_producer_ids_are_written_without_the_broker_that_asked() -> None:
    record = ProducerIdsRecord(broker_id=NodeId(1), broker_epoch=3, next_producer_id=1000)
    assert _written(_image(30, record), ProducerIdsRecord) == [
        (ProducerIdsRecord(broker_id=NodeId(-1), broker_epoch=-1, next_producer_id=1000), 0)
    ]
    assert _written(_image(30), ProducerIdsRecord) == []


SCRAM = UserScramCredentialRecord(name="a", mechanism=1, salt=b"", stored_key=b"", server_key=b"", iterations=1)
TOKEN = DelegationTokenRecord(
    owner="User:a",
    requester="User:a",
    renewers=(),
    issue_timestamp=1,
    max_timestamp=1,
    expiration_timestamp=1,
    token_id="tok",
)
CONTROLLER = RegisterControllerRecord(
    controller_id=NodeId(1), incarnation_id=uuid(1), zk_migration_ready=False, end_points=(), features=()
)


@pytest.mark.parametrize(
    ("metadata_version", "records", "what"),
    [
        (16, (topic(1), partition(1)), "3.7-IV1 has no record for the directories of partition 0"),
        (22, (level(ELR, 1), topic(1), partition(1, last_known_elr=nodes(1))), "eligible leader replicas"),
        (16, (broker(1),), "the directories of broker 1"),
        (29, (broker(1, cordoned_log_dirs=()),), "the cordoned directories of broker 1"),
        (7, (broker(1, log_dirs=(), is_migrating_zk_broker=True),), "broker 1 migrates from ZooKeeper"),
        (14, (CONTROLLER,), "the registration of controller 1"),
        (10, (SCRAM,), "the SCRAM credential of user 'a'"),
        (13, (TOKEN,), "the delegation token 'tok'"),
    ],
)
def test_what_a_level_cannot_say_is_refused(
    metadata_version: int, records: tuple[MetadataRecord, ...], what: str
) -> None:
    with pytest.raises(UnwritableMetadataError, match=what):
        list(records_of(_image(metadata_version, *records)))
    assert len(list(records_of(_image(30, *records)))) > len(records) - 1


def test_an_image_without_metadata_version_cannot_be_written() -> None:
    with pytest.raises(UnwritableMetadataError, match="has not been bootstrapped"):
        list(records_of(image_of()))
    with pytest.raises(UnwritableMetadataError, match=r"Kafka before 3\.3 wrote this metadata"):
        list(records_of(image_of(topic(1))))


def test_a_checkpoint_that_makes_no_sense_is_refused_by_place() -> None:
    end = OffsetAndEpoch(offset=Offset(9), epoch=Epoch(2))
    with pytest.raises(ReplayError, match="cannot replay PartitionRecord at offset 1"):
        image_of_checkpoint([topic(1), partition(2)], end=end, last_contained_timestamp_ms=5)
    image = image_of_checkpoint([topic(1)], end=end, last_contained_timestamp_ms=5)
    assert (image.offset_and_epoch, image.last_contained_timestamp_ms) == (end, 5)


def test_unassigned_directories_come_back_from_an_old_level() -> None:
    image = _image(7, topic(1), partition(1, directories=()))
    again = image_of_checkpoint(
        [record for record, _ in records_of(image)], end=image.offset_and_epoch, last_contained_timestamp_ms=1_000
    )
    assert again == image
    found = again.topics.named("t1")
    assert found is not None
    assert found.partitions[0].directories == (MIGRATING_DIRECTORY_ID,) * 3


def test_the_walk_goes_on_while_newer_images_are_made() -> None:
    image = _image(30, topic(1), topic(2))
    walk = records_of(image)
    first = [next(walk), next(walk)]
    image_of(topic(3), base=image)
    assert first + list(walk) == list(records_of(image))


_PRINT_ORDER = """
import sys
from tests.support.image_logs import FIXTURES, final_image
from metadata_log.image import records_of
from metadata_log.records import encode_record
image = final_image(FIXTURES / "every-record" / "node-1" / "data" / "__cluster_metadata-0")
sys.stdout.write("".join(encode_record(record, version).hex() + "\\n" for record, version in records_of(image)))
"""


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    root = Path(__file__).resolve().parents[4]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_ORDER],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    image = final_image(FIXTURES / "every-record" / "node-1" / "data" / "__cluster_metadata-0")
    here = "".join(encode_record(record, version).hex() + "\n" for record, version in records_of(image))
    assert outputs == {here.encode()}


def test_images_of_different_places_may_say_the_same() -> None:
    image = _image(30, topic(1))
    later = msgspec.structs.replace(image, offset_and_epoch=OffsetAndEpoch(offset=Offset(99), epoch=Epoch(7)))
    assert image != later
    assert image.says_the_same_as(later)
    assert not image.says_the_same_as(_image(30, topic(2)))


def test_an_image_of_an_unknown_level_is_hashed_and_never_written() -> None:
    image = _image(35, topic(1), partition(1, 0), broker(1))

    with pytest.raises(UnwritableMetadataError, match=r"metadata\.version 35 is of a later release"):
        list(records_of(image))
    with pytest.raises(UnwritableMetadataError, match=r"metadata\.version 35 is of a later release"):
        list(values_in_slices(image, 100))
    assert [type(record) for record, _ in known_records_of(image)][:2] == [FeatureLevelRecord, RegisterBrokerRecord]
    assert image_hash(image, 0, None) == image_hash(_image(35, topic(1), partition(1, 0), broker(1)), 0, None)
    assert image_hash(image, 0, None) != image_hash(_image(35, topic(1), partition(1, 0), broker(2)), 0, None)
