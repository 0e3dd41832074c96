"""One quorum of Java controllers (Kafka 4.4 and 4.3) and our own: each leads, each is killed, all logs are equal.

The test prints (`-s`) the seconds between a kill -9 and the moment when all others follow the next leader. If a Java
controller takes part, they include its fetch timeout of 2 s (docs/mixed-quorum.md).
"""

from __future__ import annotations

import bisect
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.storage.checkpoint import checkpoint_ends
from metadata_log.tools.replicas.hashes import hash_logs
from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.jars import NEWEST, PREVIOUS, RELEASES
from tests.support.kafka.mixed import MixedQuorum
from tests.support.kafka.tools import KafkaTools, ToolFailedError

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

BROKER = 11


def _check_equal(quorum: MixedQuorum, committed: int) -> None:
    """Byte-equal logs as far as every one reaches, past what was committed; equal images there."""
    nodes = [node_id for node_id in (*quorum.kafka.nodes, *quorum.ours) if node_id < BROKER]
    logs = {
        node_id: b"".join(
            file.read_bytes() for file in sorted((quorum.log_dir(node_id) / "__cluster_metadata-0").glob("*.log"))
        )
        for node_id in nodes
    }
    shortest = min(map(len, logs.values()))
    first = logs[nodes[0]][:shortest]
    assert all(log[:shortest] == first for log in logs.values()), {node: len(log) for node, log in logs.items()}
    lines = hash_logs([quorum.log_dir(node_id) for node_id in nodes], None)
    assert [line.problem for line in lines] == [None] * len(nodes)
    assert len({line.hash for line in lines}) == 1
    assert lines[0].end_offset >= committed


def _check_caught_up(quorum: MixedQuorum, node_id: int) -> None:
    """It follows and has all that is committed now."""
    committed = quorum.committed()
    wait_until(f"node {node_id} to have {committed}", lambda: quorum.replicas()[node_id][0] >= committed)


_TRIES = 5
"""Times that a leader is left alone before it counts as one that writes nothing."""


@pytest.fixture
def two_of_kafka(tmp_path: Path, kafka_tools: KafkaTools, previous_kafka_tools: KafkaTools) -> Iterator[MixedQuorum]:
    """Yield two Java controllers of two releases, 4.4 and 4.3, and one of our own."""
    # Our leader resigns after 1.5 times this timeout without fetches: see `_leave_a_tail`.
    # A NoOp that the frozen voters cannot commit would hold up the topic that is requested then.
    patient = {"controller.quorum.fetch.timeout.ms": "10000", "metadata.max.idle.interval.ms": "0"}
    with MixedQuorum(
        tmp_path,
        kafka_tools,
        java=(1, 2),
        ours=(3,),
        brokers=(BROKER,),
        properties=patient,
        others={2: previous_kafka_tools},
    ) as quorum:
        quorum.format(release="4.2-IV1")
        quorum.start(1, 2, 3)
        quorum.start(BROKER)
        yield quorum


@pytest.fixture
def two_of_ours(tmp_path: Path, kafka_tools: KafkaTools) -> Iterator[MixedQuorum]:
    with MixedQuorum(tmp_path, kafka_tools, java=(1,), ours=(2, 3), brokers=(BROKER,)) as quorum:
        quorum.format()
        quorum.start(1, 2, 3)
        quorum.start(BROKER)
        yield quorum


def test_two_java_controllers_and_one_of_ours(two_of_kafka: MixedQuorum) -> None:
    quorum = two_of_kafka
    assert quorum.let_ours_lead() == 3
    quorum.create("under-ours")
    assert {node: role for node, (_, role) in quorum.replicas().items()} == {
        1: "Follower",
        2: "Follower",
        3: "Leader",
        BROKER: "Observer",
    }
    print(f"\n2 Java + 1 ours: ours killed, {quorum.timed_kill(3):.2f} s")
    java = quorum.leader()
    assert java in (1, 2)
    quorum.create("under-java")
    quorum.start(3)
    _check_caught_up(quorum, 3)
    _ask_under_java(quorum, java)
    other = 3 - java
    assert [at.partition(":")[0] for at in quorum.voters()[3]] == ["CONTROLLER", "GRPC"], "told to the Java leader"
    print(f"2 Java + 1 ours: the Java leader killed, {quorum.timed_kill(java):.2f} s")
    assert quorum.leader() in (other, 3), "with the vote of our controller"
    quorum.create("under-the-next")
    quorum.start(java)
    assert quorum.let_ours_lead() == 3
    quorum.create("under-ours-again")
    _check_refused(quorum)
    _hand_over(quorum, java)
    quorum.create("handed-over")
    assert quorum.let_ours_lead() == 3
    _leave_a_tail(quorum, 3)
    quorum.start(3)
    _check_caught_up(quorum, 3)
    wanted = {"under-ours", "under-java", "under-the-next", "under-ours-again", "handed-over"}
    topics = quorum.kafka.topics()
    assert topics >= wanted
    assert "never-committed" not in topics, "our tail was cut as the Java leader said"
    _finish(quorum)


