"""Record batches: Kafka's bytes, rebuilt from their records; round trips; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import CorruptBatchError, InvariantViolation, UnsupportedBatchError
from metadata_log.format.batch import (
    HEADER_SIZE,
    batch_records,
    batch_values,
    build_batch,
    build_control_batch,
    check_batch,
    iter_batches,
    parse_header,
)
from metadata_log.format.batch import _records_end as records_end
from metadata_log.format.crc import crc32c
from metadata_log.format.frame_tables import DELTAS
from metadata_log.format.varint import read_varint, varint
from metadata_log.offsets import Epoch, Offset

FIXTURES = Path(__file__).parents[3] / "fixtures"
KAFKA_FILES = sorted(
    path
    for path in FIXTURES.glob("*/node-*/**/*")
    if path.suffix in (".log", ".checkpoint") and (path.parent.name == "__cluster_metadata-0" or path.suffix != ".log")
)

offsets = st.integers(min_value=0, max_value=2**62).map(Offset)
epochs = st.integers(min_value=0, max_value=2**31 - 1).map(Epoch)
timestamps = st.integers(min_value=0, max_value=2**45)


def batch_of(*values: bytes, base_offset: int = 7) -> bytes:
    return build_batch(base_offset=Offset(base_offset), epoch=Epoch(3), timestamp_ms=1_700_000_000_000, values=values)


def test_there_are_files_of_kafka() -> None:
    assert len(KAFKA_FILES) >= 9


@pytest.mark.parametrize("path", KAFKA_FILES, ids=lambda path: "-".join(path.relative_to(FIXTURES).parts))
def test_kafkas_batches_are_rebuilt_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    seen = 0
    for position, unchecked in iter_batches(data):
        header = check_batch(data, position)
        assert header == unchecked
        records = batch_records(data, header, position)
        assert [record.offset for record in records] == list(range(header.base_offset, header.next_offset))
        whole = data[position : position + header.size_in_bytes]
        place = {"base_offset": header.base_offset, "epoch": header.partition_leader_epoch}
        if header.is_control:
            pairs = [(record.key or b"", record.value or b"") for record in records]
            assert build_control_batch(**place, timestamp_ms=header.base_timestamp, records=pairs) == whole
        else:
            values = batch_values(data, header, position)
            assert values == [record.value for record in records]
            assert build_batch(**place, timestamp_ms=header.base_timestamp, values=values) == whole
        seen += header.size_in_bytes
    assert seen == len(data) > 0


@given(offsets, epochs, timestamps, st.lists(st.binary(max_size=300), min_size=1, max_size=150), st.binary(max_size=9))
def test_values_come_back(base: Offset, epoch: Epoch, timestamp: int, values: list[bytes], before: bytes) -> None:
    data = before + build_batch(base_offset=base, epoch=epoch, timestamp_ms=timestamp, values=values) + b"\x02" * 70
    for buffer in (data, bytearray(data), memoryview(data)):
        header = check_batch(buffer, len(before))
        assert (header.base_offset, header.partition_leader_epoch, header.count) == (base, epoch, len(values))
        assert header.base_timestamp == header.max_timestamp == timestamp
        assert batch_values(buffer, header, len(before)) == values
        records = batch_records(buffer, header, len(before))
        assert [record.value for record in records] == values
        assert all(record.key is None and record.timestamp_ms == timestamp for record in records)


@given(offsets, epochs, timestamps, st.lists(st.tuples(st.binary(max_size=99), st.binary(max_size=99)), min_size=1))
def test_control_records_come_back(
    base: Offset, epoch: Epoch, timestamp: int, pairs: list[tuple[bytes, bytes]]
) -> None:
    data = build_control_batch(base_offset=base, epoch=epoch, timestamp_ms=timestamp, records=pairs)
    header = check_batch(data)
    assert header.is_control
    assert [(record.key, record.value) for record in batch_records(data, header)] == pairs


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("size", [0, 1, 57, 58, 59, 63, 64, 8190, 9000])
def test_every_width_of_offset_and_length(count: int, size: int) -> None:
    values = [bytes(size)] * min(count, 70) + [b"x"] * (count - min(count, 70))
    data = batch_of(*values)
    header = check_batch(data)
    assert batch_values(data, header) == values
    last = batch_records(data, header)[-1]
    assert (last.offset, last.value) == (7 + count - 1, values[-1])


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1), st.binary(max_size=5))
def test_varints_come_back(value: int, around: bytes) -> None:
    data = around + varint(value) + around
    assert read_varint(data, len(around)) == (value, len(data) - len(around))


@given(
    pattern=st.lists(st.integers(min_value=0, max_value=9000), min_size=1, max_size=4),
    repeats=st.integers(min_value=1, max_value=60),
    odd=st.dictionaries(st.integers(min_value=0, max_value=239), st.integers(min_value=0, max_value=300), max_size=3),
    flips=st.lists(st.tuples(st.floats(min_value=0, max_value=0.999), st.integers(0, 7)), max_size=2),
)
def test_records_alike_are_framed_as_one_by_one(
    pattern: list[int], repeats: int, odd: dict[int, int], flips: list[tuple[float, int]]
) -> None:
    """Records of the same lengths are looked at in strides; what breaks a run, or lies about a length, shows."""
    sizes = [odd.get(index, size) for index, size in enumerate(pattern * repeats)]
    data = bytearray(b"".join(varint(size) + bytes(size) for size in sizes))
    for where, bit in flips:
        data[int(where * len(data))] ^= 1 << bit
    content = bytes(data)
    try:
        ended = records_end(content, 0, len(content), len(sizes))
    except (IndexError, ValueError):
        ended = -1
    expected = _plain_end(content, len(sizes))
    assert (ended == len(content)) == (expected == len(content))


def _plain_end(data: bytes, left: int) -> int:
    at = 0
    for _ in range(left):
        if at >= len(data):
            return -1
        first = data[at]
        if first < 0x80:
            at += 1 + (first >> 1)
        elif at + 1 < len(data) and data[at + 1] < 0x80:
            at += 2 + ((first & 0x7F | data[at + 1] << 7) >> 1)
        else:
            try:
                length, at = read_varint(data, at)
            except (IndexError, ValueError):
                return -1
            if length < 0:
                return -1
            at += length
    return at


def test_the_table_of_offset_deltas_is_of_varints() -> None:
    assert list(DELTAS) == [varint(delta) for delta in range(1 << 13)]


def test_a_varint_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end within 10 bytes"):
        read_varint(b"\xff" * 11, 0)


def test_no_bit_of_a_batch_that_the_checksum_covers_may_change() -> None:
    data = batch_of(b"one", b"two" * 30)
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            if position < 8 or 12 <= position < 16:
                # The checksum covers neither base offset nor epoch; their neighbours show the fault (`log_recovery`).
                header = parse_header(changed)
                assert (header.base_offset, header.partition_leader_epoch) != (7, 3)
                continue
            with pytest.raises(CorruptBatchError):
                check_batch(changed)


def test_a_batch_that_is_cut_anywhere_is_refused() -> None:
    data = batch_of(b"one", b"two" * 30)
    for size in range(len(data)):
        with pytest.raises(CorruptBatchError):
            check_batch(data[:size])
        if size:
            with pytest.raises(CorruptBatchError):
                list(iter_batches(data + data[:size]))


def test_errors_say_where() -> None:
    data = batch_of(b"one") + batch_of(b"two", base_offset=8)
    second = len(data) // 2
    broken = bytearray(data)
    broken[-2] ^= 1
    with pytest.raises(CorruptBatchError) as caught:
        check_batch(broken, second)
    assert (caught.value.position, caught.value.base_offset, caught.value.file) == (second, 8, None)
    in_file = caught.value.in_file("7.log", shift=1000)
    assert str(in_file).startswith(
        f"corrupt record batch at 7.log, position {1000 + second}, offset 8: its checksum is"
    )


def resealed(data: bytearray) -> bytes:
    """The batch with a checksum that fits its bytes: what a wrong writer, not a bad disk, would leave."""
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def test_a_compressed_batch_is_refused_by_name() -> None:
    data = bytearray(batch_of(b"one"))
    data[22] |= 4
    with pytest.raises(UnsupportedBatchError, match=r"offset 7, is compressed \(zstd\)"):
        check_batch(resealed(data))


@pytest.mark.parametrize(
    ("position", "value", "fault"),
    [
        (26, 5, "counts 2 records up to offset delta 5"),
        (60, 3, "counts 3 records up to offset delta 1"),
        (HEADER_SIZE, 0x40, "do not fill"),
    ],
)
def test_counts_and_framing_are_checked_under_a_sound_checksum(position: int, value: int, fault: str) -> None:
    data = bytearray(batch_of(b"one", b"two"))
    data[position] = value
    with pytest.raises(CorruptBatchError, match=fault):
        check_batch(resealed(data))


@pytest.mark.parametrize(("at", "value"), [(4, 4), (5, 0x7E), (9, 2)])
def test_a_records_inner_framing_is_checked_under_a_sound_checksum(at: int, value: int) -> None:
    data = bytearray(batch_of(b"one", b"two"))
    data[HEADER_SIZE + at] = value
    sealed = resealed(data)
    header = check_batch(sealed)
    with pytest.raises(CorruptBatchError, match="record 0 of it is malformed"):
        batch_values(sealed, header)


def test_a_null_value_is_refused() -> None:
    body = b"\x00\x00\x00\x01\x01\x00"
    data = bytearray(batch_of(b"x"))
    data[HEADER_SIZE:] = varint(len(body)) + body
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    sealed = resealed(data)
    header = check_batch(sealed)
    assert batch_records(sealed, header)[0].value is None
    with pytest.raises(CorruptBatchError, match="its value is null"):
        batch_values(sealed, header)


def test_headers_and_keys_of_others_are_read() -> None:
    body = b"\x00\x02\x00" + varint(1) + b"k" + varint(1) + b"v" + varint(1) + varint(1) + b"h" + varint(-1)
    data = bytearray(batch_of(b"x"))
    data[HEADER_SIZE:] = varint(len(body)) + body
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    sealed = resealed(data)
    header = check_batch(sealed)
    (record,) = batch_records(sealed, header)
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("h", None),))
    assert record.timestamp_ms == header.base_timestamp + 1
    assert batch_values(sealed, header) == [b"v"]


def test_a_batch_without_records_is_our_own_fault() -> None:
    with pytest.raises(InvariantViolation):
        batch_of()
    with pytest.raises(InvariantViolation):
        build_control_batch(base_offset=Offset(0), epoch=Epoch(0), timestamp_ms=0, records=[])


def test_old_message_sets_are_refused() -> None:
    data = bytearray(batch_of(b"one"))
    data[16] = 1
    with pytest.raises(CorruptBatchError, match="magic is 1, not 2"):
        parse_header(data)
