"""The five logs are exported while their nodes run, and while nothing is written: they are to end at one offset.

Exports follow one another. What is committed between two of them makes later ones longer than earlier ones, and then no
log need be its voter's last: nobody could say up to where a majority holds the log.
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
    """Export all replicas while they run; the offset at which all of them end, which is the high watermark of all."""
    with stage.story.working("exporting five logs"):
        end = at_one_offset(lambda: _settled_at(stage), lambda: _export(stage))
    stage.story.say(f"Exported the five logs with their high watermarks to {as_written(stage.exports)}.")
    return end


def at_one_offset(settled_at: Callable[[], int | None], export: Callable[[], Sequence[Manifest]]) -> int:
    """Export once all is settled, and again where something was written meanwhile; the offset at which all ended.

    Raises:
        CheckFailedError: something was written each time.
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
    """Where the logs of all these nodes end, if that is one offset, and the high watermark that each of them tells."""
    end = status.high_watermark
    ends = {int(each.replica.node_id): each.log_end_offset for each in (*status.voters, *status.observers)}
    is_common = all(ends.get(node_id) == end for node_id in node_ids) and set(marks) == {end}
    return end if status.is_from_leader and is_common else None


def _settled_at(stage: Stage) -> int | None:
    """Where all logs end, once nothing is on the way to any; a controller's own registration may come late."""
    cluster = stage.cluster
    try:
        status = stage.quorum()
        marks = [stage.quorum(node).high_watermark for node in cluster.controllers.values()]
        marks += [stage.agent(node).high_watermark for node in cluster.agents.values()]
    except ClientError:
        return None  # one that does not answer now is asked once more
    end = common_end(status, [node.node_id for node in cluster.nodes], marks)
    if end is None:
        return None
    leader = cluster.controllers[status.leader_id]
    registered = ReplicaFiles(leader.metadata_dir).image().cluster.controllers
    return end if all(NodeId(node_id) in registered for node_id in cluster.controllers) else None


def _export(stage: Stage) -> list[Manifest]:
    """Export all replicas, one after another, in the place of what was exported before."""
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
