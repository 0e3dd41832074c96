"""Act: SIGKILL of the leader while topics are created, and the time without a successful write."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.node_log import how_it_was_elected, log_sizes
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check
from quorum.cli.demo.writer import Writer

HEADING = "The leader is killed while topics are being created"

_BEFORE: Final = 60
_AFTER: Final = 60


def run(stage: Stage) -> None:
    """Write, kill the leader, and show the new leader and the time without a successful write."""
    story, leader = stage.story, stage.leader()
    writer = Writer(stage.client)
    writing = stage.loop.start(writer.run())
    try:
        with story.working("a writer creates topics"):
            _wait_written(writing, f"{_BEFORE} topics to be created", lambda: len(writer.acknowledged) >= _BEFORE)
        killed_at_s = time.monotonic()
        stage.mark(f"SIGKILL to {leader.name}")
        sizes = log_sizes(stage.cluster.controllers.values())
        leader.kill()
        stage.killed = leader
        story.say(f"SIGKILL to {leader.name}, after {writer.count_until(killed_at_s)} acknowledged creates.")
        with story.working("waiting for another leader"):
            _wait_written(writing, "topics to be created again", lambda: writer.count_after(killed_at_s) >= _AFTER)
    finally:
        writer.stop()
    writing.result(30.0)
    stage.acknowledged.update((each.name, each.topic_id) for each in writer.acknowledged)
    stage.unanswered.extend(writer.unanswered)
    _tell(stage, writer, killed_at_s, leader, sizes)


def _tell(stage: Stage, writer: Writer, killed_at_s: float, old: Node, sizes: Mapping[str, int]) -> None:
    new = stage.leader()
    check(new is not old, f"{old.name} is dead and still named as leader")
    stage.story.say(how_it_was_elected(new, sizes))
    stage.story.proved(f"Nothing could be written for {writer.longest_silence_s(killed_at_s):.2f} s.")
    stage.story.say(
        f"The writer went on: {len(writer.acknowledged)} creates acknowledged, {len(writer.unanswered)} never answered."
    )
    stage.story.say("Each replica's own files will have to show every acknowledged one, when all has stopped.")


def _wait_written(writing: Future[None], what: str, is_done: Callable[[], bool]) -> None:
    """Wait until `is_done`. If the writer ends before, raise its error."""

    def is_done_or_failed() -> bool:
        return is_done() or writing.done()

    wait_until(what, is_done_or_failed)
    if writing.done():
        writing.result()
