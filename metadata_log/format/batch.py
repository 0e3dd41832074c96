"""Kafka's record batch, version 2: building, checking and reading one. FORMAT.md draws the bytes.

Decides: which bytes are a sound batch. Must not know: what the values mean (`records` does), or the position of a batch
in its file. Batches are written uncompressed; reading a compressed batch raises (KRaft never writes one).

The buffers that are read may be `bytes`, `bytearray` or `memoryview`; `bytes` is fastest. Offsets of the records of a
batch are contiguous: nothing compacts the metadata log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from metadata_log.counts import counted, counted_are, counted_do
from metadata_log.errors import CorruptBatchError, InvariantViolation, UnsupportedBatchError
from metadata_log.format.crc import crc32c
from metadata_log.format.frame_tables import BARE, DELTA_BOUNDS, DELTAS, FRAMES
from metadata_log.format.varint import read_varint, varint
from metadata_log.offsets import Epoch, Offset

Buffer: TypeAlias = bytes | bytearray | memoryview

MAGIC: Final = 2
LOG_OVERHEAD: Final = 12
"""The bytes of base offset and length, which the length itself does not count."""
HEADER_SIZE: Final = 61
LARGEST_BATCH: Final = 256 << 20
"""No controller writes a tenth of this. A greater length is corruption; a reader must not allocate memory for it."""
CRC_POSITION: Final = 17
CRC_COVERS_FROM: Final = 21
"""The checksum leaves out base offset, length, epoch and magic: a leader may set them without computing it again."""

_COMPRESSION_MASK: Final = 0x07
_LEAST_RUN: Final = 8
"""The fewest records of equal sizes for which a search for a run pays off."""
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_HEADER = struct.Struct(">qiibIhiqqqhii")
_HEAD = struct.Struct(">qiibI")
_TAIL = struct.Struct(">hiqqqhii")


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The 61 bytes that begin a batch. Timestamps are ms since 1970; `size_in_bytes` counts the whole batch."""

    base_offset: Offset
    size_in_bytes: int
    partition_leader_epoch: Epoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def is_control(self) -> bool:
        """True if its records are Raft's own (LeaderChange, voters, …), not metadata."""
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        """True if it belongs to a producer's transaction, which no batch of a metadata log does."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def compression(self) -> str:
        """The name of the compression; `none` in every metadata log."""
        number = self.attributes & _COMPRESSION_MASK
        return _COMPRESSIONS[number] if number < len(_COMPRESSIONS) else f"codec {number}"

    @property
    def last_offset(self) -> Offset:
        """The offset of its last record."""
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def next_offset(self) -> Offset:
        """One past its last record: the base offset of the next batch."""
        return Offset(self.base_offset + self.last_offset_delta + 1)


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record of a batch, undecoded."""

    offset: Offset
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def build_batch(*, base_offset: Offset, epoch: Epoch, timestamp_ms: int, values: Sequence[bytes]) -> bytes:
    """Return a data batch as Kafka's controllers write it: one record a value, no keys, one timestamp.

    Raises:
        InvariantViolation: there is no value.
    """
    count = len(values)
    if count == 0:
        raise InvariantViolation("a batch holds at least one record")
    parts: list[bytes] = []
    remaining = iter(values)
    first = 0
    for bound, size in DELTA_BOUNDS:
        if first >= count:
            break
        frames = FRAMES[size]
        delta = first
        if bound <= len(DELTAS):
            for value in islice(remaining, bound - first):
                before, after = frames[len(value)]
                parts += (before, DELTAS[delta], after, value)
                delta += 1
        else:
            for value in islice(remaining, bound - first):
                before, after = frames[len(value)]
                parts += (before, varint(delta), after, value)
                delta += 1
        first = bound
    parts[0] = parts[0][1:]
    parts.append(b"\x00")
    return _assemble(base_offset, epoch, timestamp_ms, 0, count, b"".join(parts))


def build_control_batch(
    *, base_offset: Offset, epoch: Epoch, timestamp_ms: int, records: Sequence[tuple[bytes, bytes]]
) -> bytes:
    """Return a control batch with one record for each (key, value) pair.

    Raises:
        InvariantViolation: there is no record.
    """
    if not records:
        raise InvariantViolation("a batch holds at least one record")
    parts: list[bytes] = []
    for delta, (key, value) in enumerate(records):
        body = b"".join((b"\x00\x00", varint(delta), varint(len(key)), key, varint(len(value)), value, b"\x00"))
        parts += (varint(len(body)), body)
    return _assemble(base_offset, epoch, timestamp_ms, _CONTROL, len(records), b"".join(parts))


