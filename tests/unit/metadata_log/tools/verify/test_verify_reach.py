"""Files beside a log prove that it reached further. Files that a truncation leaves prove nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.verify_log import Depth, verify_log
from tests.support.damage import copy_cluster, split, write
from tests.unit.metadata_log.log_support import OpenLog, open_at

_PRODUCERS = bytes.fromhex("0001 48674bc7 00000000")


def _kinds(directory: Path) -> set[str]:
    source = NodeSource(path=directory, node_id=1, metadata=directory)
    return {found.kind for found in verify_log(source, depth=Depth.BYTES).findings}


def _filled(directory: Path) -> OpenLog:
    """Open a log of our own software with several segments; the closed segments have closed indexes."""
    directory.mkdir()
    opened = open_at(OsFiles(), str(directory), segment_bytes=20_000)
    for _ in range(30):
        opened.append((1, [b"x" * 3000]))
    return opened


def test_our_own_truncation_leaves_nothing_that_says_more(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    opened = _filled(directory)
    indexes = sorted(directory.glob("*index"))
    assert len(indexes) >= 4
    for end in (2, 29):
        (directory / f"{end:020d}.snapshot").write_bytes(_PRODUCERS)

    opened.truncate(8)

    assert not {"log_cut", "index_wrong", "index_remnant"} & _kinds(directory)
    assert [path.name for path in sorted(directory.glob("*.snapshot"))] == [f"{2:020d}.snapshot"]
    assert len(list(directory.glob("*.log"))) == 2
    opened.append((2, [b"y" * 3000]))
    opened.stop()
    assert "log_cut" not in _kinds(directory)


def test_the_same_log_without_its_end_is_named(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    opened = _filled(directory)
    opened.stop()
    assert "log_cut" not in _kinds(directory)

    max(directory.glob("*.log")).unlink()

    assert "log_cut" in _kinds(directory)


def test_an_export_is_held_against_its_manifest(clusters: Path, tmp_path: Path) -> None:
    export_replica(clusters / "basic/node-1/data", tmp_path / "export")
    path = tmp_path / "export/00000000000000000000.log"
    write(path, split(path)[:-4])

    report = check_paths([tmp_path / "export"])

    (found,) = report.findings
    assert (found.kind, found.file) == ("log_cut", str(path))
    assert "manifest.json" in found.meaning


def test_what_is_left_of_a_truncation_in_an_open_index_is_a_note(clusters: Path, tmp_path: Path) -> None:
    """An old leader's tail was cut off, and the node has not yet fetched as much as it lost."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = max(cluster.metadata(3).glob("*.log")).with_suffix(".timeindex")
    base = int(path.name[:20])
    report = check_paths([cluster.node(3)])
    (end,) = [node.end_offset for node in report.nodes]
    assert end is not None
    entry = (1_000_000_000_000).to_bytes(8, "big") + (end + 4 - base).to_bytes(4, "big")
    path.write_bytes(entry + bytes(1200))

    found = [(one.kind, one.severity.value) for one in check_paths([cluster.node(3)]).findings]

    assert found == [("index_remnant", "note")]
    path.write_bytes(entry)
    assert "log_cut" in {one.kind for one in check_paths([cluster.node(3)]).findings}, "it was closed with the log"


@pytest.mark.parametrize("bit", range(7, 24))
def test_a_flipped_bit_of_a_closed_time_index_is_no_proof_that_a_log_was_cut(
    bit: int, clusters: Path, tmp_path: Path
) -> None:
    """The bit belongs to the last entry's offset. The entry's time is that of a batch in the log."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / f"{0:020d}.timeindex"
    data = bytearray(path.read_bytes())
    data[-1 - bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    (found,) = check_paths([cluster.node(node) for node in (1, 2, 3)]).findings
    assert (found.kind, found.file, found.position) == ("index_wrong", str(path), len(data) - 12)


def test_a_truncation_that_was_interrupted_is_a_warning_and_damage_is_not(clusters: Path, tmp_path: Path) -> None:
    directory = copy_cluster(clusters / "failovers", tmp_path / "failovers").metadata(1)
    path = directory / "leader-epoch-checkpoint"
    before = path.read_text()
    *lines, _last, _end = before.split("\n")
    path.write_text("\n".join([lines[0], str(int(lines[1]) - 1), *lines[2:], ""]))

    def severities() -> list[str]:
        report = verify_log(NodeSource(path=directory, node_id=1, metadata=directory), depth=Depth.BYTES)
        return [found.severity for found in report.findings if found.kind == "epoch_file_wrong"]

    assert severities() == ["error"]
    (directory / "leader-epoch-checkpoint.before-cut").write_text(before)
    assert severities() == ["warning"]


def test_an_index_whose_entries_no_log_can_have_had_is_wrong_and_proves_nothing(clusters: Path, tmp_path: Path) -> None:
    """And one whose log was cut proves what was cut: its entries go on an interval apart."""
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    directory = cluster.metadata(1)
    first = directory / f"{0:020d}.index"
    entries = first.read_bytes()
    (directory / f"{0:020d}.timeindex").unlink()
    for rubbish in (b"x" * 8, entries + b"x" * 8, b"x" * 800, (400).to_bytes(4, "big") + b"x" * 4):
        first.write_bytes(rubbish)
        assert _kinds(directory) & {"index_wrong", "log_cut"} == {"index_wrong"}, rubbish[:16]

    first.write_bytes(entries)
    log = directory / f"{0:020d}.log"
    write(log, split(log)[:40])

    assert "log_cut" in _kinds(directory)


def test_rubbish_in_an_index_without_its_segment_proves_no_more_than_its_name(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    opened = _filled(directory)
    opened.stop()
    (end,) = [opened.log.log_end_offset]
    (directory / f"{end + 5:020d}.index").write_bytes(b"x" * 16)
    source = NodeSource(path=directory, node_id=1, metadata=directory)
    assert verify_log(source, depth=Depth.BYTES).proved_end == end + 5


def test_a_node_that_was_stopped_as_it_was_elected_has_lost_nothing(clusters: Path, tmp_path: Path) -> None:
    """It resigns without a LeaderChange, closes its log, and its quorum-state names it as the leader still."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / "quorum-state"
    nobody = {"votedId": -1, "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA"}
    said = json.loads(path.read_text()) | {"leaderId": 2, "leaderEpoch": 3, **nobody}
    path.write_text(json.dumps(said, separators=(",", ":")))
    (cluster.metadata(2) / "00000000000000000096.snapshot").write_bytes(bytes.fromhex("0001 48674bc7 00000000"))

    assert [found for found in check_paths([cluster.root]).findings if found.counts] == []


def test_a_deletion_that_a_kill_interrupted_is_no_lost_segment(clusters: Path, tmp_path: Path) -> None:
    """Kafka marks a segment for its deletion before its indexes."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    first = cluster.segment(11)
    assert first.with_name(f"{first.name}.deleted").exists()

    first.with_name(f"{first.stem}.index.deleted").rename(first.with_suffix(".index"))

    assert check_paths([cluster.root]).is_sound
