"""`kraft features check` on the log of a cluster that went from 3.3 to 4.3: what each level could not read."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import FeatureLevelRecord, PartitionRecord, encode_record
from quorum.cli.main import run
from tests.support.records import full_record

NODE = 1
ALL = (1, 2, 3, 11, 12)


@pytest.fixture
def upgraded(clusters: Path) -> Path:
    return clusters / "upgrade-path"


def _summary(out: str) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return the counts of records in the log and in checkpoints, by type, version and reason."""
    columns, *lines = out.split("\n\n", maxsplit=1)[0].splitlines()
    assert columns.split() == ["Type", "Version", "Records", "InCheckpoints", "FirstOffset", "Reason"]
    found = {}
    for line in lines:
        kind, version, records, in_checkpoints, offset, _, _, reason = line.split(maxsplit=7)
        assert offset.isdigit()
        found[kind, version, reason] = (int(records), int(in_checkpoints))
    return found


def _held(files: list[Path], capsys: pytest.CaptureFixture[str]) -> Counter[tuple[str, int]]:
    assert run(["log", "dump", *map(str, files), "-o", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return Counter((row["type"], row["version"]) for row in rows)


@pytest.mark.parametrize("nodes", [(NODE,), ALL], ids=["one node", "all nodes"])
def test_each_record_of_the_log_is_counted_once(
    nodes: tuple[int, ...], upgraded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [upgraded / f"node-{node}" for node in nodes]
    metadata = [next(place.glob("**/__cluster_metadata-0")) for place in places]
    checkpoints = {path.name: path for place in metadata for path in sorted(place.glob("*-*.checkpoint"))}
    checkpoints = {name: path for name, path in checkpoints.items() if not name.startswith("0" * 20)}
    in_log = _held(sorted(metadata[0].glob("*.log")), capsys)
    in_checkpoints = _held([*checkpoints.values()], capsys)

    assert run(["features", "check", *map(str, places), "--target", "3.9"]) == 1

    said = capsys.readouterr()
    found = _summary(said.out)
    for kind, name in (("PartitionRecord", "PARTITION_RECORD"), ("PartitionChangeRecord", "PARTITION_CHANGE_RECORD")):
        there = found[kind, "2", "3.9-IV0 knows it up to version 1"]
        assert there == (in_log[name, 2], in_checkpoints[name, 2])
    records, beside = (sum(counts) for counts in zip(*found.values(), strict=True))
    copies = "; what 5 copies have alike is counted once" if len(nodes) > 1 else ""
    assert (
        said.err
        == f"kraft: 3.9-IV0 could not read {records} records of the log, and {beside} records in checkpoints"
        + (f"{copies}\n")
    )


@pytest.mark.parametrize(
    ("target", "types"),
    [
        ("3.3", {"PartitionRecord", "PartitionChangeRecord", "RegisterControllerRecord", "KRaftVersionRecord"}),
        ("3.7", {"PartitionRecord", "PartitionChangeRecord", "KRaftVersionRecord"}),
        ("3.9", {"PartitionRecord", "PartitionChangeRecord"}),
        ("4.0", set()),
    ],
)
def test_what_each_level_could_not_read(
    target: str, types: set[str], upgraded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every level lacks a part of the brokers' registrations and features."""
    assert run(["features", "check", str(upgraded / f"node-{NODE}"), "--target", target]) == 1

    found = _summary(capsys.readouterr().out)
    always = {"FeatureLevelRecord", "RegisterBrokerRecord", "BrokerRegistrationChangeRecord"}
    assert {kind for kind, _, _ in found} == types | always


def test_the_last_level_reads_all(upgraded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Records of every older version among them."""
    assert run(["features", "check", str(upgraded), "--target", "4.3"]) == 0
    assert capsys.readouterr() == ("4.3-IV0 can read every record.\n", "")


def _log(path: Path, *values: bytes) -> str:
    log = path / "00000000000000000000.log"
    log.write_bytes(build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, values=values))
    return str(log)


@pytest.mark.parametrize(("version", "target", "status"), [(0, "4.3", 0), (0, "3.3", 0), (1, "4.0", 0), (1, "3.3", 1)])
def test_an_old_version_is_read_by_later_levels(version: int, target: str, status: int, tmp_path: Path) -> None:
    log = _log(tmp_path, encode_record(full_record(PartitionRecord, version), version))

    assert run(["features", "check", log, "--target", target]) == status


def test_a_level_has_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [encode_record(FeatureLevelRecord(name="metadata.version", feature_level=level), 0) for level in (25, 99)]

    assert run(["features", "check", _log(tmp_path, *values), "--target", "3.9", "-o", "json"]) == 1

    assert [row["reason"] for row in json.loads(capsys.readouterr().out)["records"]] == [
        "it finalises metadata.version 4.0-IV3 (25), above 3.9-IV0",
        "it finalises metadata.version 99, above 3.9-IV0",
    ]


def test_records_that_only_software_of_4_4_begins_with_are_named(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formatted = Path(__file__).parents[2] / "fixtures" / "formatted-4.4" / "initial"
    node = shutil.copytree(formatted / "data0", tmp_path / "node")
    metadata = node / "__cluster_metadata-0"
    ignored = "4.3-IV0 begins a new cluster without the records of this checkpoint"

    assert run(["features", "check", str(node), "--target", "4.4"]) == 0
    for path in (node, metadata, metadata / "00000000000000000000-0000000000.checkpoint"):
        capsys.readouterr()
        assert run(["features", "check", str(path), "--target", "4.3"]) == 1
        assert _summary(capsys.readouterr().out)["FeatureLevelRecord", "0", ignored] == (0, 4)

    begun = next((clusters / "basic" / "node-1").glob("**/00000000000000000000.log"))
    (metadata / begun.name).touch()
    assert run(["features", "check", str(node), "--target", "4.3"]) == 1
    shutil.copy(begun, metadata)
    assert run(["features", "check", str(node), "--target", "4.3"]) == 0


def test_registrations_that_lack_the_target_are_named_with_what_removes_them(
    clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Controller 1 of this cluster has left the voters: its registration stays."""
    nodes = [str(clusters / "dynamic-voters" / f"node-{node}") for node in (2, 3, 4)]
    assert run(["features", "check", *nodes, "--target", "4.4"]) == 0
    said = capsys.readouterr().err.splitlines()
    gone, *others = (line for line in said if "is registered with" in line)
    levels = "is registered with metadata.version 3.3-IV3 (7) to 4.3-IV0 (30), without 4.4-IV2 (33): "
    assert gone.startswith(f"kraft: controller 1, which does not vote, {levels}upgrade it. If it is gone for good, ")
    assert gone.endswith("kraft quorum unregister-controller --bootstrap-controller HOST:PORT --controller-id 1")
    assert [line.split(levels)[0] for line in others] == [
        *(f"kraft: controller {node}, a voter, " for node in (2, 3, 4)),
        *(f"kraft: broker {node} " for node in (11, 12)),
    ]
    assert others[0].endswith("upgrade it first")
    assert others[-1].endswith("kafka-cluster.sh unregister --bootstrap-controller HOST:PORT --id 12")
    assert run(["features", "check", *nodes, "--target", "4.3"]) == 0
    assert "is registered with" not in capsys.readouterr().err


def test_where_the_log_names_no_voters_a_static_one_is_not_said_to_be_passed_over(
    clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["features", "check", str(clusters / "static-3.9" / "node-1"), "--target", "4.3"]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert "If it is gone for good, and is not in controller.quorum.voters, it bars nothing" in first