def _check_refused(quorum: MixedQuorum) -> None:
    """Ours leads, and does not let the level rise above what the voter of the older release knows."""
    at = ("--bootstrap-controller", quorum.running_addresses)
    level = RELEASES[NEWEST].level
    with pytest.raises(ToolFailedError, match=rf"[Cc]ontroller 2 only supports .* \({RELEASES[PREVIOUS].level}\)"):
        quorum.tools.run("features", *at, "upgrade", "--feature", f"metadata.version={level}")


def _hand_over(quorum: MixedQuorum, java: int) -> None:
    """Transfer leadership from our controller to a Java one. The others wait one second for it; then try again."""
    for _ in range(_TRIES):
        status, _, err = quorum.kraft("quorum", "transfer", "--to", str(java))
        if status == 0:
            assert quorum.leader() == java
            return
        assert "was elected" in err or "no new leader is known yet" in err
        assert quorum.let_ours_lead() == 3
    pytest.fail(f"in {_TRIES} tries another one was elected")


def _leave_a_tail(quorum: MixedQuorum, leader: int) -> None:
    """Kill the leader while only it has its last records; the others elect another leader."""
    others = [each for each in quorum.controllers_running() if each != leader]
    if leader in quorum.ours:
        for _ in range(_TRIES):
            if _appends_alone(quorum, leader, others):
                break
            quorum.signal(signal.SIGCONT, *others)
            assert quorum.let_ours_lead() == leader
        else:
            pytest.fail(f"a leader alone wrote nothing in {_TRIES} tries")
    else:
        for number in range(_TRIES):
            if _writes_alone(quorum, leader, others):
                break
            quorum.signal(signal.SIGCONT, *others)
            _let_java_lead(quorum, f"known-to-java-alone-{number}")
        else:
            pytest.fail(f"a Java leader alone wrote nothing in {_TRIES} tries")
    quorum.node(leader).kill()
    quorum.signal(signal.SIGCONT, *others)
    quorum.leader(other_than=leader)


def _appends_alone(quorum: MixedQuorum, leader: int, others: list[int]) -> bool:
    """Return True if our leader wrote a request that came while the others were frozen.

    On a slow machine, it may have noticed before that no follower is left, and then writes nothing.
    """
    # An elected leader may still wait for its first records to commit.
    wait_until("an active controller", lambda: quorum.kraft("topics", "list")[0] == 0, timeout_s=60)
    quorum.signal(signal.SIGSTOP, *others)
    # A parked Fetch would take the leader's append to the others.
    wait_until("their Fetches to be answered", lambda: quorum.silence_ms(leader) > 600)
    before = quorum.log_bytes(leader)
    assert quorum.kraft("topics", "create", "--topic", "never-committed", "--timeout", "2")[0] != 0
    return quorum.log_bytes(leader) > before


def _writes_alone(quorum: MixedQuorum, leader: int, others: list[int]) -> bool:
    """Return True if a Java leader wrote two NoOps, one every half second, while the others were frozen.

    The second one meets no parked Fetch. False if the leader resigned before, 3 s after the last Fetch.
    """
    quorum.signal(signal.SIGSTOP, *others)
    for _ in range(2):
        before = quorum.log_bytes(leader)
        try:
            wait_until("another record", lambda length=before: quorum.log_bytes(leader) > length, timeout_s=6)
        except TimeoutError:
            return False
    return True


def _ask_under_java(quorum: MixedQuorum, java: int) -> None:
    """Ask for what needs ours under a Java leader: it upgrades features only if all have registered for them."""
    wait_until("node 3 to be registered again", lambda: _upgraded(quorum), timeout_s=60, every_s=0.5)
    assert "metadata.version" in quorum.kafka.admin("features", "describe")
    status, out, err = quorum.kraft("quorum", "describe")
    assert status == 0, err
    assert f"{java}" in out
    status, _, err = quorum.kraft("topics", "create", "--topic", "by-grpc", "--timeout", "15")
    assert status != 0
    assert f"node {java} leads, at CONTROLLER://" in err


