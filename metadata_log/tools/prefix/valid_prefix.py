"""The part of a log that a node can go on from, see `PrefixBuilder`.

Decides: its values. Must not know: how they are found, and what else a directory holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.records.newer import NOTHING_NEWER, NewerParts
from metadata_log.tools.prefix.named_nodes import NamedNodes
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, PassedOver, SegmentPart, Stop
from metadata_log.tools.read.batch_sums import BatchSums
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.read.history import State


class ValidPrefix(msgspec.Struct, frozen=True, kw_only=True):
    """The valid prefix: no gap, no damage, every epoch led.

    Attributes:
        end: offset, and the epoch of the record before it, -1 without one.
        origin: the checkpoint that its metadata begins with; None: offset 0.
        stop: where it ends before the files do; None: it does not.
        state: the metadata and the quorum at `end`; None: `problem` says why it cannot be known.
        passed_over: damage before `start`, in what `origin` holds; None: none.
        misnamed: by name, why a checkpoint does not end where its name says: it is not `origin`, and proves nothing.
        spans: the epochs of the valid prefix of the segments.
        elections: those of the whole log that no file denies, repairs among them.
        greatest_epoch: of any batch, checkpoint or leader; no `Stop.false_epoch`.
        committed_before: see `ReplicaExtent`.
        last_timestamp_ms: of its last batch; -1 without one.
        sums: of each batch in it.
        repair: where a repair's batch is, the last one; None without one.
        behind: who is named behind the damage, in what can be read there.
    """

    start: Offset
    end: OffsetAndEpoch
    origin: CheckpointFile | None
    stop: Stop | None
    state: State | None
    problem: str | None
    passed_over: PassedOver | None
    segments: tuple[SegmentPart, ...]
    spans: tuple[EpochSpan, ...]
    checkpoints: tuple[CheckpointFile, ...]
    misnamed: Mapping[str, str]
    elections: tuple[Election, ...]
    greatest_epoch: int
    committed_before: int
    last_timestamp_ms: int
    sums: BatchSums
    repair: OffsetAndEpoch | None
    behind: NamedNodes

    @property
    def newer(self) -> NewerParts:
        """Return all that a later release has written there, and that is not judged."""
        state = self.state
        return NOTHING_NEWER if state is None else state.newer.plus(*state.quorum.newer_elections.parts)
