"""`check` says nothing of what is sound, and no more than a note of what is harmless."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.records import RemoveTopicRecord
from metadata_log.tools.check import check_paths
from metadata_log.tools.export import export_replica
from metadata_log.tools.history import open_history
from metadata_log.tools.sources import SourceError, find_sources
from tests.support.clusters import SCENARIOS, node_directories
from tests.support.damage import Cluster, append, copy_cluster, other_bytes, quiet_batch, split, write
from tests.support.damage_files import other_first_checkpoint


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whole_clusters_are_silent(scenario: str, clusters: Path) -> None:
    report = check_paths([clusters / scenario])

    assert report.findings == ()
    assert report.is_sound
    assert sum(node.is_voter for node in report.nodes) == 3


def test_every_node_alone_is_silent(clusters: Path) -> None:
    removed_by_hand = clusters / "stray/before/node-13/data/geo-99-0/partition.metadata"

    for directory in node_directories(clusters):
        files = [found.file for found in check_paths([directory]).findings]
        assert files == ([str(removed_by_hand)] if "stray/before/node-13" in str(directory) else []), directory


def test_an_export_is_as_sound_as_what_it_was_made_from(clusters: Path, tmp_path: Path) -> None:
    for node in (1, 2, 3):
        export_replica(clusters / f"basic/node-{node}/data", tmp_path / f"exports/{node}")

    report = check_paths([tmp_path / "exports"])

    assert report.findings == ()
    assert len(report.nodes) == 3


def test_a_divergent_tail_is_a_note(clusters: Path) -> None:
    failovers = clusters / "failovers"

    report = check_paths([failovers / "node-1", failovers / "divergent-before/node-2", failovers / "node-3"])

    assert [(found.kind, found.node_id, found.offset) for found in report.findings] == [("uncommitted_tail", 2, 309)]
    assert report.is_sound


@pytest.mark.parametrize("moment", ["divergent-after", "lagging-follower"])
def test_a_replica_that_is_behind_is_no_finding(moment: str, clusters: Path) -> None:
    failovers = clusters / "failovers"

    report = check_paths([failovers / "node-1", failovers / moment / "node-2", failovers / "node-3"])

    assert report.findings == ()


def test_a_replaced_disk_is_a_note(clusters: Path) -> None:
    voters = clusters / "dynamic-voters"

    report = check_paths([voters / "node-1", voters / "replaced-disk/node-3"])

    assert [(found.kind, found.node_id) for found in report.findings] == [("not_the_voter", 3)]
    assert report.is_sound


def test_a_broker_that_was_away_keeps_stale_directories(clusters: Path) -> None:
    report = check_paths([clusters / "stray/before"])

    kinds = [found.kind for found in report.findings]
    assert kinds.count("partition_without_id") == 1
    assert set(kinds) == {"partition_without_id", "partition_stale", "partition_elsewhere"}
    assert {found.node_id for found in report.findings} == {13}


def test_disks_named_one_by_one_are_one_node(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "cluster")
    node = cluster.node(11)

    report = check_paths([node / "data1", node / "data"])

    assert [checked.node_id for checked in report.nodes] == [11]
    assert report.nodes[0].partitions == len(list(node.glob("data*/*-[0-9]"))) - 1
    assert report.findings == ()


def test_the_same_log_named_twice_is_one(clusters: Path) -> None:
    node = clusters / "basic/node-1"

    sources = find_sources([node, node / "data", node / "data/__cluster_metadata-0"])

    assert len(sources.nodes) == 1


def test_copies_of_one_node_are_told_apart(clusters: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(clusters / "basic/node-1", tmp_path / name)

    report = check_paths([tmp_path])

    assert [found.kind for found in report.findings] == ["duplicate_directory_id"] * 2


@pytest.mark.parametrize("what", ["missing", "empty", "rubbish"])
def test_what_holds_no_log_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    elif what == "rubbish":
        path.write_bytes(b"rubbish")

    with pytest.raises(SourceError, match=what):
        check_paths([path])


def test_a_wrong_beginning_is_told_by_what_the_log_gives_later(clusters: Path, tmp_path: Path) -> None:
    """Two replicas without a checkpoint at one offset: each log is replayed to the other's. Neither is the odd one."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    other_first_checkpoint(cluster)

    report = check_paths([cluster.node(2), cluster.node(12)])

    assert sorted((found.kind, found.node_id, found.offset) for found in report.findings) == [
        ("checkpoint_disagrees", 2, 244),
        ("checkpoint_disagrees", 12, 255),
        ("checkpoint_disagrees", 12, 313),
        ("metadata_differs", 12, 244),
    ]


