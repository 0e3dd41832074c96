"""The text of the dump is Kafka's own, and damage is said, never passed over."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from metadata_log.errors import CorruptBatchError, UnsupportedBatchError
from metadata_log.format.batch import HEADER_SIZE, build_batch, build_control_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import TopicRecord, encode_record
from metadata_log.tools.dump.dump import DumpRow, dump_rows, dump_text
from tests.support.fixture_files import DUMPS, FIXTURES, METADATA_FILES, file_id, records_in

LOG = "00000000000000000007.log"
TOPIC = encode_record(TopicRecord(name="orders", topic_id=bytes(range(16))), 0)
BY_4 = [path for path in DUMPS if path.relative_to(FIXTURES).parts[0] != "static-3.9"]
"""Kafka 3.9's tool prints less: it does not open a LeaderChange."""


def batch(*values: bytes, base_offset: int = 7) -> bytes:
    return build_batch(base_offset=Offset(base_offset), epoch=Epoch(2), timestamp_ms=1000, values=values)


@pytest.mark.parametrize("oracle", BY_4, ids=file_id)
def test_the_text_is_kafkas(oracle: Path) -> None:
    expected = gzip.decompress(oracle.read_bytes()).decode()
    dumped = expected.partition("\n")[0].removeprefix("Dumping ")
    content = (FIXTURES / oracle.relative_to(FIXTURES).parts[0] / dumped).read_bytes()
    assert "".join(f"{line}\n" for line in dump_text(dumped, content)) == expected


def test_there_is_an_oracle_for_every_file_of_these_scenarios() -> None:
    whole = ("basic", "basic-4.4", "every-record", "every-record-4.4", "upgrade-path")

    def of_these(paths: list[Path]) -> int:
        return sum(path.relative_to(FIXTURES).parts[0] in whole for path in paths)

    assert of_these(BY_4) == of_these(METADATA_FILES) > 20


@pytest.mark.parametrize("path", METADATA_FILES, ids=file_id)
def test_there_is_a_row_for_every_record(path: Path) -> None:
    rows = list(dump_rows(path.read_bytes()))
    records = list(records_in(path))
    assert [(row.offset, row.epoch, row.is_control) for row in rows] == [
        (record.offset, header.partition_leader_epoch, header.is_control) for header, record in records
    ]
    assert all(row.error is None and row.data is not None for row in rows)


def test_a_row_says_everything_of_a_record() -> None:
    assert list(dump_rows(batch(TOPIC))) == [
        DumpRow(
            position=0,
            offset=Offset(7),
            epoch=Epoch(2),
            timestamp_ms=1000,
            is_control=False,
            type="TOPIC_RECORD",
            version=0,
            data={"name": "orders", "topicId": "AAECAwQFBgcICQoLDA0ODw"},
        )
    ]


def test_a_record_that_cannot_be_read_is_named_and_the_next_one_follows() -> None:
    content = batch(b"\x01\x1e\x00\x00", TOPIC)
    lines = list(dump_text(LOG, content))
    assert " payload: Error at 7, skipping. unknown metadata record: type 30, version 0" in lines[3]
    assert '"name":"orders"' in lines[4]
    unreadable, readable = dump_rows(content)
    assert (unreadable.type, unreadable.data) == ("UNREADABLE", None)
    assert "type 30" in str(unreadable.error)
    assert readable.type == "TOPIC_RECORD"


def test_control_records_that_are_unknown_or_malformed_are_named() -> None:
    keys = [b"\x00\x00\x00\x63", b"\x00\x00\x00\x02", b"\x00"]
    content = build_control_batch(
        base_offset=Offset(7), epoch=Epoch(2), timestamp_ms=1000, records=[(key, b"\x00\x00") for key in keys]
    )
    unknown, malformed, keyless = list(dump_text(LOG, content))[3:]
    assert unknown.endswith("headerKeys: [] controlType: UNKNOWN(99)")
    assert " Error at 8, skipping. control record of type 2, version 0: " in malformed
    assert " Error at 9, skipping. the key of a control record has 1 bytes, not 4" in keyless
    assert [row.type for row in dump_rows(content)] == ["UNREADABLE"] * 3


@pytest.mark.parametrize("size", [1, 16, 17, HEADER_SIZE, 80])
def test_a_torn_tail_is_counted(size: int) -> None:
    content = batch(TOPIC) + batch(TOPIC, base_offset=8)[:size]
    lines = list(dump_text(f"node/{LOG}", content))
    assert lines[0] == f"Dumping node/{LOG}"
    assert lines[1] == "Log starting offset: 7"
    assert len(lines) == 5
    assert lines[-1] == f"Found {size} invalid bytes at the end of {LOG}"
    assert len(list(dump_rows(content))) == 1


def test_zeros_after_the_end_are_a_tail_and_not_a_batch() -> None:
    lines = list(dump_text(LOG, batch(TOPIC) + bytes(4096)))
    assert lines[-1] == f"Found 4096 invalid bytes at the end of {LOG}"


def test_a_wrong_checksum_is_shown() -> None:
    content = bytearray(batch(TOPIC))
    content[-3] ^= 1
    assert list(dump_text(LOG, bytes(content)))[2].endswith("isvalid: false")


def test_damage_in_the_middle_is_raised_after_what_stands_before_it() -> None:
    damaged = bytearray(batch(TOPIC, base_offset=8))
    damaged[16] = 9
    content = batch(TOPIC) + bytes(damaged) + batch(TOPIC, base_offset=9)
    lines = dump_text(LOG, content)
    assert "offset: 7 " in [next(lines) for _ in range(4)][-1]
    with pytest.raises(CorruptBatchError, match="magic is 9"):
        next(lines)


def test_a_compressed_batch_is_refused_by_name() -> None:
    content = bytearray(batch(TOPIC))
    content[22] |= 2
    with pytest.raises(UnsupportedBatchError, match="snappy"):
        list(dump_text(LOG, bytes(content)))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("00000000000000000312-0000000004.checkpoint", "Snapshot end offset: 312, epoch: 4"),
        ("bootstrap.checkpoint", "KRaft bootstrap snapshot"),
        ("00000000000000000312.log", "Log starting offset: 312"),
    ],
)
def test_the_title_says_what_the_name_says(name: str, title: str) -> None:
    assert list(dump_text(name, b"")) == [f"Dumping {name}", title]


def test_a_file_of_another_name_has_no_title() -> None:
    assert list(dump_text("exported.bin", b"")) == ["Dumping exported.bin"]


def test_bits_that_a_metadata_log_does_not_use_are_shown_all_the_same() -> None:
    content = bytearray(batch(TOPIC))
    content[22] |= 0x08 | 0x10 | 0x40
    content[53:57] = (5).to_bytes(4, "big")
    lines = list(dump_text(LOG, bytes(content)))
    assert "baseSequence: 5 lastSequence: 5 " in lines[2]
    assert "isTransactional: true isControl: false deleteHorizonMs: OptionalLong[1000] position: 0" in lines[2]
    assert "LogAppendTime: 1000" in lines[2]
    assert "LogAppendTime: 1000" in lines[3]
