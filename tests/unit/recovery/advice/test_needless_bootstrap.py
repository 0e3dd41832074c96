"""A damaged `bootstrap.checkpoint` beside a sound log: `kraft check` and `kraft recover inspect` advise the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.advice import NOT_NEEDED, RESTORE_FILE
from metadata_log.tools.findings.finding import is_well
from quorum.recovery.inspection import inspect_copies
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_files import flipped_bootstrap


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    flipped_bootstrap(cluster)
    return cluster


def test_both_say_to_move_it_out(cluster: Cluster) -> None:
    (found,) = check_paths([cluster.root]).findings
    first = inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in (1, 2, 3)]).plan.steps[0]

    assert (found.kind, found.node_id, found.bars_start) == ("corrupt_batch", 1, True)
    assert found.advice.endswith(f"nothing from this file: {NOT_NEEDED}")
    assert first.text.endswith(f"nothing from it: {NOT_NEEDED}")
    assert str(found.file) in first.text


def test_beside_a_log_that_is_gone_it_is_restored(cluster: Cluster) -> None:
    cluster.segment(1).write_bytes(b"")
    (cluster.metadata(1) / QUORUM_STATE_FILE).unlink()

    found = [one for one in check_paths([cluster.root]).findings if (one.file or "").endswith("bootstrap.checkpoint")]

    assert [one.advice for one in found] == [str(RESTORE_FILE)]
    assert not is_well(found)
