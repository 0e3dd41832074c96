"""The only current log is no other cluster's, however much was replaced since the others ended."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.records import PartitionRecord, RegisterBrokerRecord, TopicRecord, decode_record, encode_record
from metadata_log.tools.check.check import CheckReport, check_paths
from tests.support.damage import Cluster, copy_cluster, split, with_base, with_epoch, with_values, write
from tests.support.image_records import topic_id
from tests.support.one_fault import metadata_of, put_foreign_log, segments_of, set_back, with_other_voters


def replaced(value: bytes) -> bytes:
    """Return a record as it is after its topic was made again, or its broker was started again."""
    record = decode_record(value)
    if isinstance(record, TopicRecord | PartitionRecord):
        return encode_record(msgspec.structs.replace(record, topic_id=topic_id(record.topic_id[0] % 200 + 1)), value[2])
    if isinstance(record, RegisterBrokerRecord):
        life = type(record.incarnation_id)(bytes(record.incarnation_id)[::-1])
        later = msgspec.structs.replace(record, broker_epoch=390, incarnation_id=life)
        return encode_record(later, value[2])
    return value


def go_on_alone(metadata: Path) -> None:
    """Make the log begin at 400, in epoch 9, after a checkpoint that has no topic or registration of before."""
    batches = []
    for batch in split(sorted(metadata.glob("*.checkpoint"))[-1]):
        header = parse_header(batch)
        values = () if header.is_control else batch_values(batch, header)
        batches.append(with_epoch(with_values(batch, list(map(replaced, values))) if values else batch, 9))
    idle = split(segments_of(metadata)[-1])[-1]
    for path in metadata.glob("0*"):
        path.unlink()
    write(metadata / f"{400:020d}-{9:010d}.checkpoint", batches)
    write(metadata / f"{400:020d}.log", [with_epoch(with_base(idle, 400 + number), 9) for number in range(5)])
    (metadata / "leader-epoch-checkpoint").write_text("0\n1\n9 400\n")


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Nodes 1 and 3 are copies of an earlier time."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    for path in [path for path in cluster.root.iterdir() if path.name not in ("node-1", "node-2", "node-3")]:
        shutil.rmtree(path)
    for node in (1, 3):
        set_back(cluster.metadata(node), 288, 8)
    go_on_alone(cluster.metadata(2))
    return cluster


def lost(report: CheckReport) -> list[int | None]:
    return [found.node_id for found in report.findings if found.kind == "committed_lost"]


def test_a_log_of_the_same_voters_is_believed(cluster: Cluster) -> None:
    report = check_paths([cluster.root])

    assert "foreign_cluster" not in {found.kind for found in report.findings}
    assert lost(report) == [1, 3]
    assert report.bounds.lower == 400


def test_a_log_at_home_is_believed_though_all_disks_were_replaced(cluster: Cluster) -> None:
    """No voter's directory is in both, but node 2's own log has its directory."""
    for path in cluster.metadata(2).glob("0*0*.*"):
        with_other_voters(path)
    properties = cluster.disk(2) / "meta.properties"
    properties.write_text(properties.read_text().replace("ZGlyZWN0b3J5LWlkL", "YW5vdGhlci1kaXNrL"))

    report = check_paths([cluster.root])

    assert "foreign_cluster" not in {found.kind for found in report.findings}
    assert report.bounds.lower == 400


def test_a_log_that_names_others_where_it_lies_is_another_clusters(cluster: Cluster) -> None:
    for path in cluster.metadata(2).glob("0*0*.*"):
        with_other_voters(path)

    report = check_paths([cluster.root])

    assert [found.node_id for found in report.findings if found.kind == "foreign_cluster"] == [2]
    assert report.bounds.lower == 288


def test_logs_of_one_clusters_voters_are_compared(clusters: Path, tmp_path: Path) -> None:
    """Both voters' sets are the same, and the one log ends before the other begins."""
    basic = copy_cluster(clusters / "basic", tmp_path / "basic")
    later = metadata_of(clusters / "failovers")[2]
    shutil.rmtree(basic.metadata(2))
    shutil.copytree(later, basic.metadata(2), copy_function=shutil.copyfile)

    assert "foreign_cluster" not in {found.kind for found in check_paths([basic.root]).findings}


def test_a_log_with_other_runs_of_the_brokers_bounds_nothing(clusters: Path, tmp_path: Path) -> None:
    """The voters are static, the logs share no offset, and one leader's log would prove commits up to 312."""
    static = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    put_foreign_log(static.metadata(2), metadata_of(clusters / "failovers-4.4")[2])

    report = check_paths([static.root])

    assert [(one.kind, one.node_id) for one in report.findings] == [("foreign_cluster", 2)]
    assert report.bounds.lower <= 115


def test_of_two_logs_that_deny_each_other_neither_is_accused(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    put_foreign_log(cluster.metadata(3), metadata_of(clusters / "basic")[3])

    report = check_paths([cluster.node(1), cluster.node(3)])

    assert [(one.kind, one.node_id) for one in report.findings] == [("foreign_cluster", None)]
    assert "node 1 and node 3 are not of one cluster: broker 12 registered at offset 15" in report.findings[0].meaning
    assert report.bounds.lower == 0
    assert [node.node_id for node in report.nodes if node.end_offset] == [1, 3]


def test_of_two_clusters_whose_disks_are_named_together_neither_is_accused(clusters: Path, tmp_path: Path) -> None:
    """All voters' logs of each cluster are here."""
    basic = copy_cluster(clusters / "basic", tmp_path / "basic")
    other = metadata_of(clusters / "every-record")
    for node in (1, 2, 3):
        target = tmp_path / f"again-{node}"
        shutil.copytree(basic.node(node), target)
        shutil.rmtree(target / "data" / "__cluster_metadata-0")
        shutil.copytree(other[node], target / "data" / "__cluster_metadata-0", copy_function=shutil.copyfile)
    named = [basic.node(node) for node in (1, 2, 3)] + [tmp_path / f"again-{node}" for node in (1, 2, 3)]

    found = [one for one in check_paths(named).findings if one.kind != "duplicate_directory_id"]

    assert [(one.kind, one.node_id) for one in found] == [("foreign_cluster", None)]
    assert "not one batch that they begin with is the same" in found[0].meaning


def test_a_foreign_log_on_a_broker_is_found(clusters: Path, tmp_path: Path) -> None:
    basic = copy_cluster(clusters / "basic", tmp_path / "basic")
    put_foreign_log(basic.metadata(11), metadata_of(clusters / "failovers")[11])

    assert [found.node_id for found in check_paths([basic.root]).findings if found.counts] == [11]
