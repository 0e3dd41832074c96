"""Read the copies at the paths that a user names, each once, and the batches of one again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.loaded_checkpoint import held_checkpoint
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix.prefix_parts import CheckpointFile, Stop
from metadata_log.tools.read.log_reader import LogReader
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place, find_place


def read_copies(files: Files, paths: Sequence[str]) -> list[Copy]:
    """The copies at these paths, each once.

    Raises:
        RefusedError: one is none.
        OSError: one cannot be read.
    """
    places: dict[str, Place] = {}
    for path in paths:
        place = _new_place(files, path, places)
        places[os.path.realpath(place.metadata)] = place
    return confirmed(files, [read_copy(files, place) for place in places.values()])


def confirmed(files: Files, copies: Sequence[Copy]) -> list[Copy]:
    """The same, with all read once more that end before an epoch which their own files deny and other nodes' logs have:
    then those files are older than the log, as where it was copied from a running node. So are those that begin with a
    checkpoint whose name other nodes' logs deny."""
    known = [_with_confirmed(files, copy, copies) for copy in copies]
    return [_well_named(files, copy, known) for copy in known]


def _well_named(files: Files, copy: Copy, copies: Sequence[Copy]) -> Copy:
    """Return the copy, read again without its origin where another node's log proves that this is misnamed."""
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
    """Return where a batch of that epoch and time ends, if a later one of the epoch follows it before `end`.

    An epoch has one leader, whose batches have times that do not fall: no record of `said` is at `end` then.
    """
    span = next((span for span in copy.spans if span.epoch == end.epoch), None)
    if span is None:
        return None
    found = None
    for batch in batches_from(files, copy, span.start_offset):
        header = batch.header
        if header.base_offset >= min(int(end.offset), span.end_offset):
            break
        if found is not None and header.max_timestamp > said:
            return found
        if header.max_timestamp == said:
            found = int(header.next_offset)
    return None


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
    """Whether this log has the epoch there that another one's files deny, be it that its own do, too."""
    own = copy.stop
    is_same = own is not None and (own.false_epoch, own.offset) == (stop.false_epoch, stop.offset)
    return is_same or copy.epoch_at(stop.offset) == stop.false_epoch


def _new_place(files: Files, path: str, known: dict[str, Place]) -> Place:
    """`known`: those before, by the paths of their logs with links resolved."""
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
