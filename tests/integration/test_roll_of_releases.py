"""A quorum of three and two agents, rolled from the previous release to the tree and back under a writer.

`LONG=1` rolls it five times. `ROLL_SEED=n` repeats the order of the nodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from metadata_log.directory.partition_metadata import read_partition_metadata
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER
from tests.support.command_json import rows_of_either
from tests.support.fresh_seed import fresh_seed
from tests.support.log_history import History, read_history
from tests.support.release_roll import run_roll
from tests.support.releases import Release, previous, tree
from tests.support.roll_run import AGENTS, CONTROLLERS, Kill, RollRun, Served

CYCLES = 5 if os.environ.get("LONG") else 1
LEAST_ACKNOWLEDGED = 200
"""With fewer the run says little."""

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300 * CYCLES)]


@pytest.fixture(scope="module", params=[GRPC_LISTENER, CONTROLLER_LISTENER])
def roll(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RollRun:
    """Controllers send requests to each other by gRPC in the first roll, by Kafka's protocol in the second."""
    seed = fresh_seed("ROLL_SEED")
    print(f"\nROLL_SEED={seed}")
    root = tmp_path_factory.mktemp("roll")
    return run_roll(root, seed, previous(), tree(), cycles=CYCLES, listener=request.param)


@pytest.fixture(scope="module")
def histories(roll: RollRun) -> list[History]:
    return [read_history(node.metadata_dir) for node in roll.cluster.nodes]


@pytest.fixture(params=["previous", "tree"])
def reader(request: pytest.FixtureRequest) -> Release:
    """Each release in turn, as the reader of directories."""
    return {"previous": previous, "tree": tree}[request.param]()


def test_each_process_ran_its_release(roll: RollRun) -> None:
    assert not set(previous().packages) & set(tree().packages)
    for start in roll.starts:
        assert start.packages == start.release.packages, start
    for node_id in (*CONTROLLERS, *AGENTS):
        ran = [start.release for start in roll.starts if start.node_id == node_id]
        changes = [release for at, release in enumerate(ran) if at == 0 or ran[at - 1] is not release]
        assert changes == [previous(), *[tree(), previous()] * CYCLES]


def test_every_write_succeeded_within_the_clients_timeout(roll: RollRun) -> None:
    print(f"acknowledged {roll.writer.acknowledged}, the slowest after {roll.writer.slowest_s:.3f} s")
    assert roll.writer.failures == []
    assert len(roll.writer.created) > LEAST_ACKNOWLEDGED * CYCLES
    assert roll.writer.deleted


def test_each_release_led_replicas_of_the_other_in_both_directions(roll: RollRun) -> None:
    names = {str(previous()), str(tree())}
    for direction in _directions():
        for leader in names:
            (other,) = names - {leader}
            for role in ("controller", "agent"):
                assert Served(direction=direction, leader=leader, role=role, replica=other) in roll.served


def test_leaders_of_both_releases_were_killed_in_a_mixed_quorum(roll: RollRun) -> None:
    both = frozenset({str(previous()), str(tree())})
    expected = {Kill(direction=direction, leader=leader, others=both) for direction in _directions() for leader in both}
    assert set(roll.kills) == expected
    assert len(roll.kills) == len(expected) * CYCLES


def test_every_acknowledged_write_is_seen_at_every_controller(roll: RollRun) -> None:
    assert roll.topics.keys() == set(CONTROLLERS)
    for topics in roll.topics.values():
        assert lost_writes(roll, topics) == []


def test_every_acknowledged_write_is_in_every_log_once(roll: RollRun, histories: list[History]) -> None:
    for history in histories:
        names = [name for _, name in history.created]
        assert len(set(names)) == len(names), "a topic was created twice"
        assert len(dict(history.created)) == len(names), "a topic id was used twice"
        assert {(topic_id, name) for name, topic_id in roll.writer.created.items()} <= set(history.created)
        assert lost_writes(roll, history.image.topics.by_name) == []


def test_a_client_of_the_old_release_reads_every_acknowledged_write(roll: RollRun) -> None:
    assert [read.direction for read in roll.reads] == [*_directions()] * CYCLES
    for read in roll.reads:
        assert read.expected
        assert read.topics.items() >= read.expected.items()


def test_each_agent_holds_the_partitions_of_the_topics(roll: RollRun) -> None:
    assert roll.held.keys() == set(AGENTS)
    assert {each.topic: each.topic_id for held in roll.held.values() for each in held} == roll.writer.present
    for node_id, held in roll.held.items():
        for each in held:
            directory = roll.cluster.agents[node_id].log_dir / each.name
            assert read_partition_metadata(OsFiles(), str(directory)) == each.topic_id


def test_each_node_stopped_well(roll: RollRun) -> None:
    assert len(roll.statuses) == 5 + 2 * 5 * CYCLES
    assert [each for each in roll.statuses if each[1] != 0] == []
    for node in roll.cluster.nodes:
        assert "Traceback" not in node.log_file.read_text()


def test_both_releases_find_nothing_wrong(roll: RollRun, reader: Release) -> None:
    assert findings_of(reader, "check", roll.log_dirs) == []
    assert findings_of(reader, "log verify", roll.log_dirs) == []


def test_the_logs_are_equal(roll: RollRun, reader: Release) -> None:
    done = reader.run("log", "diff", *map(str, roll.log_dirs), "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert len(report["replicas"]) == 5
    assert (report["partings"], report["findings"]) == ([], [])


def test_both_releases_read_what_the_tree_left(roll: RollRun, reader: Release) -> None:
    """Each node's directory as the tree left it, before the previous release was started on it."""
    assert roll.kept.keys() == {*CONTROLLERS, *AGENTS}
    for kept in roll.kept.values():
        assert findings_of(reader, "check", [kept]) == []
        assert findings_of(reader, "log verify", [kept]) == []


def test_a_lost_write_would_be_seen(roll: RollRun, histories: list[History], tmp_path: Path) -> None:
    """A log without its last acknowledged creation fails the comparison."""
    history = histories[0]
    present = history.created_at.keys() & set(roll.writer.present.values())
    last = max(present, key=lambda topic_id: history.created_at[topic_id])
    cut = max(end for end in history.ends if end <= history.created_at[last])
    (tmp_path / "00000000000000000000.log").write_bytes(history.prefix(cut))
    topics = read_history(tmp_path).image.topics.by_name
    assert dict(history.created)[last] in lost_writes(roll, topics)


def _directions() -> Iterator[str]:
    yield f"{previous()} to {tree()}"
    yield f"{tree()} to {previous()}"


def lost_writes(roll: RollRun, topics: Mapping[str, TopicId]) -> list[str]:
    """Return the names for which `topics` contradicts the acknowledged writes."""
    here = {name: topic_id for name, topic_id in topics.items() if name != METADATA_TOPIC_NAME}
    return sorted({name for name, _ in here.items() ^ roll.writer.present.items()})


def findings_of(release: Release, command: str, paths: list[Path]) -> list[object]:
    """Return the findings of a command of `release` that reads `paths`, which ends with status 0."""
    done = release.run(*command.split(), *map(str, paths), "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    return rows_of_either(done.stdout, "findings")
