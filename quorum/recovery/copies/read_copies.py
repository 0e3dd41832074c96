"""Reads the copies that a user names, each once, and batches of one copy again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.loaded_checkpoint import held_checkpoint
from metadata_log.storage.record_times import end_before
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, Stop
from metadata_log.tools.read.log_reader import LogReader
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.outvoted_checkpoints import without_outvoted
from quorum.recovery.copies.partition_proof import brokers_disks, is_bare_disk, with_partition_proofs
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place, disks_at, find_place, one_cluster


def read_copies(files: Files, paths: Sequence[str], others: Sequence[str] = ()) -> list[Copy]:
    """Read the copies at these paths, each once.

    Args:
        others: further copies, to compare with. A broker's disk without a metadata log may be among them: its partition
            directories prove commits.

    Raises:
        RefusedError: a path is no copy, names the same directory as another, or is of another cluster.
        OSError: a copy cannot be read.
    """
    disks = brokers_disks(files, [*paths, *others])
    bare = [path for path in others if is_bare_disk(files, path, disks)]
    places: dict[str, Place] = {}
    for path in (one for one in (*paths, *others) if one not in bare):
        place = _new_place(files, path, places)
        places[os.path.realpath(place.metadata)] = place
    without_log = [place for path in bare for place in disks_at(files, path)]
    every = [*places.values(), *without_log]
    one_cluster([place.identity for place in every], [place.log_dir for place in every])
    known = confirmed(files, [read_copy(files, place) for place in places.values()])
    return with_partition_proofs(files, known, disks)


def confirmed(files: Files, copies: Sequence[Copy]) -> list[Copy]:
    """Re-read each copy whose own sidecar files deny an epoch that other nodes' logs have.

    Such files are older than the log, for example in a copy of a running node's directory. A copy that begins with a
    checkpoint is read again, too, if other nodes' logs prove that the checkpoint has a wrong name.
    """
    known = [_with_confirmed(files, copy, copies) for copy in copies]
    return without_outvoted([_well_named(files, copy, known) for copy in known])


def _well_named(files: Files, copy: Copy, copies: Sequence[Copy]) -> Copy:
    """Return the copy, re-read without its origin if another node's log proves that checkpoint misnamed."""
    origin = copy.origin
    if origin is None or copy.epoch_at(int(origin.end.offset) - 1) >= 0:
        return copy
    said = _time_in_header(files, copy, origin)
    for other in copies:
        if other.node_id != copy.node_id and not other.is_damaged and _is_of_one_cluster(other, copy):
            found = None if said <= 0 else _elsewhere(files, other, origin.end, said)
            if found is not None:
                why = f"by its name it ends at offset {origin.end.offset}; what its header says that it ends with is "
                why += f"before offset {found} in the log of {other.label}"
                again = read_copy(files, copy.place, confirmed=copy.confirmed, misnamed={origin.name: why})
                return _well_named(files, again, copies)
    return copy


def _is_of_one_cluster(one: Copy, other: Copy) -> bool:
    mine, theirs = one.place.identity, other.place.identity
    return mine is not None and theirs is not None and mine.cluster_id == theirs.cluster_id


def _time_in_header(files: Files, copy: Copy, origin: CheckpointFile) -> int:
    return held_checkpoint(files, f"{copy.place.metadata}/{origin.name}", origin.end).last_contained_ms


def _elsewhere(files: Files, copy: Copy, end: OffsetAndEpoch, said: int) -> int | None:
    """Return where the record of time `said` ends in this log, if records of its epoch follow it before `end`."""
    span = next((span for span in copy.spans if span.epoch == end.epoch), None)
    if span is None:
        return None
    return end_before((batch.header for batch in batches_from(files, copy, span.start_offset)), end, said)


def _with_confirmed(files: Files, copy: Copy, copies: Sequence[Copy]) -> Copy:
    others = [other for other in copies if other.node_id != copy.node_id]
    stop = copy.stop
    if stop is None or stop.false_epoch is None or not any(_begins(other, stop) for other in others):
        return copy
    starts = [(span.epoch, span.start_offset) for other in others for span in other.spans]
    starts.append((stop.false_epoch, stop.offset))
    known = frozenset(EpochStart(epoch=Epoch(epoch), start_offset=Offset(offset)) for epoch, offset in starts)
    return read_copy(files, copy.place, confirmed=known)


def _begins(copy: Copy, stop: Stop) -> bool:
    """Return True if this log, too, has the epoch that `stop` rejects, even if its own sidecar files deny it."""
    own = copy.stop
    is_same = own is not None and (own.false_epoch, own.offset) == (stop.false_epoch, stop.offset)
    return is_same or copy.epoch_at(stop.offset) == stop.false_epoch


def _new_place(files: Files, path: str, known: dict[str, Place]) -> Place:
    """Return the log directory at `path`, refused if `known` has it. `known` is keyed by resolved paths of logs."""
    place = find_place(files, path)
    same = known.get(os.path.realpath(place.metadata))
    if same is not None and same.log_dir == place.log_dir:
        raise RefusedError(f"{place.log_dir} is named twice: name each copy once")
    if same is not None:
        raise RefusedError(f"{place.log_dir} and {same.log_dir} are one directory: name each copy once")
    return place


def batches_from(files: Files, copy: Copy, start: int) -> Iterator[LocatedBatch]:
    """Yield the batches of the valid prefix that end after `start`, in order."""
    for part in copy.prefix.segments:
        path = f"{copy.place.metadata}/{part.name}"
        for batch in LogReader(files, [path], start=part.skipped, end=part.valid_size).batches():
            if batch.header.next_offset > start:
                yield batch
