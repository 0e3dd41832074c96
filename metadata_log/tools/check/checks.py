"""The list of the checks that `kraft check` and `kraft analyze` run over the same evidence.

Decides: the checks and their order. Must not know: how a check works, and the further use of its findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.checkpoint_times import check_times
from metadata_log.tools.check.evidence import Check, Evidence
from metadata_log.tools.check.identity import check_identity
from metadata_log.tools.check.leaders import check_lacking_leaders, check_leaders
from metadata_log.tools.check.metadata_hashes import check_hashes
from metadata_log.tools.check.unfinished_repairs import check_repairs
from metadata_log.tools.check.votes import check_votes
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.partitions.broker_files import check_clean_shutdowns, check_offset_files
from metadata_log.tools.partitions.missing import check_missing
from metadata_log.tools.partitions.placement import check_partitions
from metadata_log.tools.partitions.replica_logs import check_replica_logs
from metadata_log.tools.partitions.start_obstacles import check_partition_files, check_strange
from metadata_log.tools.replicas import replica_set
from metadata_log.tools.replicas.diff import own_findings
from metadata_log.tools.verify.bootstrap_checkpoint import check_unread_bootstraps
from metadata_log.tools.verify.export_files import check_manifests


def own_faults(evidence: Evidence) -> Iterator[Finding]:
    """Yield the faults that each node, log or file shows by itself, and a finding for each foreign one."""
    yield from evidence.plan.unread
    yield from evidence.foreign_logs
    yield from evidence.foreign_checkpoints
    for file in evidence.files:
        yield from file.findings
    for replica in (*evidence.set_aside, *evidence.replicas.replicas):
        yield from own_findings(replica, evidence.replicas)


def differences(evidence: Evidence) -> Iterator[Finding]:
    """Yield the offsets at which replicas diverge, and the records that a majority lacks."""
    yield from evidence.differences.findings


def hashes(evidence: Evidence) -> Iterator[Finding]:
    """Yield the replicas whose metadata differs, unless a difference of their logs explains it."""
    found = evidence.differences.findings
    if not any(one.counts and one.kind != "checkpoint_disagrees" for one in found):
        yield from check_hashes(evidence.replicas, evidence.odd, evidence.differences.common_end)


def times(evidence: Evidence) -> Iterator[Finding]:
    """Yield the checkpoints whose time disagrees with the log."""
    yield from check_times(evidence.replicas)


def votes(evidence: Evidence) -> Iterator[Finding]:
    """Yield the votes, leaders and voters that contradict each other."""
    yield from check_votes(evidence.replicas)


def leaders(evidence: Evidence) -> Iterator[Finding]:
    """Yield the leaders whose own directory lacks an epoch that they led, or records of it."""
    yield from check_leaders(evidence.replicas)
    yield from check_lacking_leaders(evidence.replicas, evidence.odd)


def overlap(evidence: Evidence) -> Iterator[Finding]:
    """Yield the replicas that share no offset with any other."""
    yield from replica_set.nothing_in_common(evidence.replicas, with_any=True)


def absent_voters(evidence: Evidence) -> Iterator[Finding]:
    """Yield the voters whose directories were not given."""
    unread = [one.node_id for one in (*evidence.plan.unread, *evidence.foreign_logs)]
    unread += [node.node_id for node in evidence.other_clusters]
    yield from replica_set.absent_voters(evidence.replicas, evidence.plan.parents, unread)


def proof(evidence: Evidence) -> Iterator[Finding]:
    """Yield the records that are lost, as partition directories prove."""
    yield from evidence.proof


def identity(evidence: Evidence) -> Iterator[Finding]:
    """Yield the directories with an unfinished repair, and the faults of `meta.properties`."""
    yield from check_repairs(evidence.plan.nodes)
    voters = evidence.proved.voters.keys
    yield from check_identity(evidence.plan.nodes, voters, evidence.image, evidence.progress, evidence.relation)


def placement(evidence: Evidence) -> Iterator[Finding]:
    """Yield the partition directories that the metadata does not allow."""
    yield from check_partitions(evidence.brokers, evidence.plan.held, evidence.proved, evidence.odd)


def start_obstacles(evidence: Evidence) -> Iterator[Finding]:
    """Yield the directories and files with which a broker does not start."""
    yield from check_strange(evidence.plan.nodes, evidence.brokers)
    yield from check_partition_files(evidence.brokers, evidence.plan.held)


def missing(evidence: Evidence) -> Iterator[Finding]:
    """Yield the partition directories that the metadata requires, and that are not there."""
    yield from check_missing(evidence.plan.held, evidence.proved, evidence.odd)


def replica_logs(evidence: Evidence) -> Iterator[Finding]:
    """Yield the files of a broker that claim more records than its partitions' logs hold."""
    yield from check_replica_logs(evidence.brokers, evidence.plan.held, evidence.newest)


def broker_files(evidence: Evidence) -> Iterator[Finding]:
    """Yield the faults of a broker's offset and shutdown files, unread bootstrap checkpoints, and missing manifests."""
    nodes = evidence.plan.nodes
    yield from check_offset_files(nodes)
    yield from check_clean_shutdowns(nodes, evidence.proved)
    for node in nodes:
        if node.metadata is None:
            yield from check_unread_bootstraps(OsFiles(), node)
    yield from check_manifests(nodes)


CHECKS: Final[tuple[Check, ...]] = (
    own_faults,
    differences,
    hashes,
    times,
    votes,
    leaders,
    overlap,
    absent_voters,
    proof,
    identity,
    placement,
    start_obstacles,
    missing,
    replica_logs,
    broker_files,
)
