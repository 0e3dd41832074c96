"""Records that accepted repairs discarded count as held once: a voter that was cut is no proof against a commit.

Decides: how those repairs change the committed bounds.

A record was committed once a majority held it durably, and stays committed when one of them is cut. Without this rule,
two voters that were cut would prove that records which only the third still holds were never committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.ids import ReplicaKey
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.committed_bounds import CommittedBounds, ReplicaExtent, committed_bounds
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.accepted_loss import Accepted, AcceptedLoss


def accepted_losses_of(copy: Copy) -> Iterator[tuple[Accepted, AcceptedLoss]]:
    """Yield the records that repairs of this copy's directory discarded and that its log has not fetched again."""
    for done in copy.audited.accepted:
        if done.new_epoch is not None and copy.end.epoch < done.new_epoch:
            continue  # an older log has replaced the repair's log since
        for lost in done.lost:
            if lost.epoch is None or copy.epoch_at(lost.end - 1) != lost.epoch:
                yield done, lost


def is_last(copy: Copy, done: Accepted, lost: AcceptedLoss) -> bool:
    """Return True if the copy's log was cut there, and no other leader has written to it since."""
    epoch = done.greatest_epoch if lost.epoch is None else lost.epoch
    return done.new_epoch is None and lost.node_id == copy.node_id and epoch >= copy.end.epoch


def holds(copy: Copy, done: Accepted, lost: AcceptedLoss) -> bool:
    """Return True if segments of `copy` hold some or all of the discarded records."""
    end = min(lost.end, int(copy.end.offset))
    if end <= max(lost.start, copy.start_offset):
        return False
    epoch = copy.epoch_at(end - 1)
    if lost.epoch is None:
        return done.kept_epoch <= epoch <= done.greatest_epoch
    return epoch == lost.epoch if end == lost.end else done.kept_epoch <= epoch <= lost.epoch


def forgetful(copies: Sequence[Copy], holder: Copy, start: int) -> frozenset[int]:
    """Return the nodes that lost, by an accepted repair, some of the records that `holder` has from `start` on.

    A leader that such a node elected since proves nothing about those records.
    """
    return frozenset(
        int(copy.node_id)
        for copy in copies
        if copy is not holder and copy.node_id is not None
        for done, lost in accepted_losses_of(copy)
        if lost.node_id == copy.node_id and lost.end > start and holds(holder, done, lost)
    )


def extents(copies: Sequence[Copy], stale: Sequence[Copy]) -> list[ReplicaExtent]:
    """Return the present extents of these copies, for the bounds. `stale`: those that are not authoritative.

    A log that lost its end is not authoritative either: it may have reached further.
    """
    return [
        msgspec.structs.replace(copy.extent, is_authoritative=not (copy.is_behind_its_voter or copy in stale))
        for copy in copies
    ]


def bounds_once(
    copies: Sequence[Copy], stale: Sequence[Copy], voters: Sequence[ReplicaKey], left: CommittedBounds
) -> CommittedBounds:
    """Return the bounds by the historical extents of the logs. `left`: the bounds by their present extents."""
    cut = [copy for copy in copies if any(is_last(copy, *one) for one in accepted_losses_of(copy))]
    if not cut:
        return left
    once = [_extent_once(copy, now) for copy, now in zip(copies, extents(copies, stale), strict=True)]
    bounds = committed_bounds(once, voters)
    if bounds.lower <= left.lower:
        return msgspec.structs.replace(bounds, lower=left.lower, because=left.because)
    if bounds.lower == max(extent.held_when_cut for extent in once):
        return bounds
    names = ", ".join(copy.label for copy in cut)
    because = f"a majority of the {len(voters)} voters held it, until repairs discarded it on {names}"
    return msgspec.structs.replace(bounds, because=because)


def _extent_once(copy: Copy, extent: ReplicaExtent) -> ReplicaExtent:
    for done, lost in sorted(accepted_losses_of(copy), key=lambda one: one[1].start):
        if not is_last(copy, done, lost):
            continue
        held = lost.end if lost.held_by else 0
        extent = msgspec.structs.replace(
            extent, proved_end=max(extent.proved_end, lost.end), held_when_cut=max(extent.held_when_cut, held)
        )
        if lost.epoch is not None:
            span = EpochSpan(epoch=lost.epoch, start_offset=lost.start, end_offset=lost.end)
            extent = msgspec.structs.replace(
                extent, epochs=(*extent.epochs, span), log_end_offset=max(extent.log_end_offset, lost.end)
            )
    return extent
