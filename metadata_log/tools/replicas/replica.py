"""One replica: its directory, and the facts that one pass over its log found. Must not know: other replicas."""

from __future__ import annotations

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.prefix.prefix_reader import facts_and_prefix
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.committed_bounds import ReplicaExtent
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.verify_log import verify_log
from metadata_log.tools.verify.voters import VotersLog


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """One node's log and its facts. `label`: a name that is unique among the replicas of a set."""

    source: NodeSource
    facts: LogFacts
    label: str
    prefix: ValidPrefix | None = None
    """The valid prefix; None unless it was read at `Depth.PREFIX`."""

    @property
    def key(self) -> ReplicaKey:
        identity = self.source.identity
        directory_id = None if identity is None else identity.directory_id
        node_id = -1 if self.source.node_id is None else self.source.node_id
        return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(directory_id or ZERO_DIRECTORY_ID))

    @property
    def snapshot_end(self) -> int:
        """The end offset of its newest whole checkpoint; 0 without one."""
        ends = [int(found.end.offset) for found in self.facts.checkpoints if found.end is not None]
        return max(ends, default=0)

    @property
    def reach(self) -> int:
        """One past the last record in its log or a checkpoint."""
        return max(self.facts.end_offset, self.snapshot_end)

    @property
    def extent(self) -> ReplicaExtent:
        """The extent from which the committed bounds are computed."""
        ends = [found.end for found in self.facts.checkpoints if found.end is not None]
        newest = max(ends, key=lambda end: (end.offset, end.epoch), default=None)
        return ReplicaExtent(
            key=self.key,
            epochs=self.facts.epochs,
            log_end_offset=self.facts.end_offset,
            snapshot_end=0 if newest is None else int(newest.offset),
            snapshot_epoch=-1 if newest is None else int(newest.epoch),
            high_watermark=max(self.source.high_watermark or 0, self.facts.kept_committed),
            committed_before=self.facts.committed_before,
            proved_end=self.facts.proved_end,
            held_when_cut=self.facts.held_when_cut,
            is_authoritative=not self.is_behind_its_voter,
            leaders=tuple((one.epoch, one.leader_id) for one in self.facts.elections),
            impossible=self.facts.impossible_offsets,
            state_epoch=self.state_epoch,
            denied=self.denied,
        )

    @property
    def is_behind_its_voter(self) -> bool:
        """True if this may not be the voter's last state: an export, an unreadable log, or one that lost its end."""
        return self.source.is_export or self.facts.is_unread or self.facts.proved_end > self.reach

    @property
    def state_epoch(self) -> int:
        """The epoch of its `quorum-state`; -1 without a readable one."""
        state = self.facts.quorum_state
        return -1 if state is None else int(state.leader_epoch)

    @property
    def denied(self) -> frozenset[int]:
        """The offsets at which an epoch begins that the log itself or its `quorum-state` denies."""
        behind = (one.offset for one in self.facts.findings if one.kind == "quorum_state_behind")
        return frozenset((*self.facts.false_starts, *(offset for offset in behind if offset is not None)))

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record in its log or a checkpoint; -1 without a record."""
        extent = self.extent
        return extent.snapshot_epoch if extent.snapshot_end >= extent.log_end_offset else self.facts.last_epoch

    @property
    def voters_log(self) -> VotersLog:
        """The facts with which checkpoints' voters are compared."""
        identity = self.source.identity
        return VotersLog(
            label=self.label,
            node_id=self.source.node_id,
            facts=self.facts,
            directory_id=None if identity is None else identity.directory_id,
        )

    @property
    def last_place(self) -> str:
        """The last segment; the directory if there is no segment."""
        return self.facts.segments[-1] if self.facts.segments else self.facts.directory


def read_replica(
    source: NodeSource,
    *,
    depth: Depth = Depth.REPLAY,
    probes: frozenset[int] = frozenset(),
    files: Files | None = None,
    own: OwnEpochs | None = None,
) -> Replica:
    """Read a node's metadata directory.

    Args:
        depth, probes: see `verify_log`.
        files: at `Depth.PREFIX`, a consistent read of the directory, which is then read only once.
        own: the epochs by other files than the log, for `Depth.PREFIX` only.

    Raises:
        OSError: the directory cannot be listed.
        ValueError: the source has no metadata directory, or `own` is missing.
    """
    if depth is Depth.PREFIX:
        if source.metadata is None or own is None:
            raise ValueError(f"{source.path} has no metadata log, or nothing says which of its epochs are denied")
        facts, prefix = facts_and_prefix(files or OsFiles(), str(source.metadata), source, own)
        return Replica(source=source, facts=facts, label=source.label, prefix=prefix)
    report = verify_log(source, depth=depth, probes=probes, files=files)
    return Replica(source=source, facts=report, label=source.label)
