"""Read the copies at the paths that a user names, each once, and the batches of one again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix.prefix_parts import Stop
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
    then those files are older than the log, as where it was copied from a running node."""
    return [_with_confirmed(files, copy, copies) for copy in copies]


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
