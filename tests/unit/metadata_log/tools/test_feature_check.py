"""The records that software of another release cannot read, and the features that it does not know."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    UnregisterControllerRecord,
    encode_control,
    encode_record,
)
from metadata_log.records.feature_levels import supported_features
from metadata_log.records.levels import metadata_version, parse_metadata_version
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.features import Unreadable, unreadable_records
from metadata_log.tools.read.history import readable_batches
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import Depth, verify_log
from tests.support.damage import copy_cluster
from tests.support.damage_access import entry
from tests.support.damage_values import VALUE_DAMAGE


def _unreadable(path: Path, target: str) -> list[Unreadable]:
    batches = [found for found in readable_batches(OsFiles(), path) if isinstance(found, LocatedBatch)]
    return list(unreadable_records(batches, parse_metadata_version(target).level))


def _reasons(path: Path, target: str) -> list[str]:
    return [found.reason for found in _unreadable(path, target)]


def _log_with(path: Path, name: str, level: int) -> Path:
    value = encode_record(FeatureLevelRecord(name=name, feature_level=level), 0)
    path.write_bytes(build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, values=[value]))
    return path


@pytest.mark.parametrize(
    ("name", "level", "target", "reason"),
    [
        ("eligible.leader.replicas.version", 9, "4.3", "4.3-IV0 has eligible.leader.replicas.version up to 1"),
        ("eligible.leader.replicas.version", 1, "4.3", None),
        ("no.such.feature", 1, "4.3", "4.3-IV0 has no feature no.such.feature"),
        ("no.such.feature", 0, "4.3", None),
        ("streams.version", 1, "4.1", "4.1-IV1 has no feature streams.version"),
        ("streams.version", 1, "4.2-IV0", None),
        ("share.version", 1, "4.0", "4.0-IV3 has no feature share.version"),
        ("share.version", 1, "4.1", None),
        ("share.version", 2, "4.3", "4.3-IV0 has share.version up to 1"),
        ("share.version", 2, "4.4", None),
        ("group.version", 1, "3.9", "3.9-IV0 has no feature group.version"),
        ("transaction.version", 2, "4.0-IV0", None),
        ("transaction.version", 3, "4.3", "4.3-IV0 has transaction.version up to 2"),
        ("kraft.version", 1, "3.8", "3.8-IV0 has no feature kraft.version"),
        ("kraft.version", 1, "3.9", None),
    ],
)
def test_a_feature_is_judged_by_what_the_target_supports(
    name: str, level: int, target: str, reason: str | None, tmp_path: Path
) -> None:
    log = _log_with(tmp_path / "00000000000000000000.log", name, level)

    assert _reasons(log, target) == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("level", "target", "reason"),
    [
        (1, "3.8", "3.8-IV0 has no feature kraft.version"),
        (1, "3.9", None),
        (0, "3.3", None),
        (2, "4.3", "4.3-IV0 has kraft.version up to 1"),
    ],
)
def test_kraft_version_among_control_records(level: int, target: str, reason: str | None, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    record = encode_control(KRaftVersionRecord(kraft_version=level))
    log.write_bytes(build_control_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, records=[record]))

    assert _reasons(log, target) == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("host", "target", "is_read"),
    [
        ("10.0.0.0/8", "4.3", False),
        ("10.0.0.0/8", "4.4-IV0", False),
        ("10.0.0.0/8", "4.4-IV1", True),
        ("2001:db8::/32", "4.3", False),
        ("10.0.0.1", "4.3", True),
        ("*", "3.9", True),
    ],
)
def test_a_range_of_hosts_means_nothing_below_4_4_iv1(host: str, target: str, is_read: bool, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    value = encode_record(entry(host=host), 0)
    log.write_bytes(build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, values=[value]))
    name = parse_metadata_version(target).name

    assert _reasons(log, target) == (
        [] if is_read else [f"{name} has no ranges of hosts: to it, no client is at {host}"]
    )


@pytest.mark.parametrize(("target", "reasons"), [("4.3", ["4.3-IV0 has no such record"]), ("4.4", [])])
def test_a_controllers_unregistration_is_of_4_4(target: str, reasons: list[str], tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    value = encode_record(UnregisterControllerRecord(controller_id=NodeId(3)), 0)
    log.write_bytes(build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, values=[value]))

    assert _reasons(log, target) == reasons


@pytest.mark.parametrize(
    ("value", "type_name", "reason"),
    [
        (b"\x01\x1e\x00\x00", "record type 30", "not one of Apache Kafka's up to 4.4"),
        (b"\x01\xf5\x03\x00\x00", "record type 501", "not one of Apache Kafka's up to 4.4"),
        (b"\x01\x02\x01\x00", "TopicRecord", "newer than Kafka 4.4"),
    ],
)
def test_a_record_that_no_release_here_knows(value: bytes, type_name: str, reason: str, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(build_batch(base_offset=Offset(7), epoch=Epoch(1), timestamp_ms=0, values=[value]))

    (found,) = _unreadable(log, "4.4")

    assert (found.offset, found.type, found.reason) == (7, type_name, reason)


@pytest.mark.parametrize(
    ("control_type", "version", "type_name"), [(7, 0, "control record type 7"), (6, 1, "VotersRecord")]
)
def test_a_control_record_that_no_release_here_knows(
    control_type: int, version: int, type_name: str, tmp_path: Path
) -> None:
    log = tmp_path / "00000000000000000000.log"
    record = (struct.pack(">hh", 0, control_type), struct.pack(">hb", version, 0))
    log.write_bytes(build_control_batch(base_offset=Offset(7), epoch=Epoch(1), timestamp_ms=0, records=[record]))

    (found,) = _unreadable(log, "4.4")

    assert (found.offset, found.type, found.version, found.reason) == (7, type_name, version, "newer than Kafka 4.4")


def test_features_of_a_release_are_kafkas() -> None:
    """The published jars of each release gave these levels."""
    of_4_0 = {"kraft.version", "group.version", "transaction.version", "eligible.leader.replicas.version"}
    known = {
        20: set[str](),
        21: {"kraft.version"},
        25: of_4_0,
        27: of_4_0 | {"share.version"},
        29: of_4_0 | {"share.version", "streams.version"},
        30: of_4_0 | {"share.version", "streams.version"},
        33: of_4_0 | {"share.version", "streams.version"},
    }
    for level, names in known.items():
        assert supported_features(level).keys() == names, metadata_version(level)
    assert {name for name, highest in supported_features(30).items() if highest != 1} == {"transaction.version"}


@pytest.mark.parametrize("depth", [Depth.RECORDS, Depth.REPLAY])
def test_an_unknown_feature_is_found_at_each_depth_that_decodes(depth: Depth, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    planted = next(damage for damage in VALUE_DAMAGE if damage.name == "feature_level_too_high").plant(cluster)
    (node,) = find_sources([cluster.node(planted.node_id or 0)]).nodes

    (found,) = verify_log(node, depth=depth).findings

    assert (found.kind, found.file, found.offset) == (planted.kind, str(planted.file), planted.offset)