def _upgraded(quorum: MixedQuorum) -> bool:
    """Ask for the level of 4.3; whether it is final. A controller that was killed must have registered again before."""
    at = ("--bootstrap-server", quorum.kafka.nodes[BROKER].address)
    quorum.tools.run("features", *at, "upgrade", "--release-version", "4.3-IV0", check=False)
    lines = quorum.tools.run("features", *at, "describe").splitlines()
    (line,) = (line for line in lines if line.startswith("Feature: metadata.version"))
    return "FinalizedVersionLevel: 4.3-IV0" in line


def test_one_java_controller_and_two_of_ours(two_of_ours: MixedQuorum) -> None:
    quorum = two_of_ours
    quorum.let_ours_lead()
    quorum.create("under-ours")
    leader = _let_java_lead(quorum, "known-to-java", start_all=False)
    quorum.create("under-java")
    quorum.start(leader)
    _check_caught_up(quorum, leader)
    _leave_a_tail(quorum, 1)
    assert quorum.leader() in (2, 3)
    quorum.start(1)
    _check_caught_up(quorum, 1)
    assert "Truncated to offset" in quorum.kafka.nodes[1].said(), "as our leader said"
    _let_java_lead(quorum)
    print(f"\n1 Java + 2 ours: the Java leader killed, {quorum.timed_kill(1):.2f} s")
    leader = quorum.leader()
    assert leader in (2, 3)
    quorum.create("under-ours-again")
    quorum.start(1)
    _check_caught_up(quorum, 1)
    print(f"1 Java + 2 ours: our leader killed, {quorum.timed_kill(leader):.2f} s")
    quorum.create("under-the-next")
    quorum.start(leader)
    _check_caught_up(quorum, leader)
    wanted = {"under-ours", "known-to-java", "under-java", "under-ours-again", "under-the-next"}
    assert quorum.kafka.topics() >= wanted
    _finish(quorum)


def _let_java_lead(quorum: MixedQuorum, topic: str = "known-to-java-2", *, start_all: bool = True) -> int:
    """Let the Java controller lead; return the leader before it, which is started again if `start_all`."""
    leader = quorum.let_java_lead(topic)
    if start_all:
        quorum.start(leader)
        _check_caught_up(quorum, leader)
    return leader


def _finish(quorum: MixedQuorum) -> None:
    committed = quorum.committed()
    for node_id in quorum.controllers_running():
        _check_caught_up(quorum, node_id)
    for node in quorum.kafka.controllers:
        assert "Encountered fatal fault" not in node.said()
        assert "InvalidReceive" not in node.said(), "no node sends it gRPC"
    quorum.stop()
    _check_equal(quorum, committed)


def test_controllers_of_both_kinds_are_added_and_removed_under_leaders_of_both(
    tmp_path: Path, kafka_tools: KafkaTools
) -> None:
    """Kafka's own tool adds ours under a Java leader (one joins by itself), a Java controller under ours."""
    with MixedQuorum(tmp_path, kafka_tools, java=(1, 4), ours=(2, 3), joining=(2, 3, 4), brokers=()) as quorum:
        quorum.ours[3].properties["controller.quorum.auto.join.enable"] = "true"
        quorum.format()
        quorum.start(1)
        quorum.start(2, 3)
        wait_until("node 2 to observe", lambda: quorum.replicas().get(2, (0, ""))[1] == "Observer")
        quorum.change("add-controller", command_config=quorum.ours[2].config_file)
        wait_until("node 3 to join by itself", lambda: 3 in quorum.voters(), timeout_s=60, every_s=0.2)
        assert sorted(quorum.voters()) == [1, 2, 3]
        assert quorum.let_ours_lead() in (2, 3)
        quorum.start(4)
        quorum.change("add-controller", command_config=quorum.kafka.nodes[4].properties)
        assert sorted(quorum.voters()) == [1, 2, 3, 4]
        quorum.change("remove-controller", *quorum.named(1))
        assert sorted(quorum.voters()) == [2, 3, 4]
        quorum.node(1).kill()
        leader = quorum.let_ours_lead()
        quorum.change("remove-controller", *quorum.named(leader))
        quorum.node(leader).kill()
        remaining = 5 - leader
        quorum.leader(other_than=leader)
        assert sorted(quorum.voters()) == sorted([remaining, 4])
        committed = quorum.committed()
        for node_id in (remaining, 4):
            _check_caught_up(quorum, node_id)
        assert "InvalidReceive" not in quorum.kafka.nodes[4].said()
        quorum.stop()
        nodes = [quorum.log_dir(node_id) for node_id in (remaining, 4)]
        lines = hash_logs(nodes, None)
        assert len({line.hash for line in lines}) == 1
        assert lines[0].end_offset >= committed


