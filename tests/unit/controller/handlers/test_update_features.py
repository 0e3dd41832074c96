"""UpdateFeatures: which levels may be finalised, and what goes with them."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from metadata_log.records import ClearElrRecord, ConfigRecord, FeatureLevelRecord, PartitionChangeRecord
from metadata_log.records.levels import level_name
from quorum.api.brokers import FeatureRange
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpdateFeaturesResponse, UpgradeType
from quorum.controller.config import ControllerConfig
from quorum.controller.features import SUPPORTED_FEATURES
from quorum.controller.result import ControllerResult
from tests.support.controller import CLUSTER_ID, ELR, EVE, ControlledCluster, uuid

UP, SAFE, UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE
MV, GROUP, TRANSACTION, KRAFT = "metadata.version", "group.version", "transaction.version", "kraft.version"


def cluster_at(level: int, *, elr: bool = False) -> ControlledCluster:
    cluster = ControlledCluster(level=level, elr=elr)
    for broker_id in (11, 12):
        assert cluster.register(broker_id, features=SUPPORTED_FEATURES).error is Error.NONE
        cluster.beat(broker_id)
    return cluster


def ask(
    cluster: ControlledCluster,
    *updates: tuple[str, int, int],
    validate_only: bool = False,
    context: RequestContext | None = None,
) -> ControllerResult:
    asked = tuple(FeatureUpdate(name=name, level=level, upgrade_type=kind) for name, level, kind in updates)
    return cluster.ask(UpdateFeatures(updates=asked, validate_only=validate_only), context)


def why(result: ControllerResult, error: Error = Error.INVALID_UPDATE_VERSION) -> str:
    assert isinstance(result.response, UpdateFeaturesResponse)
    assert (result.response.error, result.records) == (error, ())
    assert result.response.error_message is not None
    return result.response.error_message


def done(result: ControllerResult) -> ControllerResult:
    assert result.response == UpdateFeaturesResponse()
    return result


class TestMetadataVersion:
    def test_up(self) -> None:
        cluster = cluster_at(21)
        result = done(ask(cluster, (MV, 29, UP)))
        assert result.records == (FeatureLevelRecord(name=MV, feature_level=29),)
        assert cluster.image.features.metadata_version == 29

    @pytest.mark.parametrize(("above", "below"), [(29, 23), (25, 24), (22, 17), (21, 18), (14, 14), (13, 13), (30, 30)])
    @pytest.mark.parametrize("kind", [SAFE, UNSAFE])
    def test_down_to_where_no_record_changed(self, above: int, below: int, kind: int) -> None:
        cluster = cluster_at(above)
        done(ask(cluster, (MV, below, kind)))
        assert cluster.image.features.metadata_version == below

    @pytest.mark.parametrize(("above", "below"), [(30, 29), (23, 22), (21, 16), (29, 7)])
    @pytest.mark.parametrize(("kind", "words"), [(SAFE, "might delete metadata"), (UNSAFE, "not supported")])
    def test_never_over_a_change_of_records(self, above: int, below: int, kind: int, words: str) -> None:
        cluster = cluster_at(above)
        said = why(ask(cluster, (MV, below, kind)))
        assert f"Unsupported metadata.version downgrade from {level_name(above)} to {level_name(below)}. " in said
        assert words in said

    @pytest.mark.parametrize("level", [6, 34, 0])
    def test_a_level_that_is_not_known_here(self, level: int) -> None:
        said = why(ask(cluster_at(25), (MV, level, SAFE)))
        assert "Local controller 1 only supports 3.3-IV3 (7) to 4.4-IV2 (33)" in said

    def test_records_of_the_next_batch_are_of_the_new_level(self) -> None:
        cluster = cluster_at(16)
        topic_id = cluster.place("before", (11,))
        done(ask(cluster, (MV, 30, UP)))
        cluster.register(11, features=SUPPORTED_FEATURES)
        later_id = cluster.place("after", (11,))
        assert cluster.image.cluster.brokers[NodeId(11)].directories
        assert cluster.partition(later_id).directories == cluster.image.cluster.brokers[NodeId(11)].directories
        assert cluster.partition(topic_id).leader == 11


class TestOthers:
    def test_several_at_once_in_one_batch(self) -> None:
        cluster = cluster_at(25)
        result = done(ask(cluster, (GROUP, 1, UP), (TRANSACTION, 2, UP)))
        assert result.is_atomic
        assert dict(cluster.image.features.levels.items()) == {GROUP: 1, TRANSACTION: 2}
        done(ask(cluster, (GROUP, 0, SAFE)))
        assert dict(cluster.image.features.levels.items()) == {TRANSACTION: 2}

    def test_one_that_is_refused_refuses_all(self) -> None:
        cluster = cluster_at(25)
        said = why(ask(cluster, (GROUP, 1, UP), (TRANSACTION, 3, UP)))
        assert said.startswith("The update failed for all features since the following feature had an error: ")
        assert "transaction.version" in said

    def test_validate_only_writes_nothing(self) -> None:
        cluster = cluster_at(25)
        assert done(ask(cluster, (GROUP, 1, UP), validate_only=True)).records == ()
        assert "only supports 0 to 1" in why(ask(cluster, (GROUP, 2, UP), validate_only=True))

    @pytest.mark.parametrize(
        ("update", "words"),
        [
            ((GROUP, 0, UP), "Can't downgrade the version of this feature without"),
            ((TRANSACTION, 1, SAFE), "Can't downgrade to a newer version"),
            ((TRANSACTION, 1, 0), "does not support the given upgrade type"),
            ((TRANSACTION, 1, 9), "does not support the given upgrade type"),
            ((GROUP, -1, SAFE), "cannot be less than 0"),
            (("no.such.feature", 1, UP), "Local controller 1 does not support this feature"),
            (("no.such.feature", 0, UP), "Local controller 1 does not support this feature"),
        ],
    )
    def test_what_is_refused(self, update: tuple[str, int, int], words: str) -> None:
        cluster = cluster_at(25)
        done(ask(cluster, (GROUP, 1, UP)))
        assert words in why(ask(cluster, update))


class TestWhoMustSupportIt:
    def test_every_broker(self) -> None:
        cluster = cluster_at(25)
        old = tuple(each for each in SUPPORTED_FEATURES if each.name != GROUP)
        assert cluster.register(13, features=old).error is Error.NONE
        assert "Broker 13 does not support this feature" in why(ask(cluster, (GROUP, 1, UP)))

    def test_every_controller(self) -> None:
        cluster = cluster_at(25)
        older = FeatureRange(name=MV, min_supported_version=7, max_supported_version=28)
        request = RegisterController(controller_id=2, incarnation_id=uuid(7), listeners=(), features=(older,))
        cluster.ask(request)
        assert "Controller 2 only supports 3.3-IV3 (7) to 4.2-IV0 (28)" in why(ask(cluster, (MV, 29, UP)))
        done(ask(cluster, (MV, 28, UP)))

    def test_no_controller_that_is_gone(self) -> None:
        cluster = cluster_at(25)
        older = FeatureRange(name=MV, min_supported_version=7, max_supported_version=28)
        for node_id in (2, 3):
            request = RegisterController(
                controller_id=node_id, incarnation_id=uuid(node_id), listeners=(), features=(older,)
            )
            cluster.ask(request)
        now_ms = cluster.time.monotonic_ms
        cluster.machine.use_heard(frozenset({NodeId(1)}), now_ms + 8_999)
        assert "Controller 2 only supports 3.3-IV3 (7) to 4.2-IV0 (28)" in why(ask(cluster, (MV, 29, UP)))
        cluster.machine.use_heard(frozenset({NodeId(1), NodeId(3)}), now_ms + 9_000)
        assert "Controller 3 only supports 3.3-IV3 (7) to 4.2-IV0 (28)" in why(ask(cluster, (MV, 29, UP)))
        cluster.machine.use_heard(frozenset({NodeId(1)}), now_ms + 9_000)
        done(ask(cluster, (MV, 29, UP)))

    def test_static_voters_must_have_registered(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, quorum_node_ids=frozenset({1, 2}))
        cluster = ControlledCluster(level=25, elr=False, config=config)
        assert "controller 2 has not registered" in why(ask(cluster, (MV, 29, UP)))
        request = RegisterController(controller_id=2, incarnation_id=uuid(7), listeners=(), features=SUPPORTED_FEATURES)
        cluster.ask(request)
        done(ask(cluster, (MV, 29, UP)))

    def test_before_controllers_registered_their_word_is_not_asked_for(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, quorum_node_ids=frozenset({1, 2}))
        done(ask(ControlledCluster(level=14, elr=False, config=config), (MV, 15, UP)))


class TestEligibleLeaderReplicas:
    def test_it_needs_a_level_that_can_write_them(self) -> None:
        cluster = cluster_at(22)
        assert f"depends on {MV} 4.0-IV1 (23)" in why(ask(cluster, (ELR, 1, UP)))
        done(ask(cluster, (ELR, 1, UP), (MV, 23, UP)))
        assert cluster.image.features.elr_enabled

    def test_the_cluster_gets_one_smallest_isr_and_brokers_lose_theirs(self) -> None:
        cluster = cluster_at(30)
        own = ConfigRecord(resource_type=4, resource_name="12", name="min.insync.replicas", value="3")
        cluster.append((own,))
        result = done(ask(cluster, (ELR, 1, UP)))
        assert result.records == (
            ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
            ConfigRecord(resource_type=4, resource_name="12", name="min.insync.replicas", value=None),
            FeatureLevelRecord(name=ELR, feature_level=1),
        )

    def test_one_that_the_cluster_has_stays(self) -> None:
        cluster = cluster_at(30)
        cluster.configure("min.insync.replicas", "2")
        assert len(done(ask(cluster, (ELR, 1, UP))).records) == 1
        assert cluster.image.configs.of_cluster()["min.insync.replicas"] == "2"

    def test_turned_off_it_leaves_nobody_eligible_and_partitions_as_they_are_without_it(self) -> None:
        cluster = ControlledCluster()
        cluster.start(11, 12, 13)
        cluster.configure("min.insync.replicas", "2")
        led, alone = cluster.place("led", (11, 12, 13)), cluster.place("alone", (13, 12))
        for broker in (13, 12):
            cluster.beat(broker, want_fence=True)
        before = [cluster.partition(topic_id) for topic_id in (led, alone)]
        assert [(each.leader, each.isr, each.elr) for each in before] == [(11, (11,), (12,)), (-1, (), (12, 13))]

        result = done(ask(cluster, (ELR, 0, SAFE)))
        assert result.records == (
            PartitionChangeRecord(topic_id=alone, partition_id=0, isr=(12,), eligible_leader_replicas=()),
            ClearElrRecord(topic_name=""),
            FeatureLevelRecord(name=ELR, feature_level=0),
        )
        after = [cluster.partition(topic_id) for topic_id in (led, alone)]
        assert [(each.leader, each.isr, each.elr) for each in after] == [(11, (11,), ()), (-1, (12,), ())], (
            "it led last"
        )
        assert all(each.last_known_elr == () for each in after)
        assert len(done(ask(cluster, (ELR, 0, SAFE))).records) == 1, "it is off already"
        assert not cluster.beat(12).is_fenced
        cluster.settle()
        assert cluster.partition(alone).leader == 12

    def test_too_many_partitions_without_a_leader_to_turn_it_off(self) -> None:
        cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=3))
        cluster.start(11, 12)
        for name in ("t", "u"):
            cluster.place(name, (11,), (11,))
        cluster.beat(11, want_fence=True)
        why(ask(cluster, (ELR, 0, SAFE)), Error.POLICY_VIOLATION)
        cluster.beat(11)
        cluster.settle()
        done(ask(cluster, (ELR, 0, SAFE)))


def test_kraft_version_is_only_checked_here() -> None:
    cluster = cluster_at(30)
    done(ask(cluster, (KRAFT, 1, UP), validate_only=True))
    assert "Local controller 1 only supports 0 to 1" in why(ask(cluster, (KRAFT, 2, UP), validate_only=True))
    assert "UpgradeKRaftVersion" in why(ask(cluster, (KRAFT, 1, UP)), Error.INVALID_REQUEST)


def test_who_may_not() -> None:
    cluster = cluster_at(30)
    why(ask(cluster, (GROUP, 1, UP), context=EVE), Error.CLUSTER_AUTHORIZATION_FAILED)
