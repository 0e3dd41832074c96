"""`check` says nothing of what is sound, and no more than a note of what is harmless."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.format.batch import batch_records, build_control_batch, parse_header
from metadata_log.ids import NodeId, parse_topic_id
from metadata_log.offsets import Epoch
from metadata_log.records import PartitionChangeRecord, RemoveTopicRecord, decode_control, encode_control
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from metadata_log.tools.read.history import open_history
from metadata_log.tools.read.sources import SourceError, find_sources
from tests.support.clusters import SCENARIOS, node_directories
from tests.support.damage import (
    Cluster,
    append,
    copy_cluster,
    number_at,
    other_bytes,
    quiet_batch,
    split,
    with_epoch,
    write,
)
from tests.support.damage_files import copied_properties, other_first_checkpoint
from tests.support.damage_partitions import OFFSETS_FILE, list_offsets

_FULL_SIZE = {".index": 10 << 20, ".timeindex": (10 << 20) // 12 * 12}
"""Bytes of Kafka's index files while it runs."""


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


@pytest.mark.parametrize(("scenario", "node", "offset"), [("failovers", 2, 309), ("failovers-4.4", 1, 311)])
def test_a_divergent_tail_is_a_note(scenario: str, node: int, offset: int, clusters: Path) -> None:
    others = [clusters / scenario / f"node-{other}" for other in (1, 2, 3) if other != node]

    report = check_paths([clusters / scenario / f"divergent-before/node-{node}", *others])

    assert [(one.kind, one.node_id, one.offset) for one in report.findings] == [("uncommitted_tail", node, offset)]
    assert report.is_sound


def test_a_divergent_tail_stays_a_note_beside_checkpoints_past_it(clusters: Path) -> None:
    """The brokers have checkpoints past the parting, where the metadata of the tail is another."""
    failovers = clusters / "failovers"
    paths = [failovers / f"node-{node_id}" for node_id in (1, 3, 11, 12)]

    report = check_paths([failovers / "divergent-before/node-2", *paths])

    assert [(found.kind, found.node_id, found.offset) for found in report.findings] == [("uncommitted_tail", 2, 309)]


@pytest.mark.parametrize(("scenario", "node"), [("failovers", 2), ("failovers-4.4", 1)])
def test_a_replica_that_is_behind_is_no_finding(scenario: str, node: int, clusters: Path) -> None:
    others = [clusters / scenario / f"node-{other}" for other in (1, 2, 3) if other != node]

    report = check_paths([clusters / scenario / f"divergent-after/node-{node}", *others])

    assert report.findings == ()


def test_a_voter_behind_what_it_did_is_a_warning(clusters: Path) -> None:
    """A copy of an earlier time: it may have been put back."""
    failovers = clusters / "failovers"

    report = check_paths([failovers / "node-1", failovers / "lagging-follower/node-2", failovers / "node-3"])

    found, note = report.findings
    assert (note.kind, note.node_id, note.severity) == ("nothing_in_common", 2, Severity.NOTE)
    assert (found.kind, found.severity, found.node_id, found.epoch) == ("voter_set_back", Severity.WARNING, 2, 8)
    assert "but led epoch 8, which began at offset 294 (by the log of node 1)" in found.meaning
    assert "copied before that" in found.meaning


def test_an_epoch_that_a_bit_has_changed_is_held_against_nobody_else(clusters: Path, tmp_path: Path) -> None:
    """No checksum covers a batch's epoch; the node's own quorum-state knows of none so late."""
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    sound = check_paths([cluster.root]).findings
    segment = max(cluster.metadata(1).glob("*.log"))
    batches = split(segment)
    last = max(number for number, batch in enumerate(batches) if parse_header(batch).is_control)
    write(
        segment, [*batches[:last], with_epoch(batches[last], parse_header(batches[last]).partition_leader_epoch + 16)]
    )
    found = [one for one in check_paths([cluster.root]).findings if one not in sound and one.severity is Severity.ERROR]
    found += [one for one in check_paths([cluster.root]).findings if one not in sound and one.kind == "voter_set_back"]
    assert {one.node_id for one in found} == {1}
    assert "log_mismatch" in {one.kind for one in found}


