"""A partition directory that a quarantine moved away is missing, and not lost: check says where it is."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.partitions.audit import audit
from metadata_log.tools.partitions.quarantine import JOURNAL_FILE, quarantine, undo
from tests.support.damage import Cluster, copy_cluster
from tests.support.umask import umask

BROKER = 12


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _quarantined(cluster: Cluster, to: Path | None = None) -> Path:
    """One whose partition.metadata is gone, so that a broker would set it aside; where it was."""
    disk = cluster.disk(BROKER)
    path = next(path.parent for path in sorted(disk.glob("[a-z]*-0/partition.metadata")))
    (path / "partition.metadata").unlink()
    wrong = [one for one in audit([disk], [cluster.node(1)]).directories if one.is_wrong]
    assert [one.path for one in wrong] == [path]
    quarantine(wrong, unique=["0" * 32], now_ms=1_700_000_000_000, to=to)
    return path


def _missing(cluster: Cluster) -> list[Finding]:
    found = [one for one in check_paths([cluster.root]).findings if one.counts]
    assert {one.kind for one in found} <= {"partition_missing"}
    return found


def test_the_journal_of_moves_is_its_owners_alone(cluster: Cluster, tmp_path: Path) -> None:
    with umask(0):
        _quarantined(cluster, tmp_path / "aside")
    assert stat.S_IMODE((tmp_path / "aside").stat().st_mode) == 0o700
    assert stat.S_IMODE((cluster.disk(BROKER) / JOURNAL_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("elsewhere", [False, True])
def test_it_says_where_the_quarantine_moved_it(elsewhere: bool, cluster: Cluster, tmp_path: Path) -> None:
    to = tmp_path / "aside" if elsewhere else None
    path = _quarantined(cluster, to)

    (found,) = _missing(cluster)

    name = f"{path.name}.{'0' * 32}"
    target = to / name if to is not None else path.with_name(f"{name}-stray")
    assert (found.node_id, found.file, found.severity) == (BROKER, str(path), Severity.WARNING)
    assert f"kraft storage audit --quarantine moved it to {target} at 2023-11-14" in found.meaning
    assert str(cluster.disk(BROKER) / JOURNAL_FILE) in found.meaning
    assert f"kraft storage audit {cluster.disk(BROKER)} --undo" in found.advice
    assert "do not start" not in found.advice

    undo([cluster.disk(BROKER)], now_ms=2)
    assert {one.kind for one in check_paths([cluster.root]).findings if one.counts} == {"partition_without_id"}


def test_a_journal_that_is_none_keeps_no_broker_from_starting(cluster: Cluster) -> None:
    """Kafka does not read it."""
    path = cluster.disk(BROKER) / JOURNAL_FILE
    path.write_text("rubbish\n")

    (found,) = [one for one in check_paths([cluster.root]).findings if one.counts]

    assert (found.kind, found.node_id, found.file) == ("corrupt_file", BROKER, str(path))
    assert "do not start" not in found.advice


def test_a_pipe_in_the_journals_place_is_refused(cluster: Cluster) -> None:
    """No process writes to the pipe: a reader that waited for its other end would wait forever."""
    disk = cluster.disk(BROKER)
    path = next(path.parent for path in sorted(disk.glob("[a-z]*-0/partition.metadata")))
    (path / "partition.metadata").unlink()
    wrong = [one for one in audit([disk], [cluster.node(1)]).directories if one.is_wrong]
    os.mkfifo(disk / JOURNAL_FILE)

    with pytest.raises(OSError, match="it is a pipe"):
        quarantine(wrong, unique=["0" * 32], now_ms=1)
    with pytest.raises(OSError, match="it is a pipe"):
        undo([disk], now_ms=2)

    assert path.is_dir()


def test_in_a_copy_it_is_beside_the_journal(cluster: Cluster, tmp_path: Path) -> None:
    path = _quarantined(cluster)
    copied = copy_cluster(cluster.root, tmp_path / "copy")
    shutil.rmtree(cluster.root)

    (found,) = _missing(copied)

    assert f"{copied.disk(BROKER) / path.name}.{'0' * 32}-stray at" in found.meaning


def test_what_was_deleted_out_of_the_quarantine_is_lost(cluster: Cluster) -> None:
    path = _quarantined(cluster)
    shutil.rmtree(path.with_name(f"{path.name}.{'0' * 32}-stray"))

    (found,) = _missing(cluster)

    assert found.severity is Severity.ERROR
    assert "do not start the broker" in found.advice


def test_a_journal_that_is_none_is_said(cluster: Cluster) -> None:
    path = _quarantined(cluster)
    journal = cluster.disk(BROKER) / JOURNAL_FILE
    journal.write_bytes(b"rubbish\n")

    found = {(one.kind, one.file) for one in check_paths([cluster.root]).findings if one.counts}

    assert found == {("corrupt_file", str(journal)), ("partition_missing", str(path))}
