"""The part of a log from which a node can go on; see `PrefixBuilder`."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.records.newer import NOTHING_NEWER, NewerParts
from metadata_log.tools.prefix.named_nodes import NamedNodes
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, PassedOver, SegmentPart, Stop
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.control_facts import Election, Voting
from metadata_log.tools.read.history import State
from metadata_log.tools.read.quorum import Quorum


class ValidPrefix(msgspec.Struct, frozen=True, kw_only=True):
    """The valid prefix: no gap, no damage, and a leader for every epoch.

    Attributes:
        end: offset, and the epoch of the record before it, -1 without a record.
        origin: the checkpoint with which its metadata begins; None: offset 0.
        stop: where it ends before the files do, or None.
        state: the metadata and the quorum at `end`; None if unknown, and `problem` is the reason.
        unplayed: the first offset of the batch that cannot be replayed, if that is the `problem`.
        before: the metadata and the quorum before `unplayed`.
        quorum: the quorum at `end`; None if it is unknown. It may be known without the metadata.
        passed_over: damage before `start`, which `origin` makes irrelevant, or None.
        misnamed: by name, why a checkpoint does not end where its name says: it is not `origin`, and proves nothing.
        spans: the epochs of the valid prefix of the segments.
        elections: those of the whole log that no file denies, repairs among them.
        voter_sets: those of the whole log and its checkpoints.
        greatest_epoch: of any batch, checkpoint or leader, except a `Stop.false_epoch`.
        committed_before: see `ReplicaExtent`.
        last_timestamp_ms: of its last batch; -1 without a batch.
        sums: digests of its batches.
        repair: offset and epoch of the last repair's batch, or None.
        behind: the nodes named after the damage, in readable records.
    """

    start: Offset
    end: OffsetAndEpoch
    origin: CheckpointFile | None
    stop: Stop | None
    state: State | None
    unplayed: int | None
    before: State | None
    quorum: Quorum | None
    problem: str | None
    passed_over: PassedOver | None
    segments: tuple[SegmentPart, ...]
    spans: tuple[EpochSpan, ...]
    checkpoints: tuple[CheckpointFile, ...]
    misnamed: Mapping[str, str]
    elections: tuple[Election, ...]
    voter_sets: tuple[Voting, ...]
    greatest_epoch: int
    committed_before: int
    last_timestamp_ms: int
    sums: BatchSums
    repair: OffsetAndEpoch | None
    behind: NamedNodes

    @property
    def newer(self) -> NewerParts:
        """Return all parts of a later release in the prefix, which are not judged."""
        state = self.state
        return NOTHING_NEWER if state is None else state.newer.plus(*state.quorum.newer_elections.parts)
