"""The files of a metadata log that goes on from a copy's valid prefix, in a new epoch and with other voters.

Decides: which files those are, and their content. Must not know: the reason, and how they are written.

No existing segment is extended: new records begin a segment of their own. A segment that ends in a torn write, zeros
or damage is replaced by its valid prefix. Otherwise Kafka would drop every later segment. If a segment begins with
damage that a checkpoint covers, its records from the checkpoint's end on become the first segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.directory import (
    COMMITTED_STATE_FILE,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
    CommittedState,
    QuorumState,
    format_partition_metadata,
    format_quorum_state,
)
from metadata_log.directory.committed_state import format_committed_state
from metadata_log.format.batch import build_control_batch
from metadata_log.format.epoch_file import EPOCH_FILE, format_epochs
from metadata_log.format.epochs import EpochHistory
from metadata_log.ids import METADATA_TOPIC_ID, NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import ControlRecord, LeaderChangeMessage, LeaderChangeVoter, encode_control
from metadata_log.storage.segment import segment_file
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, SegmentPart
from metadata_log.voters import VoterSet
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.changes import Content, FileChange

INDEX_SUFFIXES: Final = (".index", ".timeindex", ".txnindex", ".snapshot")


def opening_batch(
    copy: Copy, *, epoch: int, leader_id: int, voters: VoterSet | None, static_voters: Sequence[int] = (), now_ms: int
) -> bytes:
    """Return the batch that begins the new epoch at the copy's end: LeaderChange and, at kraft.version 1, the voters.

    Every epoch of a log begins with a LeaderChange. This one names the voters, but no granting voter. An elected leader
    has granted its own vote at least, so that the log itself distinguishes a repair from an election.
    """
    ids = [voter.key.node_id for voter in voters] if voters is not None else list(map(NodeId, static_voters))
    named = tuple(LeaderChangeVoter(voter_id=node_id) for node_id in ids)
    records: list[ControlRecord] = [LeaderChangeMessage(leader_id=NodeId(leader_id), voters=named, granting_voters=())]
    if voters is not None:
        records.append(voters.to_record())
    return build_control_batch(
        base_offset=copy.end.offset,
        epoch=Epoch(epoch),
        timestamp_ms=max(now_ms, copy.prefix.last_timestamp_ms),
        records=[encode_control(record) for record in records],
    )


def is_just_opened(copy: Copy) -> bool:
    """Return True if the copy's log ends with such a batch: no node has started from it since the repair."""
    records = 1 if copy.kraft_version == 0 else 2  # LeaderChange, and voters
    return copy.repair is not None and copy.repair.offset + records == copy.end.offset


def kept_log(copy: Copy, present: frozenset[str], *, in_place: bool) -> Iterator[FileChange]:
    """Yield segments and checkpoints of the copy's valid prefix, as changes to a directory with the files `present`.

    `in_place`: the directory is the copy's own. Files that are already right are then no change.
    """
    for part in copy.prefix.segments:
        if in_place and (part.kept_size == 0 or part.skipped):
            yield _removed(part.name)
        if part.kept_size and (not in_place or part.kept_size < part.size):
            yield _segment(copy, part)
    cut = [part for part in copy.prefix.segments if part.kept_size < part.size]
    if copy.short is not None:
        cut += copy.prefix.segments[-1:]
    if in_place:
        yield from (_removed(name) for name in sorted(present) if _proves_more(name, present, int(copy.end.offset)))
        # A `committed-state` past the end proves that committed records are missing.
        if copy.kept_committed > copy.end.offset:
            yield _lowered(copy)
    for part in cut:
        yield from (_removed(name) for name in _indexes_of(part.base) if in_place and name in present)
    for found in copy.prefix.checkpoints:
        is_before = copy.passed_over is not None and found.end.offset < copy.start_offset
        if in_place and (found.problem is not None or is_before or found.end.offset > copy.end.offset):
            yield _removed(found.name)
    if not in_place and copy.origin is not None:
        yield FileChange(name=_inside(copy.origin.name), content=_whole(copy, copy.origin))


def cut_log(copy: Copy, present: frozenset[str]) -> tuple[FileChange, ...]:
    """Return the changes that reduce the copy's directory to its valid prefix, with the epoch history that fits."""

    def changes() -> Iterator[FileChange]:
        yield from kept_log(copy, present, in_place=True)
        if not any(part.kept_size for part in copy.prefix.segments):
            yield FileChange(name=_inside(segment_file(int(copy.end.offset))), content=Content())
        yield _epochs(epochs_of(copy))

    return merged(changes())