def test_what_a_killed_node_leaves_ready_for_writing_is_no_damage(clusters: Path, tmp_path: Path) -> None:
    """Indexes at their full size, files on their way out or not finished."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for node_id in (1, 2):
        for suffix in (".index", ".timeindex"):
            path = cluster.segment(node_id).with_suffix(suffix)
            path.write_bytes(path.read_bytes() + bytes(1 << 20))
    (cluster.metadata(1) / "00000000000000000000.log.deleted").write_bytes(b"rubbish")
    (cluster.metadata(1) / "00000000000000000090-0000000001.checkpoint.part").write_bytes(b"rubbish")

    assert check_paths([cluster.root]).findings == ()


def _divergent(cluster: Cluster, node_id: int) -> None:
    """One batch of other bytes, and at the end the removal of every topic, which nobody else has."""
    path = cluster.segment(node_id)
    batches = split(path)
    number = quiet_batch(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)
    image = open_history(cluster.metadata(3)).state_at().image
    append(path, [RemoveTopicRecord(topic_id=topic_id) for topic_id in image.topics.by_id])
    for suffix in (".index", ".timeindex"):
        path.with_suffix(suffix).unlink()


def test_partition_directories_are_not_judged_by_the_log_that_parts(clusters: Path, tmp_path: Path) -> None:
    """The longest log of all has removed the topics, and a majority knows nothing of it."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _divergent(cluster, 2)

    report = check_paths([cluster.root])

    assert {(found.kind, found.node_id) for found in report.findings} == {("log_mismatch", 2)}


def test_partition_directories_are_not_judged_by_what_no_majority_has(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(2)
    image = open_history(cluster.metadata(2)).state_at().image
    append(path, [RemoveTopicRecord(topic_id=topic_id) for topic_id in image.topics.by_id])

    assert check_paths([cluster.root]).findings == ()


def test_in_a_tie_partition_directories_are_not_judged(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _divergent(cluster, 2)
    shutil.rmtree(cluster.metadata(11))

    report = check_paths([cluster.node(2), cluster.node(3), cluster.node(11)])

    assert {(found.kind, found.node_id) for found in report.findings} == {
        ("log_mismatch", 2),
        ("log_mismatch", 3),
        ("partitions_not_judged", 11),
    }
    assert "cannot be known" in report.bounds.because


def test_a_quorum_state_that_is_a_little_ahead_is_no_finding(clusters: Path, tmp_path: Path) -> None:
    """A quorum-state that is some epochs ahead, of a node that hears of a leader before it has fetched: nothing."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / "quorum-state"
    path.write_text(path.read_text().replace('"leaderEpoch":1,', '"leaderEpoch":6,'))

    assert check_paths([cluster.root]).findings == ()


def test_without_indexes_nothing_is_missed(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for path in cluster.root.glob("node-*/data/__cluster_metadata-0/*index"):
        path.unlink()

    assert check_paths([cluster.root]).findings == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("__cluster_metadata-0/quorum-state", b""),
        ("__cluster_metadata-0/quorum-state", b'{"data_version":9,"leaderId":1,"leaderEpoch":1}'),
        ("__cluster_metadata-0/quorum-state", None),
        ("__cluster_metadata-0/partition.metadata", b"version: 7\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
        ("meta.properties", bytes(120)),
    ],
    ids=["empty", "newer", "gone", "topic-id", "zeroed"],
)
def test_a_small_file_is_to_be_restored_not_its_directory_emptied(
    name: str, content: bytes | None, clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(2) / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)

    (found,) = [one for one in check_paths([cluster.node(2)]).findings if one.file == str(path)]

    assert found.kind in {"corrupt_file", "missing_file"}
    assert "do not start" in found.advice
    assert "estore" in found.advice
    assert "anew" not in found.advice
