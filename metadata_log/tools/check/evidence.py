"""The evidence of one check: the facts that it read, and all that is computed from them.

Decides: the inputs of each computation. Must not know: the findings of the checks (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias

from metadata_log.image import MetadataImage
from metadata_log.tools.check.identity import cluster_of_most
from metadata_log.tools.check.plan import Plan
from metadata_log.tools.findings.finding import Finding
from metadata_log.tools.partitions.committed_proof import check_proof
from metadata_log.tools.partitions.node_roles import brokers_among
from metadata_log.tools.partitions.placement import newest_image, newest_replica
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.committed_bounds import CommittedBounds
from metadata_log.tools.replicas.diff import DiffReport, diff_and_odd
from metadata_log.tools.replicas.foreign_checkpoints import without_foreign_checkpoints
from metadata_log.tools.replicas.foreign_logs import OfOneCluster, of_one_cluster
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_lagging_reread
from metadata_log.tools.replicas.same_log import SameLog
from metadata_log.tools.replicas.side_by_side import older_of_two, progress_of
from metadata_log.tools.verify.log_facts import LogFacts


class Evidence:
    """The facts that one run of `kraft check` read. Each property is computed once, when a check first needs it.

    `read` holds the replicas of `plan.logs`, and `files` the facts of `plan.files`, in the order of the plan.

    Raises:
        OSError: a log that differs from others cannot be read again. Any property may raise it.
    """

    def __init__(self, plan: Plan, read: Sequence[Replica], files: Sequence[LogFacts]) -> None:
        self.plan = plan
        self.read = tuple(read)
        self.files = tuple(files)

    @cached_property
    def foreign_logs(self) -> tuple[Finding, ...]:
        """A finding for each log of another cluster. No other check uses these logs."""
        return self._of_one_cluster.findings

    @cached_property
    def other_clusters(self) -> tuple[NodeSource, ...]:
        """The nodes with the id of another cluster than most directories have: no other check uses their logs."""
        own = cluster_of_most(self.plan.nodes)
        known = [(node, node.identity) for node in self.plan.nodes if own is not None]
        return tuple(node for node, identity in known if identity is not None and identity.cluster_id != own)

    @cached_property
    def foreign_checkpoints(self) -> tuple[Finding, ...]:
        """A finding for each checkpoint of another cluster. No other check uses these checkpoints."""
        return tuple(self._own[1])

    @property
    def set_aside(self) -> tuple[Replica, ...]:
        """The logs that are not compared: a node's older one of two, and all logs if no cluster has the majority."""
        return (*self._of_one_cluster.undecided, *self._older)

    @cached_property
    def _older(self) -> tuple[Replica, ...]:
        own = self._own[0]
        return tuple(own[number] for number in older_of_two(own))

    @cached_property
    def progress(self) -> dict[Path, tuple[int, int, int]]:
        """The progress of each metadata directory's log (see `progress_of`)."""
        logs = ((log.source.metadata, log) for log in (*self._of_one_cluster.undecided, *self._own[0]))
        return {metadata: progress_of(log.facts) for metadata, log in logs if metadata is not None}

    @cached_property
    def replicas(self) -> ReplicaSet:
        """The replicas of one log, without the foreign logs and those of `set_aside`."""
        older = {id(replica) for replica in self._older}
        replicas = [replica for replica in self._own[0] if id(replica) not in older]
        bare = [node for node in self._ours if node.metadata is None]
        return with_lagging_reread(ReplicaSet(replicas, bare), partial(read_replica, probes=self.plan.probes))

    @property
    def differences(self) -> DiffReport:
        """The differences between the replicas' logs."""
        return self._compared[0]

    @property
    def odd(self) -> frozenset[int]:
        """The indexes of the replicas whose logs diverge from the others: nothing is judged by their metadata."""
        return self._compared[1]

    @property
    def proved(self) -> ReplicaSet:
        """The replicas, with the committed bounds that partition directories raised; later checks use these."""
        return self._proof[0]

    @property
    def proof(self) -> tuple[Finding, ...]:
        """The findings on lost records that partition directories prove."""
        return tuple(self._proof[1])

    @cached_property
    def bounds(self) -> CommittedBounds:
        """The committed bounds by all evidence. A divergence in a tie limits `lower` to its offset."""
        of_diff = self.differences.bounds
        return of_diff if of_diff.lower < self.replicas.bounds.lower else self.proved.bounds

    @cached_property
    def image(self) -> MetadataImage | None:
        """The newest image of a replica that does not diverge, or None."""
        return None if self.newest is None else self.newest.facts.image

    @cached_property
    def newest(self) -> Replica | None:
        """The replica that has `image`, or None."""
        return newest_replica(self.proved, self.odd)

    def relation(self, node: NodeSource) -> SameLog:
        """Return whether a node's metadata log is shown to be the log of `newest`: shown, denied or unknown.

        Raises:
            OSError: a segment can no longer be read.
        """
        known = (*self.proved.replicas, *self.set_aside)
        own = next((one for one in known if one.source.metadata == node.metadata), None)
        if own is None:
            foreign = (*self.other_clusters, *(one.source for one in self.read))
            return SameLog.DENIED if any(one.path == node.path for one in foreign) else SameLog.UNKNOWN
        if self.newest is None:
            return SameLog.UNKNOWN
        return SameLog.SHOWN if own is self.newest else self.proved.same_log(own, self.newest)

    @cached_property
    def brokers(self) -> tuple[NodeSource, ...]:
        """The nodes whose partition directories are checked."""
        voters = {int(voter.node_id) for voter in self.proved.voters.keys}
        return tuple(brokers_among(self.plan.nodes, self.plan.held, self.image, voters))

    @cached_property
    def _of_one_cluster(self) -> OfOneCluster:
        paths = {node.path for node in self._ours}
        return of_one_cluster([log for log in self.read if log.source.path in paths])

    @cached_property
    def _ours(self) -> tuple[NodeSource, ...]:
        others = {node.path for node in self.other_clusters}
        return tuple(node for node in self.plan.nodes if node.path not in others)

    @cached_property
    def _own(self) -> tuple[list[Replica], list[Finding]]:
        return without_foreign_checkpoints(self._of_one_cluster.logs)

    @cached_property
    def _compared(self) -> tuple[DiffReport, frozenset[int]]:
        return diff_and_odd(self.replicas)

    @cached_property
    def _proof(self) -> tuple[ReplicaSet, list[Finding]]:
        image = newest_image(self.replicas, self.odd)
        return check_proof(self._ours, self.plan.held, self.replicas, image)


Check: TypeAlias = Callable[[Evidence], Iterable[Finding]]
