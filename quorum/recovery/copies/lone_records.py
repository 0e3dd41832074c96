"""Judges the records that only one copy has by the rules of `kraft check`.

Decides: which records these are, and the image before them. Must not know: the rules.

A record that several logs have was replicated, and no choice between the logs depends on it. A record at the end of one
log may be forged. If a node starts from that log, it may be elected, and all others get the record. The rules need the
image before it. Another copy ends there and has it, so that no log is replayed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.files.port import Files
from metadata_log.format.batch import batch_values
from metadata_log.image import MetadataImage
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.findings.finding import Finding, sort_findings
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.read.batch_sums import RANGE_BITS
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.records import RecordRules
from quorum.recovery.copies.log_copy import Copy


def with_lone_records(files: Files, copies: Sequence[Copy]) -> list[Copy]:
    """Return the copies; the facts of each one have the findings on records that no other copy has.

    Raises:
        OSError: a segment cannot be read again.
    """
    return [_judged(files, copy, copies) for copy in copies]


def _judged(files: Files, copy: Copy, copies: Sequence[Copy]) -> Copy:
    replica, before = copy.replica, _image_before(copy, copies)
    if replica is None or before is None or copy.is_damaged or copy.used_by is not None:
        return copy
    found = tuple(_findings(files, copy, *before))
    if not found:
        return copy
    facts = msgspec.structs.replace(replica.facts, findings=sort_findings((*replica.facts.findings, *found)))
    return msgspec.structs.replace(copy, replica=msgspec.structs.replace(replica, facts=facts))


def _image_before(copy: Copy, copies: Sequence[Copy]) -> tuple[int, MetadataImage] | None:
    """Return the end of the furthest other copy that this log goes on from, with its image; or None."""
    ends = [other for other in copies if other is not copy and _goes_on_from(copy, other)]
    furthest = max(ends, key=lambda other: int(other.end.offset), default=None)
    if furthest is None or furthest.image is None or any(_has_past(other, copy, furthest) for other in copies):
        return None
    return int(furthest.end.offset), furthest.image


def _goes_on_from(copy: Copy, other: Copy) -> bool:
    """Return True if this log has the last record of the other log, which replay came to, and more."""
    end, state = int(other.end.offset), other.state
    is_whole = state is not None and not state.replayer.in_transaction and not other.newer.parts
    return is_whole and 0 < end < copy.end.offset and copy.epoch_at(end - 1) == other.end.epoch


def _has_past(other: Copy, copy: Copy, furthest: Copy) -> bool:
    """Return True if the other log has this one's next record, too."""
    at = int(furthest.end.offset)
    return other is not copy and other.epoch_at(at) == copy.epoch_at(at)


def _findings(files: Files, copy: Copy, start: int, image: MetadataImage) -> Iterator[Finding]:
    sink = FindingSink(copy.node_id)
    rules = RecordRules(sink)
    rules.start(image, where=f"offset {start}")
    for path, batch in _batches_from(files, copy, start):
        header = batch.header
        if not header.is_control:
            place = Place(
                base_offset=header.base_offset, file=path, position=batch.position, epoch=header.partition_leader_epoch
            )
            rules.on_values(batch_values(batch.buffer, header, batch.at), header.base_offset, place)
    yield from sink.findings


def _batches_from(files: Files, copy: Copy, start: int) -> Iterator[tuple[str, LocatedBatch]]:
    """Yield the batches of the valid prefix from offset `start` on, each with its file."""
    first = next((one for one in copy.prefix.sums.batches([start >> RANGE_BITS]) if one[0] >= start), None)
    for part in copy.prefix.segments if first is not None and first[0] == start else ():
        path = f"{copy.place.metadata}/{part.name}"
        if first is not None and path >= first[5]:
            begin = first[6] if path == first[5] else part.skipped
            for batch in LogReader(files, [path], start=begin, end=part.valid_size).batches():
                yield path, batch
