"""Columns hold what the codec of single records reads: every type and version, drawn records, and damage."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metadata_log.columnar.objects import records_array
from metadata_log.columnar.records import decode_values
from metadata_log.errors import RecordError
from metadata_log.records import MetadataRecord, encode_record
from metadata_log.records.serde import decode_versioned
from tests.support.records import METADATA_VERSIONS_OF, any_record, bare_record, full_record, version_id

FIXTURES = Path(__file__).parents[3] / "fixtures" / "records"
DAMAGED = 100_000 if os.environ.get("LONG") else 3_000


def assert_columns(values: Sequence[bytes]) -> None:
    """Fail unless the columns of these values have the codec's records, versions and errors."""
    seen: list[int] = []
    for columns in decode_values(values):
        rows = columns.rows.tolist()
        seen += rows
        assert rows == sorted(rows)
        if columns.record is None or columns.data is None:
            for row, message in zip(rows, columns.errors, strict=True):
                with pytest.raises(RecordError) as error:
                    decode_versioned(values[row])
                assert str(error.value) == message
            continue
        columns.data.validate(full=True)
        decoded = [decode_versioned(values[row]) for row in rows]
        assert columns.versions.tolist() == [version for _, version in decoded]
        expected = records_array(columns.record, [record for record, _ in decoded])
        assert repr(columns.data.to_pylist()) == repr(expected.to_pylist()), "as text: NaN is not equal to itself"
    assert sorted(seen) == list(range(len(values)))


def kafkas_values() -> list[bytes]:
    """Return every value of the fixtures that Kafka itself wrote."""
    files = sorted(FIXTURES.glob("*.jsonl.gz"))
    assert len(files) > 1
    return [bytes.fromhex(json.loads(line)["value"]) for file in files for line in gzip.open(file, "rt")]


def test_all_records_that_kafka_wrote() -> None:
    assert_columns(kafkas_values())


@pytest.mark.parametrize("kind", METADATA_VERSIONS_OF, ids=version_id)
def test_every_type_and_version(kind: tuple[type[MetadataRecord], int]) -> None:
    records = [bare_record(*kind), *(full_record(*kind, elements) for elements in (0, 1, 3, 63, 64, 65, 130))]
    assert_columns([encode_record(record, kind[1]) for record in records])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_drawn_records_of_mixed_types(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(METADATA_VERSIONS_OF), min_size=1, max_size=12))
    assert_columns([encode_record(data.draw(any_record(*kind)), kind[1]) for kind in kinds])


def test_changed_cut_and_grown_values_have_the_codecs_errors() -> None:
    draw = random.Random(4)
    sound = kafkas_values()
    values = [_damaged(draw, draw.choice(sound)) for _ in range(DAMAGED)]
    for first in range(0, len(values), 1000):
        assert_columns(values[first : first + 1000])
    unread = sum(len(columns.rows) for columns in decode_values(values) if columns.record is None)
    assert DAMAGED // 10 < unread < DAMAGED


def _damaged(draw: random.Random, value: bytes) -> bytes:
    at = draw.randrange(len(value))
    kind = draw.randrange(4)
    if kind == 0:
        return value[:at]
    if kind == 1:
        return value[:at] + draw.randbytes(1) + value[at:]
    if kind == 2:
        return value + draw.randbytes(draw.randrange(3))
    return value[:at] + draw.randbytes(1) + value[at + 1 :]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "01",
        "0102",
        "010200",
        "01020002ff000102030405060708090a0b0c0d0e0f00",  # a name that is not UTF-8
        "01020002c3a9000102030405060708090a0b0c0d0e0f00",  # a name cut within a character
        "01020003c3a9000102030405060708090a0b0c0d0e0f00",
        "01050000000000000102030405060708090a0b0c0d0e0f020100010000000b0100010000000c",  # one tag twice
        "01050000000000000102030405060708090a0b0c0d0e0f01010400000000b00",
        "0105000000000000 0102030405060708090a0b0c0d0e0f 01 7f 03 010203".replace(" ", ""),  # an unknown tag
        "01050000000000000102030405060708090a0b0c0d0e0f0105020102",  # a tag of a later version
        "0163000000",  # an unknown type
        "01020900",  # an unknown version
        "02020002610001020304",  # an unknown frame
        "0102008080808010610001",  # a length over 31 bits
    ],
)
def test_odd_values(value: str) -> None:
    odd = bytes.fromhex(value[: len(value) // 2 * 2])
    assert_columns([odd])
    assert_columns([*kafkas_values()[:3], odd, odd, *kafkas_values()[:3]])
