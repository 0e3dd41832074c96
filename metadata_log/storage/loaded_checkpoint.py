"""A checkpoint read whole: its image, and the voters at its end (KIP-630, KIP-853).

Decides: whether a log can begin with a checkpoint. Must not know: its origin, or the reaction to an invalid one.
"""

from __future__ import annotations

import msgspec

from metadata_log.errors import CorruptFileError, RecordError, UnknownRecordError
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage, ReplayError
from metadata_log.image.checkpoint import image_of_checkpoint
from metadata_log.image.known_partitions import read_for_replay
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import Checkpoint, check_epoch, read_checkpoint, snapshot_header
from metadata_log.storage.segment import Expected, read_batches
from metadata_log.voters import VoterHistory, VoterSet


class HeldCheckpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint on disk: its end, its size in bytes, and the timestamp (ms) of the last record that it covers."""

    end: OffsetAndEpoch
    size: int
    last_contained_ms: int


class LoadedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A sound checkpoint. It lacks `voters` (None) if they are static or no set was known at its end.

    `bootstrap_values` are the records in a checkpoint of offset 0 (KAFKA-19648). They are not part of the image: the
    first leader appends them to the log.
    """

    held: HeldCheckpoint
    image: MetadataImage
    kraft_version: int
    voters: VoterSet | None
    bootstrap_values: tuple[bytes, ...] = ()

    @property
    def end(self) -> OffsetAndEpoch:
        """The end of the log prefix that it replaces."""
        return self.held.end

    def voter_history(self, before: VoterHistory) -> VoterHistory:
        """Return the voter history of a log that begins with this checkpoint; `before` keeps its configured voters."""
        return before.begin_at(self.end.offset, self.voters)


def load_snapshot(files: Files, path: str, end: OffsetAndEpoch) -> LoadedSnapshot:
    """Read and check the whole checkpoint of `end` at `path`, and replay its records into an image.

    Raises:
        CorruptBatchError, CorruptFileError: it is corrupt, incomplete, or of another epoch.
        InvalidVoterError: two of its voters have the same node id.
        UnknownRecordError: newer software wrote it.
        OSError: it cannot be read.
    """
    checkpoint = read_checkpoint(files, path)
    for batch in checkpoint.batches:
        check_epoch(batch, path, end)
    if checkpoint.newer:
        raise checkpoint.newer[0]
    timestamp_ms = checkpoint.header.last_contained_log_timestamp
    return LoadedSnapshot(
        held=HeldCheckpoint(
            end=end,
            size=sum(batch.header.size_in_bytes for batch in checkpoint.batches),
            last_contained_ms=timestamp_ms,
        ),
        image=_image(checkpoint, path, end),
        kraft_version=checkpoint.kraft_version,
        voters=None if checkpoint.voters is None else VoterSet.from_record(checkpoint.voters, path),
        bootstrap_values=tuple(checkpoint.values()) if end.offset == 0 else (),
    )


def _image(checkpoint: Checkpoint, path: str, end: OffsetAndEpoch) -> MetadataImage:
    """Return the image; at offset 0 it is empty, since the first controller appends those records to the log."""
    if end.offset == 0:
        return MetadataImage.empty()
    records = map(read_for_replay, checkpoint.values())
    try:
        return image_of_checkpoint(
            records, end=end, last_contained_timestamp_ms=checkpoint.header.last_contained_log_timestamp
        )
    except UnknownRecordError:
        raise
    except (RecordError, ReplayError) as error:
        raise CorruptFileError(path, str(error)) from error


def held_checkpoint(files: Files, path: str, end: OffsetAndEpoch) -> HeldCheckpoint:
    """Return the checkpoint's size and the timestamp in its header record, without reading the rest.

    Raises:
        CorruptBatchError, CorruptFileError: its first batch is not a sound header.
        OSError: it cannot be read.
    """
    handle = files.open(path, read_only=True)
    try:
        size = handle.size()
        first = next(read_batches(handle, path, expected=Expected(offset=Offset(0))), None)
    finally:
        handle.close()
    return HeldCheckpoint(
        end=end, size=size, last_contained_ms=snapshot_header(first, path).last_contained_log_timestamp
    )
