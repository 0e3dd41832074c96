"""Whole controllers that take snapshots, trim their logs, fall behind and install, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.format.batch import batch_values
from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage
from metadata_log.image.replayer import Replayer
from metadata_log.offsets import Offset
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name
from metadata_log.storage.file_log import LogConfig
from metadata_log.storage.loaded_checkpoint import load_snapshot
from quorum.api.calls import ClientAnswer, PeerCall
from quorum.api.voter_messages import RemoveRaftVoterRequest
from quorum.node.core.checkpoint_jobs import SnapshotDamaged, SnapshotGenerated, SnapshotLoaded
from quorum.node.core.ports import DiskJob, PeerRequested, RequestRejected, StateWrite
from quorum.node.core.published import MOST_LAG
from quorum.node.core.retention import SnapshotConfig
from tests.support.fresh_seed import fresh_seed
from tests.support.node_cluster import Cluster
from tests.support.node_ports import SimulatedDisk
from tests.support.node_requests import DATA
from tests.support.simulated_node import Node

DIRECTORY = f"{DATA}/{METADATA_DIRECTORY}"
SMALL = LogConfig(segment_bytes=1000, cache_bytes=600)
OFTEN = SnapshotConfig(max_new_record_bytes=800, retention_bytes=1, settle_ms=0)


def _cluster(seed: int = 1, *, snapshots: SnapshotConfig = OFTEN) -> Cluster:
    cluster = Cluster(3, seed=seed, log=SMALL, snapshots=snapshots)
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    return cluster


def _create(cluster: Cluster, *names: str) -> None:
    for name in names:
        answers: list[ClientAnswer] = cluster.create(cluster.elect(), name)
        cluster.run_until(lambda: bool(answers))  # noqa: B023 - run before the next is made


def _settle(cluster: Cluster) -> None:
    leader = cluster.elect()
    cluster.run_until(
        lambda: all(
            node.executor.image.offset_and_epoch.offset == leader.executor.machine.log_end_offset
            for node in cluster.nodes
            if node.is_up
        )
    )


def _taken(node: Node) -> list[SnapshotGenerated]:
    return [event for event in node.events if isinstance(event, SnapshotGenerated)]


def _loaded(node: Node) -> list[SnapshotLoaded]:
    return [event for event in node.events if isinstance(event, SnapshotLoaded)]


def _is_quiet(cluster: Cluster) -> bool:
    return all(node.executor.log.start_offset > 0 for node in cluster.nodes if node.is_up)


def test_every_replica_takes_snapshots_by_bytes_and_lets_the_log_before_them_go() -> None:
    cluster = _cluster()
    _create(cluster, *(f"topic-{n}" for n in range(40)))
    _settle(cluster)
    cluster.run_until(lambda: _is_quiet(cluster))
    for node in cluster.nodes:
        assert len(_taken(node)) > 2
        (end,) = checkpoint_ends(node.files, DIRECTORY)
        assert node.executor.log.start_offset == end.offset
        assert min(name for name in node.files.listdir(DIRECTORY) if name.endswith(".log")) > f"{1:020d}.log"
        loaded = load_snapshot(node.files, f"{DIRECTORY}/{checkpoint_name(end)}", end)
        assert {key.node_id for key in loaded.voters.keys} == {1, 2, 3} if loaded.voters else False
        assert loaded.kraft_version == 1
        assert loaded.held.last_contained_ms == loaded.image.last_contained_timestamp_ms
    cluster.check()


def test_a_snapshot_is_what_the_log_says_at_its_end() -> None:
    config = SnapshotConfig(max_new_record_bytes=500, retention_bytes=-1, retention_ms=-1, settle_ms=0)
    cluster = _cluster(snapshots=config)
    _create(cluster, *(f"topic-{n}" for n in range(12)))
    _settle(cluster)
    for node in cluster.nodes:
        assert len(_taken(node)) > 2
        ends, replayer = {taken.end for taken in _taken(node)}, Replayer.start(MetadataImage.empty())
        for header, batch in node.executor.log.iter_from(Offset(0)):
            replayer = replayer.on_batch(header, [] if header.is_control else batch_values(batch, header))
            end = replayer.image.offset_and_epoch
            if end in ends:
                ends.discard(end)
                loaded = load_snapshot(node.files, f"{DIRECTORY}/{checkpoint_name(end)}", end)
                assert loaded.image == replayer.image
        assert not ends


def test_a_large_image_is_written_no_more_often_than_as_much_is_new() -> None:
    """The log grows by less than the newest snapshot has between two of them only where a number was given."""

    def least_between(*, or_as_the_newest: bool) -> float:
        config = SnapshotConfig(
            max_new_record_bytes=500, or_as_the_newest=or_as_the_newest, retention_bytes=-1, retention_ms=-1
        )
        cluster = _cluster(snapshots=config)
        for n in range(60):
            _create(cluster, f"topic-{n}")
        _settle(cluster)
        node = cluster.nodes[0]
        held, log = node.executor.snapshots.held, node.executor.log
        assert len(held) > 3
        return min(
            (log.size_from(old.end.offset) - log.size_from(new.end.offset)) / old.size for old, new in pairwise(held)
        )

    assert least_between(or_as_the_newest=True) >= 1.0
    assert least_between(or_as_the_newest=False) < 0.5


def test_a_node_that_has_just_started_takes_none_for_a_while() -> None:
    """A node that has just started takes no snapshot for `settle_ms`, even with more than 2,000 new bytes."""
    cluster = _cluster(snapshots=SnapshotConfig(max_new_record_bytes=1 << 40, max_interval_ms=0, settle_ms=0))
    _create(cluster, *(f"topic-{n}" for n in range(20)))
    _settle(cluster)
    cluster.snapshots = SnapshotConfig(max_new_record_bytes=2_000, max_interval_ms=0, settle_ms=5_000)
    for node in cluster.nodes:
        node.crash()
    cluster.start()
    _settle(cluster)
    cluster.run_for(4_000)
    assert all(node.executor.log.size_in_bytes > 2_000 for node in cluster.nodes)
    assert not any(_taken(node) for node in cluster.nodes)
    cluster.run_for(2_000)
    assert all(len(_taken(node)) == 1 for node in cluster.nodes)


def test_a_snapshot_is_taken_by_time_once_there_is_anything_new() -> None:
    cluster = _cluster(snapshots=SnapshotConfig(max_new_record_bytes=1 << 40, max_interval_ms=20_000))
    _settle(cluster)
    cluster.run_for(19_000)
    assert not any(_taken(node) for node in cluster.nodes)
    cluster.run_for(3_000)
    assert all(len(_taken(node)) == 1 for node in cluster.nodes)
    end = cluster.elect().executor.machine.log_end_offset
    cluster.run_for(60_000)
    assert cluster.elect().executor.machine.log_end_offset == end
    assert all(len(_taken(node)) == 1 for node in cluster.nodes)


@pytest.mark.parametrize("is_wiped", [False, True])
def test_a_follower_behind_the_log_start_installs_the_snapshot(is_wiped: bool) -> None:
    cluster = _cluster(seed=3)
    _settle(cluster)
    leader = cluster.elect()
    behind = next(node for node in cluster.nodes if node is not leader)
    behind.crash()
    if is_wiped:
        cluster.format(behind)
    _create(cluster, *(f"topic-{n}" for n in range(40)))
    assert leader.executor.log.start_offset > 10
    behind.start()
    cluster.run_until(lambda: bool(_loaded(behind)))
    _settle(cluster)
    assert behind.executor.image == leader.executor.image
    _create(cluster, "afterwards")
    _settle(cluster)
    assert "afterwards" in behind.executor.image.topics.by_name
    behind.crash()
    behind.start()
    _settle(cluster)
    assert behind.executor.image == leader.executor.image
    assert sorted(behind.executor.machine.voters.node_ids) == [1, 2, 3]
    cluster.check()


def test_what_was_installed_elects_and_leads() -> None:
    cluster = _cluster(seed=5)
    leader = cluster.elect()
    behind = next(node for node in cluster.nodes if node is not leader)
    behind.crash()
    _create(cluster, *(f"topic-{n}" for n in range(40)))
    behind.start()
    cluster.run_until(lambda: bool(_loaded(behind)))
    _settle(cluster)
    third = next(node for node in cluster.nodes if node not in (leader, behind))
    third.stop()
    cluster.run_until(lambda: not third.is_up)
    leader.stop()
    cluster.run_until(lambda: not leader.is_up)
    third.start()
    _create(cluster, "led")
    assert "topic-3" in cluster.elect().executor.image.topics.by_name
    assert NodeId(behind.node_id) in {node.node_id for node in cluster.nodes if node.is_up}
    cluster.check()


def _behind_scenario(crash_at: int | None, seed: int = 7) -> Cluster:
    """One falls behind, the others trim, it installs; a crash before any effect, everything restarts."""
    cluster = _cluster(seed=seed)
    behind = next(node for node in cluster.nodes if node is not cluster.elect())
    behind.crash()
    _create(cluster, *(f"topic-{n}" for n in range(12)))
    cluster.restart_after_ms = 100
    cluster.effects = 0
    cluster.crash_at = crash_at
    behind.start()
    cluster.run_for(1_500)
    cluster.crash_at = None
    cluster.run_until(lambda: all(node.is_up for node in cluster.nodes))
    _settle(cluster)
    _create(cluster, "last")
    _settle(cluster)
    return cluster


def test_a_crash_at_any_moment_of_an_installation_does_no_harm() -> None:
    calm = _behind_scenario(None)
    assert any(_loaded(node) for node in calm.nodes)
    for crash_at in range(1 + int(fresh_seed("NODE_SNAPSHOT", 6)), min(calm.effects, 80), 6):
        cluster = _behind_scenario(crash_at)
        leader = cluster.elect()
        for node in cluster.nodes:
            assert node.executor.image == leader.executor.image, crash_at
        assert {f"topic-{n}" for n in range(12)} <= set(leader.executor.image.topics.by_name)
        cluster.check()


def _one_behind(seed: int) -> tuple[Cluster, Node, Node]:
    """One is down while the others trim what it lacks; the leader, and the one that is down."""
    cluster = _cluster(seed=seed)
    _settle(cluster)
    leader = cluster.elect()
    behind = next(node for node in cluster.nodes if node is not leader)
    behind.crash()
    _create(cluster, *(f"topic-{n}" for n in range(40)))
    _settle(cluster)
    cluster.run_until(lambda: _is_quiet(cluster))
    return cluster, leader, behind


def _rot(node: Node, share: float) -> str:
    (end,) = checkpoint_ends(node.files, DIRECTORY)
    path = f"{DIRECTORY}/{checkpoint_name(end)}"
    node.files.rot(path, int(share * (len(node.files.content(path)) - 1)), 0x10)
    return str(end)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_a_rotten_snapshot_is_served_to_nobody_and_another_is_taken(share: float) -> None:
    cluster, leader, behind = _one_behind(seed=11)
    end, taken = _rot(leader, share), len(_taken(leader))
    behind.start()
    cluster.run_until(lambda: bool(_loaded(behind)))
    (told,) = (event for event in leader.events if isinstance(event, SnapshotDamaged))
    assert str(told.end) == end
    assert checkpoint_name(told.end) in told.why
    assert len(_taken(leader)) > taken, "what is published in memory takes its place"
    refusals = [event.why for event in behind.events if isinstance(event, RequestRejected)]
    assert not any("is not sound" in why for why in refusals), "the follower was given nothing of it"
    _settle(cluster)
    assert behind.executor.image == leader.executor.image
    leader.crash()
    leader.start()
    _settle(cluster)
    assert leader.executor.image == behind.executor.image, "it starts from the snapshot that replaced the corrupt one"
    cluster.check()


class _StopsAtRemoval(SimulatedDisk):
    """Does nothing any more once it is to keep that this node's vote was taken from it."""

    is_stopped = False

    def write(self, jobs: Sequence[DiskJob]) -> None:
        self.is_stopped |= any(isinstance(job, StateWrite) and job.state.was_removed for job in jobs)
        if not self.is_stopped:
            super().write(jobs)