def _assemble(base_offset: int, epoch: int, timestamp_ms: int, attributes: int, count: int, body: bytes) -> bytes:
    tail = _TAIL.pack(attributes, count - 1, timestamp_ms, timestamp_ms, -1, -1, -1, count)
    checksum = crc32c(body, crc32c(tail))
    length = HEADER_SIZE - LOG_OVERHEAD + len(body)
    return _HEAD.pack(base_offset, length, epoch, MAGIC, checksum) + tail + body


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at `position`. Only its magic and the least possible length are checked.

    Raises:
        CorruptBatchError: fewer than 61 bytes are left, the magic is not 2, or the length is less than a header's.
    """
    try:
        base, length, epoch, magic, crc, attributes, delta, base_time, max_time, pid, pepoch, seq, count = (
            _HEADER.unpack_from(buffer, position)
        )
    except struct.error as error:
        what = f"{counted_are(len(buffer) - position, 'byte')} left, too few for a header of 61"
        raise CorruptBatchError(what, position=position) from error
    if magic != MAGIC:
        raise CorruptBatchError(f"magic is {magic}, not {MAGIC}", position=position)
    if length < HEADER_SIZE - LOG_OVERHEAD:
        raise CorruptBatchError(f"length is {length}, less than a header's", position=position, base_offset=base)
    return BatchHeader(
        base_offset=base,
        size_in_bytes=length + LOG_OVERHEAD,
        partition_leader_epoch=epoch,
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=delta,
        base_timestamp=base_time,
        max_timestamp=max_time,
        producer_id=pid,
        producer_epoch=pepoch,
        base_sequence=seq,
        count=count,
    )


def computed_checksum(buffer: Buffer, header: BatchHeader, position: int = 0) -> int:
    """Return the CRC-32C of a whole batch. It equals `header.crc` unless the bytes were changed."""
    return crc32c(memoryview(buffer)[position + CRC_COVERS_FROM : position + header.size_in_bytes])


def check_batch(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header of the batch at `position` after checking checksum, counts and the framing of its records.

    Raises:
        CorruptBatchError: a check fails.
        UnsupportedBatchError: the batch is sound, but compressed.
    """
    header = parse_header(buffer, position)
    if position + header.size_in_bytes > len(buffer):
        _refuse(header, position, f"it has {header.size_in_bytes} bytes, of which {len(buffer) - position} are there")
    checksum = computed_checksum(buffer, header, position)
    if checksum != header.crc:
        _refuse(header, position, f"its checksum is {checksum:#010x}, but {header.crc:#010x} is written")
    if header.count < 1 or header.last_offset_delta != header.count - 1:
        count = counted(header.count, "record")
        _refuse(header, position, f"it counts {count} up to offset delta {header.last_offset_delta}")
    if header.base_offset < 0:
        _refuse(header, position, "its base offset is negative")
    if header.partition_leader_epoch < 0:
        _refuse(header, position, f"its leader epoch is {header.partition_leader_epoch}")
    if header.attributes & _COMPRESSION_MASK:
        raise UnsupportedBatchError.compressed(position, header.base_offset, header.compression)
    _check_framing(buffer, header, position)
    return header


def _refuse(header: BatchHeader, position: int, what: str) -> None:
    raise CorruptBatchError(what, position=position, base_offset=header.base_offset)


def _check_framing(buffer: Buffer, header: BatchHeader, position: int) -> None:
    """Raise CorruptBatchError unless the batch's records, by their lengths, fill it exactly."""
    end = position + header.size_in_bytes
    try:
        at = _records_end(buffer, position + HEADER_SIZE, end, header.count)
    except (IndexError, ValueError):
        at = end + 1
    if at != end:
        _refuse(header, position, f"its {counted_do(header.count, 'record')} not fill its {header.size_in_bytes} bytes")


def _records_end(buffer: Buffer, at: int, end: int, left: int) -> int:
    """Return the position after `left` records that begin at `at`, by their lengths; `end` is where they should end.

    Raises:
        IndexError, ValueError: a length leads out of the buffer, is negative, or is not a varint.
    """
    before = two_before = -1
    pause = _LEAST_RUN
    while left > 0:
        start = at
        first = buffer[at]
        if first < 0x80:
            at += 1 + (first >> 1)
        elif (second := buffer[at + 1]) < 0x80:
            at += 2 + ((first & 0x7F | second << 7) >> 1)
        else:
            length, at = read_varint(buffer, at)
            if length < 0:  # it would lead backwards, and a large record count would loop for a long time
                raise ValueError("a record of negative length")
            at, before, two_before, pause = at + length, -1, -1, _LEAST_RUN
            left -= 1
            continue
        left -= 1
        pause -= 1
        size = at - start
        if pause < 0 and left >= _LEAST_RUN:
            sizes = (size,) if size == before else (before, size) if size == two_before else ()
            runs = _runs(buffer, at, end, left, sizes) if sizes else 0
            at += runs * sum(sizes)
            left -= runs * len(sizes)
            pause = 0 if runs >= _LEAST_RUN else _LEAST_RUN
        before, two_before = size, before
    return at


