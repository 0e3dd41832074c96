"""A broker's files of offsets and epochs, against its replicas' data and the metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.offsets import Epoch, Offset
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.partitions.replica_logs import log_end
from tests.support.damage import Cluster, copy_cluster, with_bytes

PARTITION = "orders-3-0"


def _batch(base: int, count: int = 3) -> bytes:
    values = [b"value"] * count
    return build_batch(base_offset=Offset(base), epoch=Epoch(0), timestamp_ms=1, values=values)


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    (cluster.disk(11) / PARTITION / f"{0:020}.log").write_bytes(_batch(0) + _batch(3))
    return cluster


def _found(cluster: Cluster) -> list[Finding]:
    return [found for found in check_paths([cluster.root]).findings if found.counts]


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"])
def test_an_offset_past_the_replicas_log_is_found(name: str, cluster: Cluster) -> None:
    file = cluster.disk(11) / name
    file.write_text("0\n1\norders-3 0 7\n")

    (found,) = _found(cluster)

    assert (found.kind, found.severity, found.node_id, found.file) == (
        "offset_past_log",
        Severity.WARNING,
        11,
        str(file),
    )
    assert "offset 7 for orders-3-0" in found.meaning
    assert "ends at 6" in found.meaning


@pytest.mark.parametrize("lines", ["1\norders-3 0 6\n", "2\norders-3 0 5\norders-3 1 900\n", "1\ngone-1 0 900\n"])
def test_offsets_that_a_log_bears_out_or_that_no_log_denies_are_silent(lines: str, cluster: Cluster) -> None:
    """There is no data of orders-3-1 in the fixtures."""
    (cluster.disk(11) / "recovery-point-offset-checkpoint").write_text(f"0\n{lines}")

    assert _found(cluster) == []


def test_an_epoch_that_begins_past_the_replicas_log_is_found(cluster: Cluster) -> None:
    file = cluster.disk(11) / PARTITION / EPOCH_FILE
    file.write_text("0\n1\n0 6\n")  # a new leader adds its line at the log's end
    assert _found(cluster) == []

    file.write_text("0\n1\n0 7\n")

    (found,) = _found(cluster)
    assert (found.kind, found.severity, found.node_id, found.file, found.offset) == (
        "offset_past_log",
        Severity.WARNING,
        11,
        str(file),
        7,
    )
    assert "leader epoch 0 began at offset 7" in found.meaning
    assert "ends at 6; a start removes that line" in found.meaning


def test_a_leader_epoch_that_the_metadata_never_gave_is_found(cluster: Cluster) -> None:
    file = cluster.disk(11) / PARTITION / EPOCH_FILE
    file.write_text("0\n1\n0 0\n")
    assert _found(cluster) == []

    file.write_text("0\n2\n0 0\n999 3\n")

    (found,) = _found(cluster)
    assert (found.kind, found.node_id, found.file, found.epoch) == ("replica_epoch_ahead", 11, str(file), 999)
    assert f"{PARTITION} has records of leader epoch 999" in found.meaning
    assert "the metadata up to offset 96 knows" in found.meaning  # the log's end, and not a checkpoint's


def test_the_end_is_read_from_the_last_segment(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").write_bytes(_batch(0))
    assert log_end(tmp_path) == 3
    (tmp_path / f"{3:020}.log").write_bytes(b"")
    assert log_end(tmp_path) == 3
    (tmp_path / f"{3:020}.log").write_bytes(_batch(3) + _batch(6)[:-1])
    assert log_end(tmp_path) == 6
    (tmp_path / f"{3:020}.log").write_bytes(_batch(3) + bytes(100))
    assert log_end(tmp_path) == 6


def test_nothing_is_known_of_no_log_and_of_old_batches(tmp_path: Path) -> None:
    assert log_end(tmp_path / "none") is None
    assert log_end(tmp_path) is None
    (tmp_path / f"{0:020}.log").write_bytes(with_bytes(_batch(0), 16, b"\x01"))
    assert log_end(tmp_path) is None


@pytest.mark.parametrize("entry", [(5, 97), (5, 98), (9, 97), (5, 1 << 20)])
def test_an_index_leads_to_the_end_and_a_wrong_one_does_no_harm(entry: tuple[int, int], tmp_path: Path) -> None:
    assert len(_batch(0)) == 97
    (tmp_path / f"{0:020}.log").write_bytes(_batch(0) + _batch(3) + _batch(6))
    above, position = entry
    index = above.to_bytes(4, "big") + position.to_bytes(4, "big") + bytes(80)
    (tmp_path / f"{0:020}.index").write_bytes(index)

    assert log_end(tmp_path) == 9
