"""Act: the killed controller comes back, truncates its uncommitted records, and catches up."""

from __future__ import annotations

from collections.abc import Callable

from metadata_log.ids import NodeId, Uuid
from quorum.cli.demo.cluster import Node, wait_until
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import check

HEADING = "The killed controller comes back"


def run(stage: Stage) -> None:
    """Start the killed controller. Its log must become equal to the leader's."""
    bring_back(stage, stage.killed_controller, must_cut=False)


def bring_back(stage: Stage, back: Node, *, must_cut: bool) -> None:
    """Start a controller, and compare its log with the leader's before and after.

    This waits until it has registered itself, so that this record does not come into a later act. `must_cut`: it holds
    records that no other replica has.
    """
    story, leader = stage.story, stage.leader()
    before, truth = ReplicaFiles(back.metadata_dir), ReplicaFiles(leader.metadata_dir)
    cut_from, registered = before.first_difference(truth), _incarnation(back, truth)
    check(
        not must_cut or cut_from is not None,
        f"{back.name} took records that no other had, but its log does not differ from that of {leader.name}",
    )
    story.say(
        f"When it was killed, the log of {back.name} ended at offset {before.end_offset}, epoch {before.last_epoch}; "
        f"that of {leader.name} is at {truth.end_offset}, epoch {truth.last_epoch}."
    )
    stage.mark(f"{back.name} starts again")
    back.start()
    with story.working(f"{back.name} starts and catches up"):
        back.wait_listening()
        end = wait_until(f"{back.name} to catch up", lambda: _caught_up(stage, back))
    after = ReplicaFiles(back.metadata_dir)
    truth = reaching(end, leader.name, lambda: ReplicaFiles(leader.metadata_dir))
    differs = after.first_difference(truth)
    check(
        differs is None or differs >= end,
        f"{back.name} has caught up to {end}, but its log differs from {leader.name}'s at offset {differs}",
    )
    if cut_from is None:
        story.say(f"Everything in it is committed: nothing was cut. It fetched {before.end_offset} to {end}.")
    else:
        story.say(
            f"Started again, it cut offsets {cut_from} to {before.end_offset}, which were never committed, and fetched "
            f"{cut_from} to {end}."
        )
    story.proved(f"{back.name.capitalize()} follows again; its log is {leader.name}'s, byte for byte.")
    with story.working(f"{back.name} registers itself"):
        registered_anew(back, registered, lambda: ReplicaFiles(back.metadata_dir))


def reaching(end: int, name: str, look: Callable[[], ReplicaFiles]) -> ReplicaFiles:
    """Return a leader's files once they reach `end`.

    They may lag, since it sends a record before its own disk has it.
    """

    def at_end() -> ReplicaFiles | None:
        files = look()
        return files if files.end_offset >= end else None

    return wait_until(f"{name} to write all before offset {end}", at_end)


def registered_anew(node: Node, before: Uuid | None, look: Callable[[], ReplicaFiles]) -> None:
    """Wait until a log holds a controller's registration by another incarnation than `before`."""
    wait_until(f"{node.name} to register itself again", lambda: _incarnation(node, look()) not in (None, before))


def _incarnation(node: Node, files: ReplicaFiles) -> Uuid | None:
    """Return the incarnation id of the controller's latest registration, or None."""
    found = files.image().cluster.controllers.get(NodeId(node.node_id))
    return None if found is None else found.incarnation_id


def _caught_up(stage: Stage, node: Node) -> int | None:
    """Return the end of both logs once the leader reports that the node has its whole log, or None."""
    node.check_running()
    status = stage.quorum()
    ends = {int(voter.replica.node_id): voter.log_end_offset for voter in status.voters}
    has_all = (
        status.is_from_leader
        and ends.get(node.node_id) == ends.get(status.leader_id)
        and ends.get(node.node_id) == status.high_watermark
    )
    return status.high_watermark if has_all else None
