"""Replicas beside a quorum that was formatted again with the same cluster id: they hold until theirs is back."""

from __future__ import annotations

import pytest

from broker_agent.release import release
from metadata_log.directory import METADATA_DIRECTORY, read_committed_state
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.file_log import LogConfig
from quorum.node.core.checkpoint_jobs import SnapshotLoaded
from quorum.node.core.log_fence import HoldReason
from quorum.node.core.ports import HoldChanged, ImagePublished
from quorum.node.core.retention import SnapshotConfig
from tests.support.node_cluster import Cluster, copied_disk
from tests.support.node_requests import DATA
from tests.support.simulated_node import Node, Observer

SMALL = LogConfig(segment_bytes=1000, cache_bytes=600)
OFTEN = SnapshotConfig(max_new_record_bytes=800, retention_bytes=1, settle_ms=0)


def _started() -> tuple[Cluster, Observer]:
    """Five topics, and an observer that has them all."""
    cluster = Cluster(3, seed=3)
    observer = cluster.add_observer()
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0", "n1", "n2", "n3", "n4")
    cluster.run_until(lambda: _has(observer, "n4"))
    cluster.run_for(2_000)
    return cluster, observer


def _has(node: Node, topic: str) -> bool:
    return topic in node.executor.image.topics.by_name


def _format_anew(cluster: Cluster, controllers: list[Node]) -> list[SimulatedFiles]:
    """Their disks before."""
    for node in controllers:
        node.crash()
    disks = [node.files for node in controllers]
    for node in controllers:
        cluster.format(node)
        node.start()
    return disks


def _restart(cluster: Cluster, disks: list[SimulatedFiles] | None = None) -> None:
    """Stop all controllers at once; they start from these disks."""
    for node in cluster.controllers:
        node.crash()
    for node, files in zip(cluster.controllers, disks or [node.files for node in cluster.controllers], strict=True):
        node.files = files
        node.start()


def _log_end(node: Node) -> OffsetAndEpoch:
    return node.executor.machine.log_end


def _holds(node: Node) -> bool:
    return node.executor.fence.held is not None


def _told(node: Node) -> list[HoldReason | None]:
    holds = [each.hold for each in node.events if isinstance(each, HoldChanged)]
    return [None if hold is None else hold.reason for hold in holds]


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
@pytest.mark.parametrize("topics", [0, 3, 20], ids=["shorter", "about as long", "longer"])
def test_an_observer_holds_beside_another_quorum_and_goes_on_with_its_own(restarted: bool, topics: int) -> None:
    cluster, observer = _started()
    own_id, end = observer.executor.image.topics.by_name[METADATA_TOPIC_NAME], _log_end(observer)
    if restarted:
        observer.crash()
    disks = _format_anew(cluster, cluster.controllers)
    if restarted:
        observer.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each(*(f"m{number}" for number in range(topics)))
    cluster.run_for(30_000)
    assert _holds(observer)
    hold = observer.executor.fence.held
    assert hold is not None
    other_id = cluster.elect().executor.image.topics.by_name[METADATA_TOPIC_NAME]
    assert (hold.reason, hold.own_id, hold.other_id) == (HoldReason.OTHER_TOPIC, own_id, other_id)
    assert _log_end(observer) == end
    assert _has(observer, "n4"), "a restarted one knows from its disk what is committed"
    assert observer.executor.machine.epoch <= end.epoch + 1, "no epoch of another quorum is taken"
    assert _told(observer)[-1:] == [HoldReason.OTHER_TOPIC]
    for node, files in zip(cluster.controllers, disks, strict=True):
        node.crash()
        node.files = files
        node.start()
    cluster.elect()
    cluster.create_each("back")
    cluster.run_until(lambda: _has(observer, "back"))
    assert not _holds(observer)
    assert _told(observer)[-2:] == [HoldReason.OTHER_TOPIC, None]


def test_another_quorum_never_counts_the_log_of_one_that_holds_as_a_copy_of_its_own() -> None:
    cluster, observer = _started()
    _format_anew(cluster, cluster.controllers)
    leader = cluster.elect()
    cluster.run_until(lambda: _holds(observer))
    cluster.run_for(5_000)
    named = observer.executor.topic_id_fence.fetch_topic_id(int(leader.node_id))
    assert named == observer.executor.image.topics.by_name[METADATA_TOPIC_NAME]
    observers = leader.executor.machine.describe_quorum().observers
    assert [each.log_end_offset for each in observers if each.replica.node_id == observer.node_id] in ([], [-1])


