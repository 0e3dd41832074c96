"""An audit does not judge by an image that it must not trust, and nothing is moved by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.records import BeginTransactionRecord
from metadata_log.tools.partitions.audit import AuditError, audit
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from quorum.cli.main import run
from tests.support.damage import append, copy_cluster


def names(path: Path) -> set[Path]:
    return {entry for entry in path.rglob("*") if entry.is_dir()}


def test_by_a_damaged_copy_nothing_is_deleted_or_moved(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "c")
    path = cluster.segment(11)
    path.write_bytes(b"\xab" * path.stat().st_size)
    broker = cluster.node(11)
    found = audit([broker])
    assert found.doubts
    assert "after-failover-0" in {audited.facts.name for audited in found.directories if not audited.is_judged}
    assert not any(audited.is_wrong for audited in found.directories)
    before = names(broker)
    assert run(["storage", "audit", str(broker), "--quarantine"]) == 1
    assert names(broker) == before
    assert audit([broker], [cluster.node(13)]).doubts
    sound = audit([broker], [cluster.node(1)])
    assert (sound.doubts, len(sound.notes)) == ((), 1)
    assert not any(audited.is_wrong for audited in sound.directories)


def test_an_older_image_does_not_outdo_the_brokers_copy(clusters: Path) -> None:
    found = audit([clusters / "failovers/node-11"], [clusters / "failovers/lagging-follower/node-2"])
    assert found.image_end == 326
    assert "it judges" in found.notes[0]
    assert not any(audited.is_wrong for audited in found.directories)


def test_another_log_of_the_same_cluster_id_is_refused(clusters: Path) -> None:
    with pytest.raises(AuditError, match="contradict each other"):
        audit([clusters / "basic/node-11"], [clusters / "static-3.9/node-1"])


def test_an_open_transaction_is_found_and_nothing_is_moved(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "c")
    append(cluster.segment(11), [BeginTransactionRecord(name="half")])
    broker = cluster.node(11)
    report = verify_log(find_sources([broker]).nodes[0])
    assert "open_transaction" in {found.kind for found in report.findings}
    assert audit([broker]).doubts
    assert run(["storage", "audit", str(broker), "--quarantine"]) == 1