def _lowered(copy: Copy) -> FileChange:
    """Return a `committed-state` for the shorter log. The former one, a proof of the cut records, stays in the backup.

    `received_end` voids an agent's journal: partitions that are younger than the log now are quarantined, not deleted.
    """
    end = copy.end.offset
    state = CommittedState(high_watermark=end, topic_id=copy.kept_id, received_end=end)
    return FileChange(name=_inside(COMMITTED_STATE_FILE), content=Content(data=format_committed_state(state)))


def _epochs(history: EpochHistory) -> FileChange:
    return FileChange(name=_inside(EPOCH_FILE), content=Content(data=format_epochs(history)))


def _proves_more(name: str, present: frozenset[str], end: int) -> bool:
    """Return True if a sidecar file of a segment implies records past `end`, or a segment that no longer exists."""
    if not name[:20].isdecimal() or name[20:] not in INDEX_SUFFIXES:
        return False
    return int(name[:20]) > end if name.endswith(".snapshot") else segment_file(int(name[:20])) not in present


def _segment(copy: Copy, part: SegmentPart) -> FileChange:
    source = f"{copy.place.metadata}/{part.name}"
    base = copy.start_offset if part.skipped else part.base
    content = Content(source=source, start=part.skipped, size=part.kept_size)
    return FileChange(name=_inside(segment_file(base)), content=content)


def _whole(copy: Copy, found: CheckpointFile) -> Content:
    return Content(source=f"{copy.place.metadata}/{found.name}", size=found.size)


def whole_log(
    source: Copy, batch: bytes | None, present: frozenset[str], *, in_place: bool, epoch: int, state: QuorumState
) -> Iterator[FileChange]:
    """Yield the changes that replace a directory's log by that of `source` and `batch` after it.

    `batch`: None if the log of `source` ends with that batch already.
    """
    if not in_place:
        yield from removed_log(present)
    yield from kept_log(source, present, in_place=in_place)
    if batch is None:
        yield from _fitting_files(epochs_of(source), present, state=state)
    else:
        yield from new_epoch_files(source, batch, present, epoch=epoch, state=state)


def new_epoch_files(
    copy: Copy, batch: bytes, present: frozenset[str], *, epoch: int, state: QuorumState
) -> Iterator[FileChange]:
    """Yield the segment that begins with `batch` at the copy's end, and the sidecar files that fit it."""
    base = int(copy.end.offset)
    yield FileChange(name=_inside(segment_file(base)), content=Content(data=batch))
    yield from (_removed(name) for name in _indexes_of(base) if name in present)
    yield from _fitting_files(epochs_of(copy).assign(Epoch(epoch), Offset(base)), present, state=state)


def _fitting_files(history: EpochHistory, present: frozenset[str], *, state: QuorumState) -> Iterator[FileChange]:
    """Yield the sidecar files of a log with that epoch history."""
    yield _epochs(history)
    yield FileChange(name=_inside(QUORUM_STATE_FILE), content=Content(data=format_quorum_state(state)))
    if PARTITION_METADATA_FILE not in present:
        data = format_partition_metadata(METADATA_TOPIC_ID)
        yield FileChange(name=_inside(PARTITION_METADATA_FILE), content=Content(data=data))


def epochs_of(copy: Copy) -> EpochHistory:
    """Return the epoch history of the copy's valid prefix, as `leader-epoch-checkpoint` has it."""
    history = EpochHistory()
    for span in copy.spans:
        history = history.assign(Epoch(span.epoch), Offset(span.start_offset))
    return history


def unvoted(epoch: int, *, kraft_version: int, static_voters: Sequence[int] = ()) -> QuorumState:
    """Return a quorum-state of a new epoch, without a leader and without a vote."""
    if kraft_version > 0:
        return QuorumState(leader_epoch=Epoch(epoch), data_version=1)
    return QuorumState(leader_epoch=Epoch(epoch), data_version=0, current_voters=tuple(map(NodeId, static_voters)))


def merged(changes: Iterator[FileChange]) -> tuple[FileChange, ...]:
    """Return one change for each file: the last of several."""
    by_name: dict[str, FileChange] = {}
    for change in changes:
        by_name.pop(change.name, None)
        by_name[change.name] = change
    return tuple(by_name.values())


def removed_log(present: frozenset[str]) -> Iterator[FileChange]:
    """Yield the removal of a log's segments, indexes and checkpoints: another log replaces it."""
    for name in sorted(present):
        of_segment = name[:20].isdecimal() and name[20:] in (".log", *INDEX_SUFFIXES)
        if of_segment or name.endswith(".checkpoint"):
            yield _removed(name)


def _indexes_of(base: int) -> list[str]:
    return [segment_file(base, suffix) for suffix in INDEX_SUFFIXES]


def _inside(name: str) -> str:
    return f"{METADATA_DIRECTORY}/{name}"


def _removed(name: str) -> FileChange:
    return FileChange(name=_inside(name), content=None)
