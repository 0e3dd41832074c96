"""SIGKILL of the leader at random moments under a write load, twenty times: what the replicas' own files say after it.

Real processes, and other faults in between: followers killed, both of them at once, the leader paused and resumed.
"""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, NodeId, ReplicaKey
from metadata_log.tools.read.contents import read_contents
from metadata_log.tools.replicas.committed_bounds import CommittedBounds, ReplicaExtent, committed_bounds
from tests.support.kill_run import LEADER_KILLS, KillRun
from tests.support.log_history import History, read_history

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

LEAST_ACKNOWLEDGED = 500
"""With fewer the run says little."""


@pytest.fixture(scope="module")
def histories(kill_run: KillRun) -> list[History]:
    return [read_history(directory) for directory in kill_run.directories]


@pytest.fixture(scope="module")
def bounds(kill_run: KillRun) -> CommittedBounds:
    extents = []
    for node in kill_run.cluster.controllers.values():
        contents = read_contents(OsFiles(), str(node.metadata_dir))
        key = ReplicaKey(node_id=NodeId(node.node_id), directory_id=kill_run.cluster.directory_ids[node.node_id])
        extents.append(ReplicaExtent(key=key, epochs=contents.epochs, log_end_offset=contents.end_offset))
    assert contents.voters is not None
    return committed_bounds(extents, contents.voters)


def test_the_run_was_what_it_says(kill_run: KillRun) -> None:
    counted = Counter(kill_run.faults)
    assert counted["leader"] == LEADER_KILLS
    assert min(counted["follower"], counted["both followers"], counted["pause"]) > 0
    assert len(kill_run.ledger) >= LEAST_ACKNOWLEDGED
    assert len(kill_run.ledger.created) > len(kill_run.ledger.deleted) > 0
    print(f"acknowledged {len(kill_run.ledger)}, unknown {len(kill_run.ledger.unknown)}")
    print(f"median without a leader {statistics.median(kill_run.leaderless_s):.3f} s")


def test_every_acknowledged_create_is_in_every_log_once(kill_run: KillRun, histories: list[History]) -> None:
    for history in histories:
        names = dict(history.created)
        assert len(names) == len(history.created), "a topic id twice"
        assert names.items() >= kill_run.ledger.created.items()
        for name, topic_id in kill_run.ledger.present.items():
            assert history.image.topics.by_name[name] == topic_id


def test_every_acknowledged_delete_is_in_every_log(kill_run: KillRun, histories: list[History]) -> None:
    for history in histories:
        assert len(set(history.removed)) == len(history.removed)
        assert set(history.removed) >= kill_run.ledger.deleted
        assert not kill_run.ledger.deleted & set(history.image.topics.by_id)
        assert not kill_run.ledger.absent & set(history.image.topics.by_name)


def test_what_the_client_called_not_done_was_not_done(kill_run: KillRun, histories: list[History]) -> None:
    for history in histories:
        assert not kill_run.ledger.never & {name for _, name in history.created}


def test_nothing_is_in_the_logs_that_nobody_asked_for(kill_run: KillRun, histories: list[History]) -> None:
    for history in histories:
        for topic_id, name in history.created:
            asked = topic_id in kill_run.ledger.created or name in kill_run.ledger.unknown
            assert asked or name == "__cluster_metadata", (name, history.directory)


def test_no_topic_id_means_two_things_anywhere(histories: list[History]) -> None:
    names: dict[bytes, str] = {}
    for history in histories:
        for topic_id, name in history.created:
            assert names.setdefault(topic_id, name) == name
    assert METADATA_TOPIC_ID not in names
    assert list(names.values()).count("__cluster_metadata") == 1


def test_each_epoch_had_one_leader(kill_run: KillRun, histories: list[History]) -> None:
    leaders: dict[int, int] = {}
    for history in histories:
        assert [epoch for epoch, _ in history.leaders] == [epoch for epoch, _ in history.epochs]
        for epoch, leader_id in [*history.leaders, *kill_run.led_epochs()]:
            assert leaders.setdefault(epoch, leader_id) == leader_id
    led = [epoch for epoch, _ in kill_run.led_epochs()]
    assert len(set(led)) == len(led), "an epoch was led twice"
    assert len(leaders) > LEADER_KILLS


def test_the_logs_are_equal_as_far_as_they_are_committed(histories: list[History], bounds: CommittedBounds) -> None:
    holders = [history for history in histories if history.log_end_offset >= bounds.lower]
    assert len(holders) >= 2
    assert len({history.prefix(bounds.lower) for history in holders}) == 1
    for history in histories:
        shared = min(history.log_end_offset, bounds.lower)
        assert history.prefix(shared) == holders[0].prefix(shared)


def test_what_was_acknowledged_is_committed(
    kill_run: KillRun, histories: list[History], bounds: CommittedBounds
) -> None:
    promised = set(kill_run.ledger.created)
    for history in histories:
        committed = {topic_id for topic_id, offset in history.created_at.items() if offset < bounds.lower}
        assert promised <= committed


def test_quorum_state_agrees_with_the_logs(kill_run: KillRun, histories: list[History]) -> None:
    leaders = {epoch: leader for history in histories for epoch, leader in history.leaders}
    keys = {(node, directory_id) for node, directory_id in kill_run.cluster.directory_ids.items()}
    for history in histories:
        state = history.quorum_state
        assert state.leader_epoch >= max(epoch for epoch, _ in history.epochs)
        if state.leader_id >= 0:
            assert leaders.get(state.leader_epoch, state.leader_id) == state.leader_id
        if state.voted_key is not None:
            assert state.voted_key.directory_id != ZERO_DIRECTORY_ID
            assert (state.voted_key.node_id, state.voted_key.directory_id) in keys


def test_each_stopped_well_and_said_little(kill_run: KillRun) -> None:
    assert set(kill_run.statuses.values()) == {0}
    for node in kill_run.cluster.controllers.values():
        lines = node.log_file.read_text().splitlines()
        assert not [line for line in lines if "Traceback" in line or "Error" in line]
        # A line for each accepted change is the load's doing, and bounded by itself.
        assert len([line for line in lines if "] change" not in line]) < 40 * len(kill_run.faults)


def test_a_lost_record_would_be_seen(kill_run: KillRun, tmp_path: Path) -> None:
    """The proof has teeth: without its last acknowledged creation, a copy of a log fails it."""
    source = kill_run.directories[0]
    history = read_history(source)
    last = max(kill_run.ledger.created, key=lambda topic_id: history.created_at[topic_id])
    cut = max(end for end in history.ends if end <= history.created_at[last])
    (tmp_path / "00000000000000000000.log").write_bytes(history.prefix(cut))
    assert last not in dict(read_history(tmp_path).created)
