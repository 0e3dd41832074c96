"""Every record that real clusters left behind is read and written again to the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.records import (
    METADATA_RECORDS,
    decode_control,
    decode_versioned,
    encode_control,
    encode_record,
)
from tests.support.fixture_files import METADATA_FILES, file_id, records_in

NEVER_SEEN = {(0, 0), (7, 0), (8, 0), (25, 0), (29, 0)}
"""RegisterBroker v0, FenceBroker, UnfenceBroker, AbortTransaction: no cluster could be brought to write them.
UnregisterController: `records/kafka-4.4.0.jsonl.gz` has it."""


@pytest.mark.parametrize("path", METADATA_FILES, ids=file_id)
def test_what_kafka_wrote_comes_back_byte_for_byte(path: Path) -> None:
    for header, record in records_in(path):
        if header.is_control:
            assert record.key is not None
            assert record.value is not None
            assert encode_control(decode_control(record.key, record.value)) == (record.key, record.value)
        else:
            assert record.value is not None
            assert encode_record(*decode_versioned(record.value)) == record.value


def test_the_files_hold_every_version_that_kafka_writes() -> None:
    held = {
        (record.value[1], record.value[2])
        for path in METADATA_FILES
        for header, record in records_in(path)
        if not header.is_control and record.value is not None
    }
    declared = {(key, version) for key, record in METADATA_RECORDS.items() for version in record.VERSIONS}
    assert held == declared - NEVER_SEEN