@pytest.mark.parametrize("kind", ["java", "ours"])
def test_static_voters_of_both_kinds_move_into_the_log(tmp_path: Path, kafka_tools: KafkaTools, kind: str) -> None:
    """At kraft.version 0 every voter reports its listeners to each new leader, which writes them."""
    with MixedQuorum(tmp_path, kafka_tools, java=(1, 2), ours=(3,), brokers=(), static_voters=True) as quorum:
        quorum.format()
        quorum.start(1, 2, 3)
        if kind == "ours":
            assert quorum.let_ours_lead() == 3
            wait_until("both to follow ours", lambda: {quorum.replicas()[each][1] for each in (1, 2)} == {"Follower"})
        elif quorum.leader() == 3:
            quorum.timed_kill(3)
            quorum.start(3)
        leader = quorum.leader()
        assert (leader == 3) is (kind == "ours")
        # Refused until every voter has told the leader: a Java one does when its update period of 3 s is over.
        wait_until("the voters to be in the log", lambda: _moved_into_the_log(quorum), timeout_s=60, every_s=0.5)
        wait_until(
            "ours to be known with both listeners",
            lambda: [at.partition(":")[0] for at in quorum.voters()[3]] == ["CONTROLLER", "GRPC"],
            timeout_s=30,
        )
        assert quorum.leader() == leader
        _finish(quorum)


_NOT_YET_SENT = (
    "not all of the voters support it",
    "sent this leader no directory",
    "has not registered",
    "irect-to-controller communication is not supported",  # a Java controller that has not loaded the log yet
)


def _moved_into_the_log(quorum: MixedQuorum) -> bool:
    words = ("--bootstrap-controller", quorum.running_addresses, "upgrade", "--feature", "kraft.version=1")
    try:
        quorum.tools.run("features", *words)
    except ToolFailedError as error:
        if not any(why in str(error) for why in _NOT_YET_SENT):
            raise
        return False
    return True


def test_ours_joins_by_the_snapshot_of_a_java_leader(tmp_path: Path, kafka_tools: KafkaTools) -> None:
    often = {
        "metadata.log.max.record.bytes.between.snapshots": "1000",
        "internal.metadata.log.segment.bytes": "1000",
        "metadata.max.idle.interval.ms": "20",
    }
    joins = {"controller.quorum.auto.join.enable": "true"}
    with MixedQuorum(
        tmp_path, kafka_tools, java=(1,), ours=(2,), joining=(2,), brokers=(), java_properties=often, properties=joins
    ) as quorum:
        quorum.format()
        quorum.start(1)
        at = quorum.log_dir(1) / "__cluster_metadata-0"
        wait_until("a snapshot", lambda: _snapshot_end(at) > 100, timeout_s=60)
        quorum.node(1).stop()
        # What Kafka does once a minute: all that its newest snapshot holds leaves the log.
        starts = sorted(int(log.stem) for log in at.glob("*.log"))
        gone = starts[: bisect.bisect_right(starts, _snapshot_end(at)) - 1]
        assert gone
        for start in gone:
            for file in at.glob(f"{start:020}.*"):
                file.unlink()
        quorum.start(1)
        quorum.start(2)
        wait_until("node 2 to join by itself", lambda: 2 in quorum.voters(), timeout_s=60, every_s=0.2)
        assert "snapshot installed" in quorum.ours[2].last_lines(50)
        assert min(int(log.stem) for log in (quorum.log_dir(2) / "__cluster_metadata-0").glob("*.log")) >= starts[1]
        committed = quorum.committed()
        _check_caught_up(quorum, 2)
        quorum.stop()
        lines = hash_logs([quorum.log_dir(1), quorum.log_dir(2)], None)
        assert len({line.hash for line in lines}) == 1
        assert lines[0].end_offset >= committed


def _snapshot_end(metadata_dir: Path) -> int:
    return max((end.offset for end in checkpoint_ends(OsFiles(), str(metadata_dir))), default=0)
