"""Plants damage in copies of real clusters' directories: one function for each way, and the finding that must result.

This module has the tools; `damage_log`, `damage_records` and `damage_files` have the kinds.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.format.batch import (
    CRC_COVERS_FROM,
    CRC_POSITION,
    BatchHeader,
    batch_values,
    build_batch,
    build_control_batch,
    iter_batches,
    parse_header,
)
from metadata_log.format.crc import crc32c
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import ControlRecord, MetadataRecord, encode_control, encode_record

FIRST_SEGMENT = "00000000000000000000.log"


@dataclass(frozen=True)
class Planted:
    """The expected finding: kind, node, file, offset. `also`: kinds that follow from it, on any node."""

    kind: str
    node_id: int | None
    file: Path
    offset: int | None = None
    position: int | None = None
    also: frozenset[str] = frozenset()
    counts: bool = True


@dataclass(frozen=True)
class Damage:
    """One way to damage a cluster. `kraft check` on `paths` of the scenario must find what `plant` returns."""

    name: str
    scenario: str
    plant: Callable[[Cluster], Planted]
    paths: tuple[str, ...] = ()


@dataclass
class Cluster:
    """A writable copy of a scenario's nodes."""

    root: Path
    scenario: str = ""
    kept: dict[str, bytes] = field(default_factory=dict)

    def node(self, node_id: int) -> Path:
        """Return the node's directory."""
        return self.root / f"node-{node_id}"

    def disk(self, node_id: int) -> Path:
        """Return the node's log directory."""
        return self.node(node_id) / "data"

    def metadata(self, node_id: int) -> Path:
        """Return the directory of the node's metadata log."""
        return self.disk(node_id) / METADATA_DIRECTORY

    def segment(self, node_id: int, base: int = 0) -> Path:
        """Return one segment of the node's log."""
        return self.metadata(node_id) / f"{base:020d}.log"


def copy_cluster(source: Path, target: Path) -> Cluster:
    """Return a writable copy."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    return Cluster(root=target, scenario=source.name)


def split(path: Path) -> list[bytes]:
    """Return a file's batches as bytes."""
    data = path.read_bytes()
    return [data[position : position + header.size_in_bytes] for position, header in iter_batches(data)]


def write(path: Path, batches: Sequence[bytes]) -> None:
    """Write a file that consists of these batches."""
    path.write_bytes(b"".join(batches))


def place_of(path: Path, number: int) -> tuple[int, BatchHeader]:
    """Return position and header of a batch in a file."""
    return list(iter_batches(path.read_bytes()))[number]


def number_at(path: Path, offset: int) -> int:
    """Return the number of the batch in a file that holds this offset."""
    headers = [header for _, header in iter_batches(path.read_bytes())]
    return next(number for number, header in enumerate(headers) if header.base_offset <= offset <= header.last_offset)


def quiet_batch(path: Path, after: int = 5) -> int:
    """Return the number of a batch with a single NoOp, at least `after` batches from the file's start and end."""
    batches = split(path)
    return next(
        number
        for number, batch in enumerate(batches[:-after])
        if number >= after and batch.endswith(b"\x14\x00\x00\x00\x01\x08\x01\x14\x00\x00\x00") and len(batch) == 72
    )


def with_bytes(data: bytes, position: int, new: bytes) -> bytes:
    """Return `data` with `new` written over it at `position`."""
    return data[:position] + new + data[position + len(new) :]


def with_epoch(batch: bytes, epoch: int) -> bytes:
    """Return the batch with another epoch, which its checksum does not cover."""
    return with_bytes(batch, 12, struct.pack(">i", epoch))


def with_base(batch: bytes, offset: int) -> bytes:
    """Return the batch at another offset, which its checksum does not cover."""
    return with_bytes(batch, 0, struct.pack(">q", offset))


def sealed(batch: bytes) -> bytes:
    """Return the batch with the right checksum of its present bytes."""
    return with_bytes(batch, CRC_POSITION, struct.pack(">I", crc32c(batch[CRC_COVERS_FROM:])))


def other_bytes(batch: bytes) -> bytes:
    """Return a valid batch with the same offsets and epoch, written at another time."""
    header = parse_header(batch)
    return build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp + 1,
        values=batch_values(batch, header),
    )


def with_controls(batch: bytes, records: Sequence[ControlRecord]) -> bytes:
    """Return the control batch with other records and the right checksum."""
    header = parse_header(batch)
    return build_control_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        records=[encode_control(record) for record in records],
    )


def with_values(batch: bytes, values: Sequence[bytes]) -> bytes:
    """Return the data batch with other values and the right checksum."""
    header = parse_header(batch)
    return build_batch(
        base_offset=header.base_offset,
        epoch=header.partition_leader_epoch,
        timestamp_ms=header.max_timestamp,
        values=values,
    )


def append(path: Path, records: Sequence[MetadataRecord | bytes], version: int = 0) -> tuple[int, int]:
    """Append one batch to a log's last segment; return its offset and position. Bytes are taken unchanged as values."""
    batches = split(path)
    last = parse_header(batches[-1])
    values = [record if isinstance(record, bytes) else encode_record(record, version) for record in records]
    batch = build_batch(
        base_offset=Offset(last.next_offset),
        epoch=Epoch(last.partition_leader_epoch),
        timestamp_ms=last.max_timestamp,
        values=values,
    )
    position = path.stat().st_size
    path.write_bytes(path.read_bytes() + batch)
    return int(last.next_offset), position


def flip(file: Path) -> None:
    """Change a byte in the middle of the file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
