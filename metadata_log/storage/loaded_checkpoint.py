"""A checkpoint read back whole: the image that it holds, and who voted at its end (KIP-630, KIP-853).

Decides: what makes a checkpoint fit to begin from. Must not know: where it came from, and what becomes of a bad one.
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
    """A sound checkpoint. `voters` is None where it names none: they are static, or it ends before any were known.

    `bootstrap_values` are the records in a checkpoint of offset 0, which are no state (KAFKA-19648): the first leader
    writes them into the log.
    """

    held: HeldCheckpoint
    image: MetadataImage
    kraft_version: int
    voters: VoterSet | None
    bootstrap_values: tuple[bytes, ...] = ()

    @property
    def end(self) -> OffsetAndEpoch:
        """Of the log that it stands for."""
        return self.held.end

    def voter_history(self, before: VoterHistory) -> VoterHistory:
        """Who votes once the log begins with this checkpoint; where it says nothing, what was configured stays."""
        return before.begin_at(self.end.offset, self.voters)


def load_snapshot(files: Files, path: str, end: OffsetAndEpoch) -> LoadedSnapshot:
    """Read the checkpoint at `path`, which must be the one of `end`, check all of it, and make its image.

    Raises:
        CorruptBatchError, CorruptFileError: it is damaged, not whole, or another one.
        InvalidVoterError: its voters contradict each other.
        UnknownRecordError: it was written by newer software.
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
        voters=None if checkpoint.voters is None else VoterSet.from_record(checkpoint.voters),
        bootstrap_values=tuple(checkpoint.values()) if end.offset == 0 else (),
    )


def _image(checkpoint: Checkpoint, path: str, end: OffsetAndEpoch) -> MetadataImage:
    """That at offset 0 is empty whatever the file says: a first controller writes those records into the log itself."""
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
    """What the file's size and header say, without reading the rest.

    Raises:
        CorruptBatchError, CorruptFileError: its first batch is no sound header.
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