def _runs(buffer: Buffer, at: int, end: int, left: int, sizes: tuple[int, ...]) -> int:
    """Return how often records of these sizes, in turn, repeat from `at` on.

    The records of these sizes end at `at`. The length bytes one stride apart are compared in one slice, so that a log
    of many topics or partitions is checked many times faster.
    """
    stride = sum(sizes)
    runs = min(left // len(sizes), (end - at) // stride)
    for size in sizes:
        for byte in (0, 1) if buffer[at - stride] >= 0x80 else (0,):
            if runs <= 0:
                return 0
            seen = bytes(buffer[at + byte : at + byte + (runs - 1) * stride + 1 : stride])
            runs = len(seen) - len(seen.lstrip(bytes((buffer[at - stride + byte],))))
        at += size
    return runs


def batch_values(buffer: Buffer, header: BatchHeader, position: int = 0) -> list[bytes]:
    """Return the values, in order, of a data batch that `check_batch` has accepted.

    Raises:
        CorruptBatchError: a record's inner framing is wrong, or a value is null.
    """
    data = buffer if type(buffer) is bytes else bytes(memoryview(buffer)[: position + header.size_in_bytes])
    at = position + HEADER_SIZE
    values: list[bytes] = []
    append = values.append
    bare, bound = BARE[1], 1 << 6
    try:
        for delta in range(header.count):
            if delta == bound:
                bare, bound = (BARE[2], 1 << 13) if bound == 1 << 6 else (BARE[3], -1)
            first = data[at]
            if first < 0x80:
                length, start = first >> 1, at + 1
            elif (second := data[at + 1]) < 0x80:
                length, start = (first & 0x7F | second << 7) >> 1, at + 2
            else:
                length, start = read_varint(data, at)
            at = start + length
            key_at, value_at, value_length = bare[length]
            if data[start + key_at] == 1 and data[start + key_at + 1] == value_length and data[at - 1] == 0:
                append(data[start + value_at : at - 1])
                continue
            value = _read_record(data, start, at, header).value
            if value is None:
                raise ValueError("its value is null")
            append(value)
    except (ValueError, IndexError) as error:
        fault = f"record {len(values)} of it is malformed: {error}"
        raise CorruptBatchError(fault, position=position, base_offset=header.base_offset) from error
    return values


def batch_records(buffer: Buffer, header: BatchHeader, position: int = 0) -> list[Record]:
    """Return every record of a data or control batch, with offset, timestamp, key and headers.

    Raises:
        CorruptBatchError: a record's inner framing is wrong.
    """
    data = bytes(memoryview(buffer)[position : position + header.size_in_bytes])
    at, records = HEADER_SIZE, list[Record]()
    try:
        for _ in range(header.count):
            length, at = read_varint(data, at)
            records.append(_read_record(data, at, at + length, header))
            at += length
    except (ValueError, IndexError) as error:
        fault = f"record {len(records)} of it is malformed: {error}"
        raise CorruptBatchError(fault, position=position, base_offset=header.base_offset) from error
    return records


def _read_record(data: bytes, at: int, end: int, header: BatchHeader) -> Record:
    """Decode the record whose bytes, after its length, are `data[at:end]`.

    Raises:
        ValueError, IndexError: it is malformed.
    """
    timestamp_delta, at = read_varint(data, at + 1)
    offset_delta, at = read_varint(data, at)
    key, at = _read_bytes(data, at, end)
    value, at = _read_bytes(data, at, end)
    header_count, at = read_varint(data, at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(header_count):
        name, at = _read_bytes(data, at, end)
        content, at = _read_bytes(data, at, end)
        if name is None:
            raise ValueError("a header has no name")
        headers.append((name.decode("utf-8"), content))
    if at != end:
        raise ValueError(f"it ends {counted(end - at, 'byte')} before its length says")
    return Record(
        offset=Offset(header.base_offset + offset_delta),
        timestamp_ms=header.base_timestamp + timestamp_delta,
        key=key,
        value=value,
        headers=tuple(headers),
    )


def _read_bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise ValueError(f"a field of {counted(length, 'byte')} passes its end")
    return data[at : at + length], at + length


def iter_batches(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each batch in a buffer of whole batches. `check_batch` checks more than the header.

    Raises:
        CorruptBatchError: the next bytes cannot begin a batch, or the batch is not whole.
    """
    position = 0
    while position < len(buffer):
        header = parse_header(buffer, position)
        if position + header.size_in_bytes > len(buffer):
            _refuse(header, position, f"{len(buffer) - position} of its {header.size_in_bytes} bytes are there")
        yield position, header
        position += header.size_in_bytes
