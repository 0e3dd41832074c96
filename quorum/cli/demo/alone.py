"""Act: a leader dies with a record that no other replica has, so that its return shows a truncation.

This rarely happens by itself, since a leader sends a record to its followers before its own disk has it. So the act
holds the followers (SIGSTOP) until none of their Fetch requests is parked at the leader. Then it creates a topic, and
kills the leader once its log has the record. Without followers the leader resigns soon; then the act starts again.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.comeback import bring_back
from quorum.cli.demo.node_log import how_it_was_elected, log_sizes
from quorum.cli.demo.replica_files import FoundTopic, ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import CheckFailedError, check
from quorum.cli.demo.writer import Writer
from quorum.client.errors import ClientError
from quorum.client.quorum_status import QuorumStatus
from quorum.node.config.node_config import load_config

HEADING = "A leader dies with a record that no other controller has"

_TOPIC: Final = "never-committed"
_STEP_S: Final = 0.005
_ATTEMPTS: Final = 10


def run(stage: Stage) -> None:
    """Hold the followers, let the leader write alone, kill it, bring it back."""
    story = stage.story
    sizes = log_sizes(stage.cluster.controllers.values())
    with story.working("holding the followers"):
        leader, first, end = _write_alone(stage)
    stage.killed = leader
    story.say(f"With its followers held (SIGSTOP), {leader.name} took the topic {_TOPIC}: offsets {first} to {end}.")
    story.say("It was killed before they went on; its client got no answer.")
    with story.working("waiting for another leader"):
        new = stage.leader()
    check(new is not leader, f"{leader.name} is dead and still named as leader")
    story.say(how_it_was_elected(new, sizes))
    bring_back(stage, leader, must_cut=True)


def _write_alone(stage: Stage) -> tuple[Node, int, int]:
    """Kill a leader that has records which no other replica has. Return it and their offsets, the second exclusive."""
    for _ in range(_ATTEMPTS):
        leader = wait_until("a leader that has everything committed", lambda: _quiet_leader(stage))
        writer = Writer(stage.client)
        with _held([node for node in stage.cluster.controllers.values() if node is not leader]) as followers:
            first = _alone_from(stage, leader, followers)
            if first is None:
                continue
            creating = stage.loop.start(writer.create(_TOPIC))
            found = _appended(stage, leader, first)
            if found is not None:
                stage.mark(f"SIGKILL to {leader.name}, which wrote alone")
                leader.kill()
        creating.result(30.0)
        if found is not None:
            check(writer.unanswered == [_TOPIC], f"{leader.name} acknowledged a topic that no follower had")
            stage.unanswered.extend(writer.unanswered)
            return leader, found.batch_start, ReplicaFiles(leader.metadata_dir).end_offset
        # it had resigned, and the next leader may have created the topic: use a new name
        stage.ask(stage.client.delete_topic(_TOPIC, if_exists=True))
    raise CheckFailedError(
        f"in {_ATTEMPTS} attempts no leader wrote alone: each time another client's request came first, or the leader "
        "resigned while its followers were held. On a machine that is less busy it does not"
    )


def _quiet_leader(stage: Stage) -> Node | None:
    try:
        status = stage.quorum()
    except ClientError:
        return None
    return stage.cluster.controllers[status.leader_id] if _is_quiet(status) else None


def _is_quiet(status: QuorumStatus) -> bool:
    """Return True if everything in the leader's log is committed."""
    leader = status.leader
    return status.is_from_leader and leader is not None and leader.log_end_offset == status.high_watermark


def _alone_from(stage: Stage, leader: Node, followers: Iterable[Node]) -> int | None:
    longest_ms = load_config(leader.config_file).raft.longest_wait_ms
    return alone_from(lambda: stage.quorum(leader), [node.node_id for node in followers], longest_ms)


def alone_from(look: Callable[[], QuorumStatus], followers: Sequence[int], longest_ms: int) -> int | None:
    """Return the offset from which no follower will fetch the leader's records: none of these has a Fetch parked there.

    `longest_ms`: the longest wait of a parked Fetch. Return None if the node no longer leads, or if a broker's request
    came first: its record may be on the way to the followers.
    """

    def none_parked_or_deposed() -> QuorumStatus | None:
        status = look()
        now_ms = time.time_ns() // 1_000_000
        last_ms = {int(voter.replica.node_id): voter.last_fetch_timestamp_ms for voter in status.voters}
        is_over = not status.is_from_leader or all(now_ms - last_ms[each] > 1.2 * longest_ms for each in followers)
        return status if is_over else None

    status = wait_until("the followers' Fetches to be answered", none_parked_or_deposed)
    return int(status.high_watermark) if _is_quiet(status) else None


def _appended(stage: Stage, leader: Node, first: int) -> FoundTopic | None:
    return appended(
        _TOPIC, first, lambda: ReplicaFiles(leader.metadata_dir), lambda: stage.quorum(leader).is_from_leader
    )


def appended(topic: str, first: int, look: Callable[[], ReplicaFiles], leads: Callable[[], bool]) -> FoundTopic | None:
    """Return the topic in the leader's log, from offset `first` on, or None if the leader resigned before.

    Other records that the leader appends meanwhile are on no follower either, but do not replace the topic.
    """

    def found() -> FoundTopic | None:
        return next((each for each in look().topics() if each.name == topic and each.offset >= first), None)

    wait_until(f"a leader to append {topic}, or to resign", lambda: found() or not leads(), every_s=_STEP_S)
    return found()


@contextlib.contextmanager
def _held(held: Sequence[Node]) -> Iterator[Sequence[Node]]:
    """Hold these processes (SIGSTOP) within the block."""
    try:
        for node in held:
            node.signal(signal.SIGSTOP)
        yield held
    finally:
        for node in held:
            node.signal(signal.SIGCONT)
