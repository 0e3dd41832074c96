"""Replay rules of brokers, controllers, features and configs."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId
from metadata_log.image import (
    BrokerRegistration,
    ConfigResource,
    Listener,
    MetadataImage,
    ReplayError,
    ResourceType,
    SupportedFeature,
)
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    ZkMigrationStateRecord,
)
from tests.support.image_records import broker, config, directory, image_of, level, uuid

BASE = image_of(broker(1), broker(2, epoch=6))


def _change(number: int = 1, epoch: int = 5, **fields: object) -> BrokerRegistrationChangeRecord:
    record = BrokerRegistrationChangeRecord(broker_id=NodeId(number), broker_epoch=epoch)
    return msgspec.structs.replace(record, **fields)


def _broker(image: MetadataImage, number: int = 1) -> BrokerRegistration:
    return image.cluster.brokers[NodeId(number)]


def test_a_broker_is_taken_over_with_its_lists_in_order() -> None:
    record = broker(
        1,
        rack="r1",
        is_migrating_zk_broker=True,
        in_controlled_shutdown=True,
        end_points=(
            BrokerEndpoint(name="Z", host="old", port=1, security_protocol=0),
            BrokerEndpoint(name="A", host="b", port=2, security_protocol=3),
            BrokerEndpoint(name="Z", host="new", port=3, security_protocol=1),
        ),
        features=(
            BrokerFeature(name="z", min_supported_version=0, max_supported_version=1),
            BrokerFeature(name="a", min_supported_version=2, max_supported_version=3),
        ),
        log_dirs=(DirectoryId(b"\x01" * 16), DirectoryId(b"\xff" * 16)),
        cordoned_log_dirs=(DirectoryId(b"\x01" * 16),),
    )
    found = _broker(image_of(record))
    assert found == BrokerRegistration(
        broker_id=NodeId(1),
        epoch=5,
        incarnation_id=uuid(1),
        listeners=(
            Listener(name="A", host="b", port=2, security_protocol=3),
            Listener(name="Z", host="new", port=3, security_protocol=1),
        ),
        supported_features=(
            SupportedFeature(name="a", min_version=2, max_version=3),
            SupportedFeature(name="z", min_version=0, max_version=1),
        ),
        rack="r1",
        fenced=True,
        in_controlled_shutdown=True,
        is_migrating_zk_broker=True,
        directories=(DirectoryId(b"\xff" * 16), DirectoryId(b"\x01" * 16)),
        cordoned_directories=(DirectoryId(b"\x01" * 16),),
    )
    assert found.listener("Z") == found.listeners[1]
    assert found.listener("none") is None
    assert found.has_uncordoned_directory


def test_a_broker_with_all_directories_cordoned_takes_no_replica() -> None:
    assert not _broker(image_of(broker(1, cordoned_log_dirs=(directory(1),)))).has_uncordoned_directory
    assert _broker(image_of(broker(1))).has_uncordoned_directory
    assert _broker(image_of(broker(1, log_dirs=(), cordoned_log_dirs=()))).has_uncordoned_directory


def test_a_new_registration_replaces_the_old_one() -> None:
    image = image_of(broker(1, epoch=9, incarnation_id=uuid(77), fenced=False), base=BASE)
    assert (_broker(image).epoch, _broker(image).incarnation_id, _broker(image).fenced) == (9, uuid(77), False)
    assert image.cluster.broker_epoch(NodeId(1)) == 9
    assert image.cluster.broker_epoch(NodeId(3)) == -1


def test_unregistering_removes_the_broker() -> None:
    image = image_of(UnregisterBrokerRecord(broker_id=NodeId(1), broker_epoch=5), base=BASE)
    assert set(image.cluster.brokers) == {2}


def test_fencing_by_the_old_records() -> None:
    unfenced = image_of(UnfenceBrokerRecord(id=NodeId(1), epoch=5), base=BASE)
    assert not _broker(unfenced).fenced
    assert _broker(image_of(FenceBrokerRecord(id=NodeId(1), epoch=5), base=unfenced)).fenced


def test_a_registration_change_takes_over_only_what_it_gives() -> None:
    before = _broker(BASE)
    changes = {
        "fenced": (-1, {"fenced": False}),
        "in_controlled_shutdown": (1, {"in_controlled_shutdown": True}),
        "log_dirs": ((directory(7),), {"directories": (directory(7),)}),
        "cordoned_log_dirs": ((), {"cordoned_directories": ()}),
    }
    for field, (value, expected) in changes.items():
        after = _broker(image_of(_change(**{field: value}), base=BASE))
        assert after == msgspec.structs.replace(before, **expected), field
    unchanged = image_of(_change(fenced=1, log_dirs=()), base=BASE)
    assert _broker(unchanged) is before
    back = image_of(_change(fenced=-1), _change(fenced=1), base=BASE)
    assert _broker(back) == before


def test_controllers_are_registered_beside_brokers() -> None:
    record = RegisterControllerRecord(
        controller_id=NodeId(1),
        incarnation_id=uuid(3),
        zk_migration_ready=True,
        end_points=(
            ControllerEndpoint(name="GRPC", host="h", port=2, security_protocol=0),
            ControllerEndpoint(name="CONTROLLER", host="h", port=1, security_protocol=0),
        ),
        features=(ControllerFeature(name="kraft.version", min_supported_version=0, max_supported_version=1),),
    )
    found = image_of(record, base=BASE).cluster.controllers[NodeId(1)]
    assert [listener.name for listener in found.listeners] == ["CONTROLLER", "GRPC"]
    assert (found.incarnation_id, found.zk_migration_ready) == (uuid(3), True)
    assert found.listener("GRPC") == Listener(name="GRPC", host="h", port=2, security_protocol=0)
    assert found.listener("none") is None


def test_a_controller_that_is_unregistered_is_gone_until_it_registers_again() -> None:
    registered = RegisterControllerRecord(
        controller_id=NodeId(1), incarnation_id=uuid(3), zk_migration_ready=False, end_points=(), features=()
    )
    gone = UnregisterControllerRecord(controller_id=NodeId(1))
    assert not image_of(registered, gone, base=BASE).cluster.controllers
    assert list(image_of(registered, gone, registered, base=BASE).cluster.controllers) == [1]
    with pytest.raises(ReplayError, match="controller 1 is not registered"):
        image_of(gone, base=BASE)


def test_features_keep_metadata_version_apart_and_ignore_kraft_version() -> None:
    image = image_of(level("metadata.version", 25), level("group.version", 1), level("kraft.version", 1))
    assert image.features.metadata_version == 25
    assert dict(image.features.levels) == {"group.version": 1}
    assert [image.features.level_of(name) for name in ("metadata.version", "group.version", "x")] == [25, 1, 0]
    lowered = image_of(level("group.version", 0), level("other", 0), level("metadata.version", 24), base=image)
    assert (lowered.features.metadata_version, dict(lowered.features.levels)) == (24, {})
    assert MetadataImage.empty().features.level_of("metadata.version") == 0


def test_elr_is_a_feature() -> None:
    assert not MetadataImage.empty().features.elr_enabled
    assert image_of(level("eligible.leader.replicas.version", 1)).features.elr_enabled


def test_configs_are_set_replaced_and_removed() -> None:
    image = image_of(
        config("orders", "a", "1"),
        config("orders", "b", ""),
        config("", "c", "3", ResourceType.BROKER),
        config("11", "c", "4", ResourceType.BROKER),
        config("x", "d", "5", 99),
    )
    assert dict(image.configs.of_topic("orders")) == {"a": "1", "b": ""}
    assert dict(image.configs.of_cluster()) == {"c": "3"}
    assert dict(image.configs.of_broker(11)) == {"c": "4"}
    assert dict(image.configs.of(99, "x")) == {"d": "5"}
    after = image_of(config("orders", "a", "2"), config("orders", "b", None), config("", "c", None, 4), base=image)
    assert dict(after.configs.of_topic("orders")) == {"a": "2"}
    assert ConfigResource(resource_type=4, name="") not in after.configs.by_resource


def test_removing_a_config_that_is_not_there_changes_nothing() -> None:
    image = image_of(config("orders", "a", "1"))
    assert image_of(config("orders", "b", None), config("none", "b", None), base=image).configs == image.configs


def test_records_without_meaning_change_nothing() -> None:
    after = image_of(NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=0), base=BASE)
    assert after.says_the_same_as(BASE)
    assert after.offset_and_epoch.offset == BASE.offset_and_epoch.offset + 2


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (UnregisterBrokerRecord(broker_id=NodeId(3), broker_epoch=5), "broker 3 is not registered"),
        (UnregisterBrokerRecord(broker_id=NodeId(1), broker_epoch=4), "epoch 4 of broker 1, .* with epoch 5"),
        (FenceBrokerRecord(id=NodeId(1), epoch=6), "epoch 6 of broker 1"),
        (UnfenceBrokerRecord(id=NodeId(4), epoch=6), "broker 4 is not registered"),
        (_change(epoch=1), "epoch 1 of broker 1"),
        (_change(fenced=2), "2 is no change of fencing"),
        (_change(in_controlled_shutdown=-1), "-1 is no change of the controlled shutdown"),
        (broker(1, end_points=(BrokerEndpoint(name="", host="h", port=1, security_protocol=0),)), "has no name"),
        (
            broker(1, end_points=(BrokerEndpoint(name="A", host="h", port=1, security_protocol=9),)),
            "unknown security protocol 9",
        ),
        (level("metadata.version", 0), r"metadata.version has no level 0: known are 3.0-IV1 \(1\) to 4.4-IV2 \(33\)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_nonsense_is_refused_by_name_and_offset(record: MetadataRecord, why: str) -> None:
    with pytest.raises(ReplayError, match=why) as caught:
        image_of(broker(9), record, base=BASE)
    assert (caught.value.record, caught.value.offset) == (type(record).__name__, 3)
    assert image_of(broker(1), broker(2, epoch=6)) == BASE