def test_no_snapshot_stands_for_a_removal_before_quorum_state_says_it() -> None:
    """However far replay has come meanwhile: it does not wait for the disk where ten thousand records lie ahead."""
    config = SnapshotConfig(max_new_record_bytes=1 << 30, max_interval_ms=2_000)
    cluster = Cluster(3, seed=1, disk=_StopsAtRemoval, snapshots=config)
    cluster.start()
    leader = cluster.elect()
    cluster.add_broker()
    cluster.run_for(3_000)
    victim = next(node for node in cluster.nodes if node is not leader)
    ids, own = {node.node_id for node in cluster.nodes}, victim.node_id
    cluster.cut |= {(own, other) for other in ids} | {(other, own) for other in ids}
    call = PeerCall(request=RemoveRaftVoterRequest(voter=victim.voter.key), cluster_id=None)
    leader.turn([PeerRequested(request_id=990_001, call=call, respond=lambda _: None)])
    cluster.run_for(50)
    assert leader.executor.machine.voters_offset > victim.executor.machine.voters_offset
    for number in range(MOST_LAG // 2 + 500):
        cluster.create(leader, f"t{number}")
    cluster.run_for(8_000)
    cluster.cut.clear()
    removal = leader.executor.machine.voters_offset
    cluster.run_until(lambda: victim.executor.image.offset_and_epoch.offset > removal)
    for _ in range(3_000):
        cluster.run_for(5)
        victim.turn([])
    assert max(held.end.offset for held in leader.executor.snapshots.held) > removal
    assert all(held.end.offset <= removal for held in victim.executor.snapshots.held)
