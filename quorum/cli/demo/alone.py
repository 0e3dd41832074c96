"""Act: a leader dies with a record that nobody else has, so that there is something to cut.

It seldom happens by itself, since a leader sends a record to its followers before its own disk has it. So it is made to
happen: the followers are stopped (SIGSTOP) until the leader has no Fetch of theirs to answer, a topic is asked for, and
the leader is killed once its own log holds it.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Final

from metadata_log.os_files import OsFiles
from metadata_log.tools.contents import read_contents
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.comeback import bring_back
from quorum.cli.demo.node_log import how_it_was_elected
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import CheckFailedError, check
from quorum.cli.demo.writer import Writer
from quorum.client.quorum_status import QuorumStatus
from quorum.node.config import load_config

HEADING = "A leader dies with a record that nobody else has"

_TOPIC: Final = "never-committed"
_STEP_S: Final = 0.005
_ATTEMPTS: Final = 10


def run(stage: Stage) -> None:
    """Hold the followers, let the leader write alone, kill it, bring it back."""
    story, leader = stage.story, stage.leader()
    with story.working("holding the followers"):
        first, end = _write_alone(stage, leader)
    stage.killed = leader
    story.say(f"With its followers held (SIGSTOP), {leader.name} took the topic {_TOPIC}: offsets {first} to {end}.")
    story.say("It was killed before they went on; its client got no answer.")
    with story.working("waiting for another leader"):
        new = stage.leader()
    check(new is not leader, f"{leader.name} is dead and still named as leader")
    story.say(how_it_was_elected(new))
    bring_back(stage, leader, must_cut=True)


def _write_alone(stage: Stage, leader: Node) -> tuple[int, int]:
    """Kill the leader with records that nobody else has; their offsets, the second exclusive."""
    followers = [node for node in stage.cluster.controllers.values() if node is not leader]
    writer = Writer(stage.client)
    for _ in range(_ATTEMPTS):
        wait_until("everything to be committed", lambda: _is_quiet(stage.quorum(leader)))
        with _held(followers):
            wait_until("the followers' Fetches to be answered", lambda: _none_parked(stage, leader, followers))
            if not _is_quiet(stage.quorum(leader)):
                # A broker's request came first, and its record may be on the way to the followers: not alone.
                continue
            first, creating = _append_alone(stage, leader, writer)
            leader.kill()
        creating.result(30.0)
        check(writer.unanswered == [_TOPIC], f"{leader.name} acknowledged a topic that no follower had")
        stage.unanswered.extend(writer.unanswered)
        return first, _log_end(leader)
    raise CheckFailedError(f"{leader.name} was never without a request of somebody else's in {_ATTEMPTS} attempts")


def _append_alone(stage: Stage, leader: Node, writer: Writer) -> tuple[int, Future[None]]:
    """Ask for a topic and wait until the leader's own log has grown: from which offset, and the asking."""
    first = _log_end(leader)
    creating = stage.loop.start(writer.create(_TOPIC))
    wait_until(f"{leader.name} to append the topic", lambda: _log_end(leader) > first, every_s=_STEP_S)
    return first, creating


def _is_quiet(status: QuorumStatus) -> bool:
    """Whether everything in the leader's log is committed."""
    ends = [voter.log_end_offset for voter in status.voters if voter.replica.node_id == status.leader_id]
    return status.is_from_leader and ends == [status.high_watermark]


def _none_parked(stage: Stage, leader: Node, followers: Iterable[Node]) -> bool:
    """Whether the leader has answered every Fetch of these: it keeps none for longer than it may wait."""
    longest_ms = load_config(leader.config_file).raft.fetch_max_wait_ms
    now_ms = time.time_ns() // 1_000_000
    last_ms = {int(voter.replica.node_id): voter.last_fetch_timestamp_ms for voter in stage.quorum(leader).voters}
    return all(now_ms - last_ms[node.node_id] > 1.2 * longest_ms for node in followers)


@contextlib.contextmanager
def _held(nodes: Iterable[Node]) -> Iterator[None]:
    """Stop these processes for as long as the block lasts."""
    held = list(nodes)
    try:
        for node in held:
            node.signal(signal.SIGSTOP)
        yield
    finally:
        for node in held:
            node.signal(signal.SIGCONT)


def _log_end(node: Node) -> int:
    return read_contents(OsFiles(), str(node.metadata_dir)).end_offset