@pytest.mark.parametrize("seed", range(8))
def test_a_controller_that_was_cut_off_holds_beside_two_that_were_formatted_anew(seed: int) -> None:
    """Neither log loses anything; the one that does not lead holds."""
    cluster = Cluster(3, seed=seed)
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0", "n1")
    cluster.run_for(2_000)
    away, *others = cluster.controllers
    cluster.cut = {(a.node_id, b.node_id) for a in cluster.nodes for b in cluster.nodes if away in (a, b)}
    _format_anew(cluster, others)
    cluster.run_until(lambda: any(node.executor.active_epoch is not None for node in others))
    cluster.run_for(3_000)
    committed = {node.node_id: node.executor.high_watermark for node in cluster.nodes}
    own_ids = {node.node_id: node.executor.topic_id_fence.own_ids for node in cluster.nodes}
    assert own_ids[away.node_id] != own_ids[others[0].node_id] == own_ids[others[1].node_id]
    cluster.cut = set()
    cluster.run_for(20_000)
    assert {node.node_id: node.executor.topic_id_fence.own_ids for node in cluster.nodes} == own_ids
    assert all(node.executor.machine.log_end_offset >= committed[node.node_id] for node in cluster.nodes)
    assert _has(away, "n1")
    leader = cluster.leader
    assert leader in others
    assert [node for node in cluster.nodes if _holds(node)] == [away]


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
@pytest.mark.parametrize("topics", [0, 20], ids=["shorter", "longer"])
def test_an_observer_holds_beside_its_own_quorum_as_of_an_earlier_time_until_it_is_released(
    restarted: bool, topics: int
) -> None:
    """The id is the same, and records that were committed are gone: as after a restore of an older backup.

    The other log may grow past ours in the epoch that ours ends with.
    """
    cluster, observer = _started()
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    _restart(cluster)
    cluster.create_each("lost")
    cluster.run_until(lambda: _has(observer, "lost"))
    cluster.run_for(2_000)
    end, own_id = _log_end(observer), observer.executor.image.topics.by_name[METADATA_TOPIC_NAME]
    if restarted:
        observer.crash()
    _restart(cluster, earlier)
    assert cluster.elect().executor.machine.epoch == end.epoch, "the epoch is used a second time"
    if restarted:
        observer.start()
    cluster.create_each(*(f"m{number}" for number in range(topics)), "after")
    cluster.run_for(30_000)
    hold = observer.executor.fence.held
    assert hold is not None
    assert (hold.reason, hold.own_id) == (HoldReason.BELOW_COMMITTED, own_id)
    assert _log_end(observer) == end
    assert _has(observer, "lost")
    assert _told(observer)[-1:] == [HoldReason.BELOW_COMMITTED]
    observer.crash()
    token = observer.node_id.to_bytes(16, "big")
    release(observer.files, [DATA], DATA, own_id=own_id, accepted_id=own_id, new_token=lambda: token)
    observer.start()
    cluster.run_until(lambda: _has(observer, "after"))
    assert not _has(observer, "lost")
    assert not _holds(observer)


def test_a_hold_beside_an_earlier_time_outlives_a_restart() -> None:
    """The leader has trimmed its log past ours by then, so that it cannot say what it lacks."""
    cluster = Cluster(3, seed=3, log=SMALL, snapshots=OFTEN)
    observer = cluster.add_observer()
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0")
    cluster.run_until(lambda: _has(observer, "n0"))
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    _restart(cluster)
    cluster.create_each("lost")
    cluster.run_until(lambda: _has(observer, "lost"))
    cluster.run_for(2_000)
    _restart(cluster, earlier)
    cluster.run_until(lambda: _holds(observer))
    end = _log_end(observer)
    cluster.create_each(*(f"m{number}" for number in range(30)))
    assert cluster.elect().executor.log.start_offset > end.offset
    cluster.run_for(2_000)
    observer.crash()
    observer.start()
    assert _holds(observer)
    cluster.run_for(20_000)
    assert _holds(observer)
    assert _told(observer)[-1] in (HoldReason.OTHER_LEADER, HoldReason.BELOW_COMMITTED)
    assert _log_end(observer) == end
    assert _has(observer, "lost")
    observer.crash()
    own_id, token = observer.executor.topic_id_fence.own_ids[0], observer.node_id.to_bytes(16, "big")
    release(observer.files, [DATA], DATA, own_id=own_id, accepted_id=own_id, new_token=lambda: token)
    observer.start()
    cluster.run_until(lambda: _has(observer, "m29"))
    assert not _holds(observer)


