"""Reads the fixtures' logs and checkpoints with the batch and record codecs alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from metadata_log.format.batch import BatchHeader, batch_records, batch_values, iter_batches
from metadata_log.image import MetadataImage, Replayer, image_of_checkpoint
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import MetadataRecord, SnapshotHeaderRecord, decode_control, decode_versioned

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


class Batch(msgspec.Struct, frozen=True):
    """One batch of a log."""

    header: BatchHeader
    values: list[bytes]


class Checkpoint(msgspec.Struct, frozen=True):
    """A checkpoint file: its id, the timestamp in its header, its metadata records with their versions."""

    end: OffsetAndEpoch
    timestamp_ms: int
    records: list[tuple[MetadataRecord, int]]

    @property
    def image(self) -> MetadataImage:
        return image_of_checkpoint(
            [record for record, _ in self.records], end=self.end, last_contained_timestamp_ms=self.timestamp_ms
        )


def log_directories() -> list[Path]:
    """Return every metadata log in the fixtures."""
    return sorted({path.parent for path in FIXTURES.rglob("__cluster_metadata-0/*.log")})


def directory_id(directory: Path) -> str:
    """Return the name of a directory's test case."""
    return str(directory.relative_to(FIXTURES).parent.parent)


def scenario_of(directory: Path) -> str:
    return directory.relative_to(FIXTURES).parts[0]


def batches(directory: Path) -> Iterator[Batch]:
    """Yield all batches of a log, segment after segment."""
    for segment in sorted(directory.glob("*.log")):
        data = segment.read_bytes()
        for position, header in iter_batches(data):
            yield Batch(header, [] if header.is_control else batch_values(data, header, position))


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a `.checkpoint` file."""
    offset, epoch = path.stem.split("-")
    timestamp_ms = -1
    records: list[tuple[MetadataRecord, int]] = []
    data = path.read_bytes()
    for position, header in iter_batches(data):
        if not header.is_control:
            records += [decode_versioned(value) for value in batch_values(data, header, position)]
            continue
        for control in batch_records(data, header, position):
            record = decode_control(control.key or b"", control.value or b"")
            if isinstance(record, SnapshotHeaderRecord):
                timestamp_ms = record.last_contained_log_timestamp
    return Checkpoint(OffsetAndEpoch(offset=Offset(int(offset)), epoch=Epoch(int(epoch))), timestamp_ms, records)


def checkpoints(scenario: str) -> dict[OffsetAndEpoch, list[Checkpoint]]:
    """Return the checkpoints of all nodes of a scenario, by their ids; those at offset 0 hold no metadata."""
    found: dict[OffsetAndEpoch, list[Checkpoint]] = {}
    for path in sorted((FIXTURES / scenario).rglob("__cluster_metadata-0/*.checkpoint")):
        checkpoint = read_checkpoint(path)
        if checkpoint.end.offset > 0:
            found.setdefault(checkpoint.end, []).append(checkpoint)
    return found


def replay(directory: Path) -> Iterator[Replayer]:
    """Yield the Replayer after each batch.

    It starts at the log's start; if that is above offset 0, at the node's first checkpoint there.
    """
    replayer = Replayer.start(_first_image(directory))
    for batch in batches(directory):
        if batch.header.base_offset >= replayer.end.offset:
            replayer = replayer.on_batch(batch.header, batch.values)
            yield replayer


def first_end(directory: Path) -> OffsetAndEpoch:
    """Return the end of the image that `replay` begins with."""
    return _first_image(directory).offset_and_epoch


def final_image(directory: Path) -> MetadataImage:
    """Return the image at the log's end."""
    *_, last = replay(directory)
    return last.image


def _first_image(directory: Path) -> MetadataImage:
    start = min(int(segment.stem) for segment in directory.glob("*.log"))
    if start == 0:
        return MetadataImage.empty()
    own = [read_checkpoint(path) for path in sorted(directory.glob("*.checkpoint"))]
    return min((checkpoint for checkpoint in own if checkpoint.end.offset >= start), key=_offset).image


def _offset(checkpoint: Checkpoint) -> int:
    return checkpoint.end.offset
