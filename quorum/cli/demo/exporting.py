"""The five logs are exported while their nodes run but nothing is written, so that all end at one offset.

The exports follow one another. A record that is committed in between makes later exports longer. Then no export need be
its voter's last state, and nothing would show up to where a majority holds the log.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from metadata_log.ids import NodeId
from metadata_log.tools.read.manifest import Manifest, read_manifest
from quorum.cli.demo.cluster import wait_until
from quorum.cli.demo.place import as_written
from quorum.cli.demo.replica_files import ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import CheckFailedError, check
from quorum.client.errors import ClientError
from quorum.client.quorum_status import QuorumStatus

_ATTEMPTS: Final = 10


def export_all(stage: Stage) -> int:
    """Export all replicas while they run. Return the offset at which all end, which is the high watermark of each."""
    with stage.story.working("exporting five logs"):
        end = at_one_offset(lambda: _settled_at(stage), lambda: _export(stage))
    stage.story.say(f"Exported the five logs with their high watermarks to {as_written(stage.exports)}.")
    return end


def at_one_offset(settled_at: Callable[[], int | None], export: Callable[[], Sequence[Manifest]]) -> int:
    """Export once all replicas are equal, and again if a record came meanwhile. Return the common end.

    Raises:
        CheckFailedError: a record came during each attempt.
    """
    ends: list[int] = []
    for _ in range(_ATTEMPTS):
        settled = wait_until("every replica to hold, and know to be committed, all of the log", settled_at)
        manifests = export()
        ends = [manifest.end_offset for manifest in manifests]
        if all(manifest.end_offset == manifest.high_watermark == settled for manifest in manifests):
            return settled
    raise CheckFailedError(
        f"something was written each of the {_ATTEMPTS} times that the logs were exported: they end at {ends}. "
        "kraft log dump of a node's directory shows what it was"
    )


def common_end(status: QuorumStatus, node_ids: Iterable[int], marks: Iterable[int]) -> int | None:
    """Return the end of all nodes' logs if it is one offset, and also each node's high watermark; otherwise None."""
    end = status.high_watermark
    ends = {int(each.replica.node_id): each.log_end_offset for each in (*status.voters, *status.observers)}
    is_common = all(ends.get(node_id) == end for node_id in node_ids) and set(marks) == {end}
    return end if status.is_from_leader and is_common else None


def _settled_at(stage: Stage) -> int | None:
    """Return the end of all logs once they are equal, or None. A controller's own registration may come late."""
    cluster = stage.cluster
    try:
        status = stage.quorum()
        marks = [stage.quorum(node).high_watermark for node in cluster.controllers.values()]
        marks += [stage.agent(node).high_watermark for node in cluster.agents.values()]
    except ClientError:
        return None  # a node that does not respond now is asked again
    end = common_end(status, [node.node_id for node in cluster.nodes], marks)
    if end is None:
        return None
    leader = cluster.controllers[status.leader_id]
    registered = ReplicaFiles(leader.metadata_dir).image().cluster.controllers
    return end if all(NodeId(node_id) in registered for node_id in cluster.controllers) else None


def _export(stage: Stage) -> list[Manifest]:
    """Export all replicas, one after another. Earlier exports are replaced."""
    if stage.exports.exists():
        shutil.rmtree(stage.exports)
    manifests = []
    for node in stage.cluster.nodes:
        target = stage.exports / node.root.name
        stage.cluster.run("log", "export", str(node.log_dir), str(target), "--live", node.grpc_address)
        manifest = read_manifest(target)
        check(manifest.high_watermark is not None, f"{node.name} told no high watermark")
        manifests.append(manifest)
    return manifests