def test_what_a_received_snapshot_replaces_is_noted_before_it_does() -> None:
    cluster = Cluster(3, seed=3, log=SMALL, snapshots=OFTEN)
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    observer = cluster.add_observer()
    observer.start()
    cluster.run_for(2_000)
    observer.crash()
    cluster.create_each(*(f"n{number}" for number in range(30)))
    observer.start()
    cluster.run_until(lambda: _has(observer, "n29"))
    cluster.run_for(2_000)
    state = read_committed_state(observer.files, f"{DATA}/{METADATA_DIRECTORY}")
    assert state is not None
    installed = [event.end.offset for event in observer.events if isinstance(event, SnapshotLoaded)]
    assert state.received_end == installed[-1] > 0
    assert observer.executor.log.start_offset >= installed[-1]
    moves = [event for event in observer.events if isinstance(event, ImagePublished)]
    received = [move.after.offset_and_epoch.offset for move in moves if move.is_from_snapshot]
    assert received == installed, "nothing that the snapshot lacks counts as removed by a record"


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
def test_an_observer_holds_beside_its_own_quorum_in_a_lower_epoch(restarted: bool) -> None:
    cluster, observer = _started()
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    for _ in range(3):
        _restart(cluster)
        cluster.elect()
    cluster.create_each("lost")
    cluster.run_until(lambda: _has(observer, "lost"))
    cluster.run_for(2_000)
    end = _log_end(observer)
    if restarted:
        observer.crash()
    _restart(cluster, earlier)
    assert cluster.elect().executor.machine.epoch < end.epoch
    if restarted:
        observer.start()
    cluster.run_until(lambda: _holds(observer))
    hold = observer.executor.fence.held
    assert hold is not None
    assert hold.reason is HoldReason.LOWER_EPOCH
    assert _log_end(observer) == end


def test_an_observer_holds_beside_its_own_quorum_whose_epoch_has_another_leader_now() -> None:
    cluster, observer = _started()
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    _restart(cluster)
    former = cluster.elect()
    cluster.create_each("lost")
    cluster.run_until(lambda: _has(observer, "lost"))
    cluster.run_for(2_000)
    end = _log_end(observer)
    _restart(cluster, earlier)
    former.crash()
    leader = cluster.elect()
    assert (leader.executor.machine.epoch, leader is former) == (end.epoch, False)
    cluster.run_until(lambda: _holds(observer))
    former.start()
    cluster.run_for(20_000)
    assert _told(observer)[-1] in (HoldReason.OTHER_LEADER, HoldReason.BELOW_COMMITTED)
    assert HoldReason.OTHER_LEADER in _told(observer)
    assert _log_end(observer) == end


def test_a_controller_takes_nothing_of_another_history_in_the_same_epoch() -> None:
    cluster = Cluster(3, seed=3)
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0")
    cluster.run_for(2_000)
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    _restart(cluster)
    former = cluster.elect()
    cluster.create_each("lost")
    cluster.run_until(lambda: all(_has(node, "lost") for node in cluster.nodes))
    cluster.run_for(2_000)
    younger = next(node for node in cluster.controllers if node is not former)
    end = _log_end(younger)
    for node, files in zip(cluster.controllers, earlier, strict=True):
        node.crash()
        node.files = node.files if node is younger else files
    for node in cluster.controllers:
        if node is not younger:
            node.start()
    leader = cluster.elect()
    assert (leader, leader.executor.machine.epoch) == (former, end.epoch), "the epoch and its leader coincide"
    cluster.create_each(*(f"m{number}" for number in range(10)))
    younger.start()
    cluster.run_for(20_000)
    assert _told(younger)[-1] is HoldReason.OTHER_HISTORY
    assert _log_end(younger) == end


def test_a_released_observer_takes_the_log_that_was_accepted_alone() -> None:
    cluster, observer = _started()
    own_id = observer.executor.image.topics.by_name[METADATA_TOPIC_NAME]
    accepted_id, token = TopicId(b"\x77" * 16), observer.node_id.to_bytes(16, "big")
    observer.crash()
    release(observer.files, [DATA], DATA, own_id=own_id, accepted_id=accepted_id, new_token=lambda: token)
    observer.start()
    cluster.run_for(10_000)
    hold = observer.executor.fence.held
    assert hold is not None
    assert (hold.own_id, hold.other_id) == (accepted_id, own_id)
    assert _log_end(observer).offset == 0


def test_what_is_committed_is_kept_once_a_second_at_the_most() -> None:
    cluster, observer = _started()
    directory = f"{DATA}/{METADATA_DIRECTORY}"
    kept = read_committed_state(observer.files, directory)
    assert kept is not None
    assert kept.high_watermark == observer.executor.high_watermark
    assert kept.topic_id == observer.executor.image.topics.by_name[METADATA_TOPIC_NAME]
    cluster.create_each("a")
    cluster.run_until(lambda: read_committed_state(observer.files, directory) != kept)
    kept = read_committed_state(observer.files, directory)
    cluster.create_each("b")
    cluster.run_until(lambda: _has(observer, "b"))
    cluster.run_for(500)
    assert read_committed_state(observer.files, directory) == kept
    cluster.run_for(1_000)
    after = read_committed_state(observer.files, directory)
    assert after is not None
    assert after.high_watermark == observer.executor.high_watermark
    assert read_committed_state(cluster.controllers[0].files, directory) is None, "a voter keeps none"
