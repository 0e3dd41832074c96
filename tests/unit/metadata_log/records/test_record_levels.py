"""metadata.version: names, levels, and what may be written at each."""

from __future__ import annotations

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.records import (
    LATEST_PRODUCTION,
    METADATA_RECORDS,
    METADATA_VERSIONS,
    MINIMUM_LEVEL,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UnknownLevelError,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    decode_versioned,
    is_writable,
    metadata_version,
    parse_metadata_version,
    write_version,
)
from metadata_log.records.levels import level_text
from tests.support.fixture_files import FIXTURES, records_in


def test_levels_are_kafkas() -> None:
    names = {version.level: str(version) for version in METADATA_VERSIONS}
    assert names[7] == "3.3-IV3"
    assert names[17] == "3.7-IV2"
    assert names[21] == "3.9-IV0"
    assert names[25] == "4.0-IV3"
    assert names[30] == "4.3-IV0"
    assert names[33] == "4.4-IV2"
    assert sorted(names) == list(range(7, 35))
    assert (MINIMUM_LEVEL, LATEST_PRODUCTION) == (7, 33)
    changing = [version.level for version in METADATA_VERSIONS if version.changes_records]
    assert changing == [7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33]


@pytest.mark.parametrize(
    ("feature", "level", "text"),
    [
        ("metadata.version", 30, "4.3-IV0 (30)"),
        ("metadata.version", 1, "3.0-IV1 (1)"),
        ("metadata.version", 99, "99"),
        ("kraft.version", 1, "1"),
    ],
)
def test_a_level_is_printed_with_its_name(feature: str, level: int, text: str) -> None:
    assert level_text(feature, level) == text


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("4.3-IV0", 30),
        ("3.3-IV3", 7),
        ("4.3", 30),
        ("4.3.1", 30),
        ("3.7", 19),
        ("4.0", 25),
        ("3.7-IV1", 16),
        ("4.4", 33),
        ("4.4-IV0", 31),
        ("4.5-IV0", 34),
    ],
)
def test_a_level_is_found_by_its_name_or_its_release(text: str, level: int) -> None:
    assert parse_metadata_version(text).level == level
    assert metadata_version(level).level == level


@pytest.mark.parametrize("text", ["4.5", "3.2", "3.3-IV2", "", "4.3-IV1", "latest"])
def test_an_unknown_name_is_refused(text: str) -> None:
    with pytest.raises(UnknownLevelError, match=r"3\.3-IV3 to 4\.4-IV2"):
        parse_metadata_version(text)


@pytest.mark.parametrize("level", [0, 6, 35])
def test_an_unknown_level_is_refused(level: int) -> None:
    with pytest.raises(UnknownLevelError, match=f"no level {level}"):
        metadata_version(level)
    with pytest.raises(InvariantViolation, match=f"level {level}"):
        write_version(TopicRecord, level)
    assert not is_writable(TopicRecord, level)


@pytest.mark.parametrize(
    ("record", "by_level"),
    [
        (RegisterBrokerRecord, {7: 1, 8: 2, 16: 2, 17: 3, 29: 3, 30: 4, 31: 4}),
        (PartitionRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 30: 2}),
        (PartitionChangeRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2, 30: 2}),
        (BrokerRegistrationChangeRecord, {7: 1, 16: 1, 17: 2, 29: 2, 30: 3}),
        (TopicRecord, {7: 0, 30: 0}),
        (FeatureLevelRecord, {7: 0, 30: 0}),
    ],
)
def test_the_version_written_follows_the_level(record: type[MetadataRecord], by_level: dict[int, int]) -> None:
    assert {level: write_version(record, level) for level in by_level} == by_level


@pytest.mark.parametrize(
    ("record", "since"),
    [
        (UserScramCredentialRecord, 11),
        (BeginTransactionRecord, 13),
        (DelegationTokenRecord, 14),
        (RegisterControllerRecord, 15),
        (ClearElrRecord, 23),
        (UnregisterControllerRecord, 33),
    ],
)
def test_a_record_is_not_written_below_the_level_that_brought_it(record: type[MetadataRecord], since: int) -> None:
    assert write_version(record, since) == 0
    assert is_writable(record, since)
    assert not is_writable(record, since - 1)
    with pytest.raises(InvariantViolation, match=f"{record.__name__} may not be written"):
        write_version(record, since - 1)


def test_at_the_latest_level_every_record_is_written_in_its_newest_version() -> None:
    for record in METADATA_RECORDS.values():
        assert write_version(record, LATEST_PRODUCTION) == record.VERSIONS[-1]


def test_kafka_never_wrote_above_what_we_would_write() -> None:
    """The log's level rises step by step. Each record's version is at most that of the level in force."""
    level = MINIMUM_LEVEL
    seen = set()
    log = FIXTURES / "upgrade-path" / "node-1" / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
    for header, stored in records_in(log):
        if header.is_control or stored.value is None:
            continue
        record, version = decode_versioned(stored.value)
        if isinstance(record, FeatureLevelRecord) and record.name == "metadata.version":
            level = record.feature_level
            seen.add(level)
        elif isinstance(record, BrokerRegistrationChangeRecord):
            assert version <= write_version(type(record), level)
        else:
            assert version == write_version(type(record), level)
    assert len(seen) > 3