def test_a_replaced_disk_is_a_warning(clusters: Path) -> None:
    voters = clusters / "dynamic-voters"

    report = check_paths([voters / "node-1", voters / "replaced-disk/node-3"])

    assert [(found.kind, found.node_id) for found in report.findings] == [("not_the_voter", 3)]
    assert report.findings[0].severity is Severity.WARNING


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


def test_the_copy_that_the_node_went_on_with_keeps_the_id(clusters: Path, tmp_path: Path) -> None:
    """The end of the log and the epoch show which copy is the newer one."""
    failovers = clusters / "failovers"

    report = check_paths([failovers / "node-2", failovers / "lagging-follower/node-2"])

    found = {found.file: found for found in report.findings if found.kind == "duplicate_directory_id"}
    newer = found[str(failovers / "node-2/data/meta.properties")]
    older = found[str(failovers / "lagging-follower/node-2/data/meta.properties")]
    assert "the node went on with this one (its quorum-state is of epoch 9" in newer.meaning
    assert "this one keeps the id" in newer.advice
    assert "the node went on with the other" in older.meaning
    assert "this is the older one" in older.advice
    assert "never start both" in older.advice


def test_an_id_that_another_node_took_over_stays_with_its_owner(clusters: Path, tmp_path: Path) -> None:
    """The voter set decides: one node keeps the id, and the other gets its own back, or a new one."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    copied_properties(cluster)

    found = {one.node_id: one for one in check_paths([cluster.root]).findings if one.kind == "duplicate_directory_id"}

    assert "the log knows it as node 3's, which this one is of" in found[3].meaning
    assert "this one keeps the id" in found[3].advice
    assert [found[3].severity, found[2].severity] == [Severity.NOTE, Severity.ERROR]
    assert "the log knows it as node 3's, so that this one, of node 2, took it over" in found[2].meaning
    assert "write directory.id=ZGlyZWN0b3J5LWlkLTAwMg into its meta.properties" in found[2].advice


def test_one_id_on_two_disks_of_a_node_stays_with_the_metadata_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    first, second = (cluster.node(11) / disk / "meta.properties" for disk in ("data", "data1"))
    second.write_bytes(first.read_bytes())

    found = [one for one in check_paths([cluster.node(11)]).findings if one.kind == "duplicate_directory_id"]

    assert ["this one keeps the id" in one.advice for one in found] == [True, False]
    assert all("does not start with both" in one.meaning for one in found)
    assert "take the line directory.id out" in found[1].advice


@pytest.mark.parametrize("broken", ["quorum-state and meta.properties", "meta.properties", "no meta.properties"])
def test_whose_a_directory_is_is_told_by_its_peers_where_its_files_do_not_say(
    broken: str, clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(2) / "meta.properties"
    path.write_bytes(bytes(120))
    if broken.startswith("quorum-state"):
        (cluster.metadata(2) / "quorum-state").write_bytes(b"{")
    elif broken.startswith("no"):
        path.unlink()

    beside = check_paths([cluster.root])
    alone = check_paths([cluster.node(2)])

    assert {found.node_id for found in beside.findings} == {2}
    assert any("by its path beside those of its peers it is node 2's" in found.meaning for found in beside.findings)
    assert {found.node_id for found in alone.findings} == {None}
    assert any("its node is unknown" in found.meaning for found in alone.findings)


def test_a_node_id_is_read_out_of_a_broken_file(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(2) / "meta.properties"
    path.write_text(path.read_text().replace("cluster.id", "cluster"))

    (found,) = check_paths([cluster.node(2)]).findings

    assert (found.kind, found.node_id) == ("corrupt_file", 2)
    assert "the id in it says node 2" in found.meaning


def test_what_is_left_is_judged_without_an_export_that_cannot_be_read(clusters: Path, tmp_path: Path) -> None:
    for node in (1, 2, 3):
        export_replica(clusters / f"basic/node-{node}/data", tmp_path / f"exports/{node}")
    (tmp_path / "exports/2/manifest.json").write_bytes(b"{")

    report = check_paths([tmp_path / "exports"])

    assert [node.node_id for node in report.nodes] == [1, 3]
    assert [(found.kind, found.node_id, found.file) for found in report.findings] == [
        ("corrupt_file", 2, str(tmp_path / "exports/2/manifest.json"))
    ]
    assert "all else is judged without it" in report.findings[0].meaning


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


@pytest.mark.parametrize("scenario", ["basic-4.4", "every-record-4.4"])
def test_what_4_4_leaves_of_a_clean_stop_is_no_damage(scenario: str, clusters: Path, tmp_path: Path) -> None:
    """Kafka 4.4 does not trim the active segment's indexes as it stops; the archive has them without their zeros."""
    cluster = copy_cluster(clusters / scenario, tmp_path / scenario)
    trimmed = sorted(cluster.root.glob("node-*/data/__cluster_metadata-0/*.trimmed"))
    for path in trimmed:
        with path.rename(path.with_suffix("")).open("r+b") as index:
            index.truncate(_FULL_SIZE[path.with_suffix("").suffix])

    assert trimmed
    assert check_paths([cluster.root]).findings == ()


