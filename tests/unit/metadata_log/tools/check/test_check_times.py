"""The times in checkpoints' headers: a leader of Kafka notes when it appended a batch, not the batch's own time."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_times import shift_header_time

LEADER, FOLLOWER = 2, 1


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Node 2 leads epoch 1, the only one."""
    return copy_cluster(clusters / "every-record", tmp_path / "every-record")


def _shift(cluster: Cluster, node_id: int, end: int, by_ms: int) -> Path:
    path = cluster.metadata(node_id) / f"{end:020d}-0000000001.checkpoint"
    shift_header_time(path, by_ms)
    return path


@pytest.mark.parametrize("by_ms", [97, 500])
@pytest.mark.parametrize("end", [139, 300])
def test_a_leaders_time_may_be_later_than_the_batchs(end: int, by_ms: int, cluster: Cluster) -> None:
    _shift(cluster, LEADER, end, by_ms)

    assert check_paths([cluster.root]).findings == ()
    assert check_paths([cluster.node(LEADER)]).findings == ()


def test_a_leaders_time_is_not_before_the_batchs(cluster: Cluster) -> None:
    path = _shift(cluster, LEADER, 300, -1)

    (found,) = check_paths([cluster.root]).findings
    assert (found.kind, found.file) == ("checkpoint_disagrees", str(path))


def test_a_followers_time_is_that_of_the_batch(cluster: Cluster) -> None:
    path = _shift(cluster, FOLLOWER, 300, 97)

    (found,) = check_paths([cluster.root]).findings
    assert (found.kind, found.file) == ("checkpoint_disagrees", str(path))


@pytest.mark.parametrize("node_id", [1, 2])
def test_a_checkpoint_that_may_have_been_a_leaders_is_not_judged_by_its_time(
    node_id: int, clusters: Path, tmp_path: Path
) -> None:
    """Node 1's log does not go back to the election; node 2's begins where its checkpoint ends: it was fetched."""
    failovers = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    _shift(failovers, node_id, 244, 97)

    assert check_paths([failovers.root]).is_sound
    assert check_paths([failovers.node(node_id)]).is_sound
