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
from typing import Final

from metadata_log.os_files import OsFiles
from metadata_log.tools.contents import read_contents
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.comeback import bring_back
from quorum.cli.demo.node_log import how_it_was_elected
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check
from quorum.cli.demo.writer import Writer
from quorum.node.config import load_config

HEADING = "A leader dies with a record that nobody else has"

_TOPIC: Final = "never-committed"
_STEP_S: Final = 0.005


def run(stage: Stage) -> None:
    """Hold the followers, let the leader write alone, kill it, bring it back."""
    story, leader = stage.story, stage.leader()
    followers = [node for node in stage.cluster.controllers.values() if node is not leader]
    writer = Writer(stage.client)
    with story.working("holding the followers"), _held(followers):
        wait_until("the followers' Fetches to be answered", lambda: _none_parked(stage, leader, followers))
        before = _log_end(leader)
        creating = stage.loop.start(writer.create(_TOPIC))
        wait_until(f"{leader.name} to append the topic", lambda: _log_end(leader) > before, every_s=_STEP_S)
        leader.kill()
    creating.result(30.0)
    stage.killed = leader
    check(writer.unanswered == [_TOPIC], f"{leader.name} acknowledged a topic that no follower had")
    stage.unanswered.extend(writer.unanswered)
    story.say(
        f"The followers of {leader.name} were held (SIGSTOP) while it appended the topic {_TOPIC} at offset {before}. "
        "It was killed before they went on; its client got no answer."
    )
    with story.working("waiting for another leader"):
        new = stage.leader()
    check(new is not leader, f"{leader.name} is dead and still named as leader")
    story.say(how_it_was_elected(new))
    bring_back(stage, leader, must_cut=True)


def _none_parked(stage: Stage, leader: Node, followers: Iterable[Node]) -> bool:
    """Whether the leader has answered every Fetch of these: it keeps none for longer than it may wait."""
    longest_ms = load_config(leader.config_file).raft.fetch_max_wait_ms
    now_ms = time.time_ns() // 1_000_000
    last_ms = {int(voter.replica.node_id): voter.last_fetch_timestamp_ms for voter in stage.quorum().voters}
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