def _divergent(cluster: Cluster, node_id: int) -> None:
    """Change the bytes of one batch, and append the removal of every topic, which no other node has."""
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
    path = cluster.segment(3)
    image = open_history(cluster.metadata(3)).state_at().image
    append(path, [RemoveTopicRecord(topic_id=topic_id) for topic_id in image.topics.by_id])

    assert check_paths([cluster.root]).findings == ()


def test_what_a_follower_alone_has_more_than_its_leader_may_be_committed(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    image = open_history(cluster.metadata(2)).state_at().image
    append(cluster.segment(2), [RemoveTopicRecord(topic_id=topic_id) for topic_id in image.topics.by_id])

    report = check_paths([cluster.root])
    found = {(one.kind, one.severity, one.node_id) for one in report.findings}
    assert found == {
        ("leader_behind_followers", Severity.NOTE, 3),
        ("partition_stale", Severity.NOTE, 11),
        ("partition_stale", Severity.NOTE, 12),
    }
    note = next(one for one in report.findings if one.kind == "leader_behind_followers")
    assert "node 2 (up to 99) has more records of that epoch" in note.meaning
    assert (report.bounds.lower, report.bounds.upper) == (96, 99)


def test_in_a_tie_partition_directories_are_not_judged(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _divergent(cluster, 2)
    shutil.rmtree(cluster.metadata(11))

    report = check_paths([cluster.node(2), cluster.node(3), cluster.node(11)])

    assert {(found.kind, found.node_id) for found in report.findings} == {
        ("log_mismatch", None),
        ("partitions_not_judged", 11),
    }
    assert "cannot be known" in report.bounds.because


def test_a_quorum_state_that_is_a_little_ahead_is_no_finding(clusters: Path, tmp_path: Path) -> None:
    """A quorum-state that is some epochs ahead, of a node that hears of a leader, not among these, before it has
    fetched: nothing."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / "quorum-state"
    path.write_text(path.read_text().replace('"leaderEpoch":1,', '"leaderEpoch":6,'))

    assert check_paths([cluster.node(node_id) for node_id in (1, 2, 11, 12)]).findings == ()


def test_without_indexes_nothing_is_missed(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    for path in cluster.root.glob("node-*/data/__cluster_metadata-0/*index"):
        path.unlink()

    assert check_paths([cluster.root]).findings == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("__cluster_metadata-0/quorum-state", b""),
        ("__cluster_metadata-0/quorum-state", None),
        ("meta.properties", bytes(120)),
    ],
    ids=["empty", "gone", "zeroed"],
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
    assert "Never remove it" not in found.meaning
    assert not ("do not empty" in found.advice and "empty log" in found.advice)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quorum-state", b'{"data_version":9,"leaderId":1,"leaderEpoch":1}'),
        ("leader-epoch-checkpoint", b"5\n1\n1 0\n"),
    ],
)
def test_a_small_file_of_a_later_release_is_noted(name: str, content: bytes, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.metadata(2) / name
    path.write_bytes(content)

    report = check_paths([cluster.node(node_id) for node_id in (1, 2, 3)])

    (found,) = report.findings
    assert report.is_sound
    assert (found.kind, found.node_id, found.file) == ("newer_release", 2, str(path))
    assert str(path) in found.meaning
    assert "start no controller" in found.advice


def test_epochs_that_are_gone_are_made_anew(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.disk(2) / "__cluster_metadata-0" / "leader-epoch-checkpoint"
    path.unlink()

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.file) == ("missing_file", str(path))
    assert "kraft recover rebuild-indexes" in found.advice


def test_a_line_of_a_topic_that_was_made_again_proves_no_directory(clusters: Path, tmp_path: Path) -> None:
    """It may be of the topic before: the broker may have stopped before it made the new one's directory."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    list_offsets(cluster.disk(11))
    assert "search-91 0 0\n" in (cluster.disk(11) / OFFSETS_FILE).read_text()
    shutil.rmtree(cluster.disk(11) / "search-91-0")

    report = check_paths([cluster.root])

    assert report.is_sound, report.findings


def _stopped(cluster: Cluster, epoch: int) -> None:
    """Leave the disk as a broker does that shuts down in an orderly way."""
    list_offsets(cluster.disk(11))
    (cluster.disk(11) / ".kafka_cleanshutdown").write_text(f'{{"version":0,"brokerEpoch":{epoch}}}')


def test_a_line_of_an_orderly_stop_is_of_the_topic_that_was_made_again(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _stopped(cluster, 16)
    shutil.rmtree(cluster.disk(11) / "search-91-0")

    (found,) = check_paths([cluster.root]).findings

    assert (found.kind, found.file) == ("partition_missing", str(cluster.disk(11) / "search-91-0"))
    assert "replication-offset-checkpoint says that the broker had it there" in found.meaning


@pytest.mark.parametrize("case", ["another start", "rubbish", "never asked", "given later"])
def test_a_line_is_no_proof_where_the_stop_was_not_in_order(case: str, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    _stopped(cluster, 15 if case == "another start" else 16)
    if case == "rubbish":
        (cluster.disk(11) / ".kafka_cleanshutdown").write_text("{")
    elif case == "never asked":
        batches = split(cluster.segment(11))
        write(cluster.segment(11), batches[: number_at(cluster.segment(11), 68)])
        for beside in cluster.metadata(11).glob("*[xt]"):
            if beside.suffix in {".index", ".timeindex", ".snapshot"}:
                beside.unlink()
    elif case == "given later":
        topic_id = parse_topic_id("roVdYP8gTLeRjaTNpELvew")
        given = PartitionChangeRecord(partition_id=0, topic_id=topic_id, replicas=(NodeId(11), NodeId(12)))
        append(cluster.segment(11), [given])
    shutil.rmtree(cluster.disk(11) / "search-91-0")

    assert "partition_missing" not in {found.kind for found in check_paths([cluster.node(11)]).findings}


def test_lines_of_a_disk_prove_nothing_where_another_is_not_here(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    list_offsets(cluster.disk(11))
    shutil.rmtree(cluster.disk(11) / "after-failover-0")
    shutil.rmtree(cluster.node(11) / "data1")

    report = check_paths([cluster.root])

    assert "partition_missing" not in {found.kind for found in report.findings}


@pytest.mark.parametrize("is_repairs", [True, False])
def test_a_repair_asked_nobody_for_a_vote(is_repairs: bool, clusters: Path, tmp_path: Path) -> None:
    """`kraft recover` on node 3 names all as those who elected it; the others are as they were."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(3)
    batches = split(path)
    first, last = parse_header(batches[0]), parse_header(batches[-1])
    change, _, voters = (decode_control(raw.key or b"", raw.value or b"") for raw in batch_records(batches[0], first))
    records = [encode_control(change), encode_control(voters)][: 2 if is_repairs else 1]
    batch = build_control_batch(
        base_offset=last.next_offset, epoch=Epoch(2), timestamp_ms=last.max_timestamp, records=records
    )
    path.write_bytes(path.read_bytes() + batch)
    (cluster.metadata(3) / "leader-epoch-checkpoint").write_text(f"0\n2\n1 0\n2 {last.next_offset}\n")
    state = cluster.metadata(3) / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":2'))

    found = [(one.kind, one.node_id) for one in check_paths([cluster.root]).findings if one.counts]

    assert found == ([] if is_repairs else [("voter_set_back", 2)])
