"""The metadata that proves an epoch's first batch to be committed, where one log alone has that."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.records import NoOpRecord
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.commit_proof import ProvedEpochs
from metadata_log.tools.replicas.diff_paths import diff_paths
from tests.support.damage import append, copy_cluster
from tests.support.one_fault import metadata_of, segments_of


def test_batches_of_one_epoch_are_counted_together() -> None:
    proved = ProvedEpochs()

    said = []
    for epoch, batches in ((1, 1), (1, 1), (2, 1), (3, 2), (4, 1)):
        proved.on_metadata(epoch, batches)
        said.append(proved.last)

    assert said == [-1, 1, 1, 3, 3]


@pytest.mark.parametrize(("batches", "lost", "lower"), [(1, [], 127), (2, [1, 2], 128)])
def test_one_forged_batch_proves_no_loss(
    batches: int, lost: list[int], lower: int, clusters: Path, tmp_path: Path
) -> None:
    """The last leader alone has the LeaderChange of its epoch; one batch behind it may be forged, two are not."""
    cluster = copy_cluster(clusters / "basic-4.4", tmp_path / "basic-4.4")
    path = segments_of(metadata_of(cluster.root)[3])[-1]
    for _ in range(batches):
        append(path, [NoOpRecord()])

    checked, compared = check_paths([cluster.root]), diff_paths([cluster.root])

    for report in (checked, compared):
        assert [(one.kind, one.node_id) for one in report.findings] == [("committed_lost", node) for node in lost]
        assert report.bounds.lower == lower
