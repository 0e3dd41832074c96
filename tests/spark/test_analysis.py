"""Nothing is found in real logs; each planted fault is found with its replica, offset and kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.analysis import AnalysisError, Finding, Severity, Verdict, run_analysis
from metadata_log.directory import write_partition_metadata
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import parse_header
from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, NodeId, TopicId, parse_topic_id
from metadata_log.records import PartitionRecord, TopicRecord
from metadata_log.tools.backup import export
from metadata_log.tools.backup.export import export_replica
from tests.spark.plant import (
    FIXTURES,
    Replica,
    base_offset,
    flipped,
    leader_change,
    other_bytes,
    split,
    with_epoch,
    with_topic_named,
    without_time,
)
from tests.support.every_run import in_every_run
from tests.support.newer_logs import NEWER_LOGS, NEWER_NAMES, NewerLog, plant_newer

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM. Cut off in the middle of a call, it would leave the session of all others unusable."""

MIDDLE = 20
"""The number of the batch in which faults are planted; single data records stand around it."""
END = 96
OF_A_DELETED_TOPIC = parse_topic_id("6q3kDGOjQeicDbuHQqPX2A")
UNUSED = TopicId(bytes(range(16)))


def analyse(replicas: dict[int, Replica]) -> Verdict:
    return run_analysis([replicas[1].directory.parent])


def counted(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.counts]


def places(verdict: Verdict) -> set[tuple[str, int, int | None]]:
    """What makes the verdict, as (kind, node, offset)."""
    return {(finding.kind, finding.node_id, finding.offset) for finding in counted(verdict)}


NEWER = ("leader_change_v2", "voters_record_v1", "mixed", "checkpoint_frame_v1", "checkpoint_type_30")
"""One for each branch by which Spark's rows take a part of a later release, in logs and in checkpoints."""
SCENARIOS = ["basic", "basic-4.4", "every-record", "every-record-4.4", "upgrade-path", "static-3.9"]
"""The last three are in every run; the campaign takes the others, too."""


@pytest.mark.parametrize("scenario", in_every_run(SCENARIOS[3:], {name: name for name in SCENARIOS}))
def test_finds_nothing_in_the_logs_of_real_kafka_clusters(scenario: str) -> None:
    verdict = run_analysis([FIXTURES / scenario])
    assert counted(verdict) == []
    assert (verdict.is_clean, verdict.exit_status) == (True, 0)
    assert verdict.sentence.startswith("No errors, no warnings")
    assert sum(replica.records for replica in verdict.replicas) > 0


def test_finds_nothing_where_4_4_cut_off_the_beginning_of_its_logs(clusters: Path) -> None:
    verdict = run_analysis([clusters / f"failovers-4.4/node-{node}" for node in (1, 2, 3, 11, 12)])
    assert counted(verdict) == []
    assert (verdict.is_clean, verdict.exit_status) == (True, 0)
    assert [(replica.node_id, replica.end_offset) for replica in verdict.replicas] == [
        *((node, 344) for node in (1, 2, 3)),
        *((node, 343) for node in (11, 12)),
    ]


@pytest.mark.parametrize("case", in_every_run(NEWER, dict(zip(NEWER_NAMES, NEWER_LOGS, strict=True))))
def test_a_log_of_a_later_release_is_clean_with_one_note(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    plant_newer(case, clusters, tmp_path / "cluster")

    verdict = run_analysis([tmp_path / "cluster" / f"node-{node_id}" for node_id in (1, 2, 3)])

    assert counted(verdict) == []
    notes = [finding.meaning for finding in verdict.findings if finding.kind == "newer_release"]
    if case.name == "quorum_state_version":
        assert notes == []  # the files beside a log are not analysed
        return
    (note,) = notes
    assert ("metadata.version 4.5-IV0 (34)" if case.name == "unknown_tag" else case.says) in note
    assert note in verdict.sentence


def test_a_log_without_meta_properties_is_known_by_its_path() -> None:
    directory = FIXTURES / "dynamic-voters" / "node-4" / "data" / "__cluster_metadata-0"
    verdict = run_analysis([directory])
    assert [(replica.node_id, replica.label) for replica in verdict.replicas] == [(-1, str(directory))]
    assert {finding.kind for finding in verdict.findings} == {"voter_absent"}
    assert (verdict.is_clean, verdict.cluster_id) == (True, "")


def test_says_what_the_logs_hold(replicas: dict[int, Replica]) -> None:
    verdict = analyse(replicas)
    assert [(replica.node_id, replica.end_offset) for replica in verdict.replicas] == [(1, 95), (2, 96), (3, 96)]
    assert all(replica.is_voter for replica in verdict.replicas)
    assert (verdict.voters, verdict.lower, verdict.upper) == ((1, 2, 3), END, END)
    assert [(epoch.epoch, epoch.leader_id) for epoch in verdict.epochs] == [(1, 3)]
    assert dict(verdict.records_by_type)["Topic"] == 7
    assert verdict.replicas[1].progress[-1].end_offset == END


def test_finds_nothing_in_exports_and_takes_their_high_watermark(replicas: dict[int, Replica], tmp_path: Path) -> None:
    for node_id, replica in replicas.items():
        export_replica(replica.directory, tmp_path / "exports" / str(node_id), high_watermark=90 + node_id)
    verdict = run_analysis([tmp_path / "exports"])
    assert verdict.findings == ()
    assert [replica.high_watermark for replica in verdict.replicas] == [91, 92, 93]


def test_a_flipped_byte_a_missing_batch_and_a_torn_tail_are_each_named_where_they_are(
    replicas: dict[int, Replica],
) -> None:
    missing, flipped_, torn = (replicas[node_id].batches() for node_id in (1, 2, 3))
    gap = base_offset(missing.pop(MIDDLE))
    corrupt = base_offset(flipped_[MIDDLE + 4])
    flipped_[MIDDLE + 4] = flipped(flipped_[MIDDLE + 4])
    torn[-1] = torn[-1][:-10]
    for node_id, batches in enumerate((missing, flipped_, torn), start=1):
        replicas[node_id].write(batches)
    verdict = analyse(replicas)
    assert places(verdict) == {("offset_gap", 1, gap), ("corrupt_batch", 2, corrupt), ("torn_tail", 3, 95)}
    assert verdict.exit_status == 1
    by_kind = {finding.kind: finding for finding in counted(verdict)}
    assert {kind: finding.severity for kind, finding in by_kind.items()} == {
        "offset_gap": Severity.ERROR,
        "corrupt_batch": Severity.ERROR,
        "torn_tail": Severity.WARNING,
    }
    assert "checksum" in by_kind["corrupt_batch"].meaning
    assert by_kind["corrupt_batch"].file == "00000000000000000000.log"


def test_space_claimed_ahead_is_no_fault(replicas: dict[int, Replica]) -> None:
    replicas[3].segment.write_bytes(replicas[3].segment.read_bytes() + bytes(4096))
    assert analyse(replicas).findings == ()


def test_a_duplicated_batch(replicas: dict[int, Replica]) -> None:
    batches = replicas[3].batches()
    batches.insert(MIDDLE, batches[MIDDLE])
    replicas[3].write(batches)
    assert places(analyse(replicas)) == {("offset_repeated", 3, base_offset(batches[MIDDLE]))}


def test_other_bytes_at_the_same_offset_and_epoch(replicas: dict[int, Replica]) -> None:
    batches = replicas[2].batches()
    at = base_offset(batches[MIDDLE])
    batches[MIDDLE] = other_bytes(batches[MIDDLE])
    replicas[2].write(batches)
    verdict = analyse(replicas)
    mismatch = next(finding for finding in verdict.findings if finding.kind == "log_mismatch")
    assert (mismatch.node_id, mismatch.offset, mismatch.epoch) == (2, at, 1)
    assert "node 1 and node 3" in mismatch.meaning
    assert {kind for kind, _, _ in places(verdict)} <= {"log_mismatch", "unknown_topic"}


def test_the_verdict_has_the_fields_that_differ_the_topics_and_the_marks(
    replicas: dict[int, Replica], tmp_path: Path
) -> None:
    replica, page = replicas[1], tmp_path / "verdict.html"
    replica.write(
        [with_topic_named(batch, "search-9x") if base_offset(batch) == 24 else batch for batch in replica.batches()]
    )

    verdict = run_analysis([replica.directory.parent], report=page, marks=[(1, "a mark")], made_by="kraft 9.8.7")

    (difference,) = verdict.differences
    assert (difference.offset, difference.batches) == (24, 1)
    assert [(side.replicas, side.is_majority) for side in difference.sides] == [
        (("node 1",), False),
        (("node 2", "node 3"), True),
    ]
    (record,) = difference.records
    assert (record.offset, record.type) == (24, "TopicRecord")
    assert [(field.name, field.values) for field in record.fields] == [("name", ('"search-9x"', '"search-91"'))]
    at_24 = [event for event in verdict.events if event.offset == 24]
    assert [(event.kind, event.text, event.at_ms) for event in at_24] == [
        ("created", "topic search-91 is created", difference.at_ms)
    ]
    assert [event.text for event in verdict.events if event.kind == "marked"] == ["a mark"]
    assert verdict.made_ms > difference.at_ms
    text = page.read_text()
    assert "<h1>Node 1 differs from the other two at offset 24</h1>" in text
    assert str(tmp_path) not in text


def test_batches_without_a_time_are_not_drawn_in_1970(replicas: dict[int, Replica], tmp_path: Path) -> None:
    for replica in replicas.values():
        replica.write([without_time(batch) for batch in replica.batches()])

    verdict = run_analysis([replicas[1].directory.parent], report=tmp_path / "verdict.html")

    timed = [point.at_ms for replica in verdict.replicas for point in replica.progress]
    assert timed
    assert min(timed) > 1_700_000_000_000
    assert verdict.events == ()
    assert "1970" not in (tmp_path / "verdict.html").read_text()


def test_two_replicas_that_differ_cannot_tell_who_is_right(replicas: dict[int, Replica]) -> None:
    batches = replicas[2].batches()
    batches[-1] = other_bytes(batches[-1])
    replicas[2].write(batches)
    verdict = run_analysis([replicas[2].directory, replicas[3].directory])
    assert places(verdict) == {("log_mismatch", 2, 95), ("log_mismatch", 3, 95)}
    assert "nothing says which is right" in counted(verdict)[0].meaning


def test_an_epoch_that_goes_back(replicas: dict[int, Replica]) -> None:
    batches = replicas[2].batches()
    batches[MIDDLE] = with_epoch(batches[MIDDLE], 2)
    replicas[2].write(batches)
    assert ("epoch_went_back", 2, base_offset(batches[MIDDLE + 1])) in places(analyse(replicas))


def test_an_epoch_without_its_leader_change(replicas: dict[int, Replica]) -> None:
    for replica in replicas.values():
        batches = replica.batches()
        replica.write([*batches[:MIDDLE], *(with_epoch(batch, 2) for batch in batches[MIDDLE:])])
    at = base_offset(replicas[1].batches()[MIDDLE])
    assert places(analyse(replicas)) == {("epoch_without_leader", node_id, at) for node_id in (1, 2, 3)}


def test_two_leaders_in_one_epoch(replicas: dict[int, Replica]) -> None:
    for node_id in (2, 3):
        batches = replicas[node_id].batches()
        replicas[node_id].write([*batches, leader_change(END, 2, node_id, parse_header(batches[-1]).max_timestamp)])
    verdict = analyse(replicas)
    assert {("two_leaders", 2, END), ("two_leaders", 3, END)} <= places(verdict)
    leaders = next(finding for finding in verdict.findings if finding.kind == "two_leaders")
    assert leaders.epoch == 2


def fork(replica: Replica) -> int:
    """From the middle on, the log of a leader of epoch 2 that never had what the others have there."""
    batches = replica.batches()
    at = base_offset(batches[MIDDLE])
    replica.write([*batches[:MIDDLE], leader_change(at, 2, replica.node_id, parse_header(batches[-1]).max_timestamp)])
    return at


def test_a_committed_prefix_that_differs(replicas: dict[int, Replica], tmp_path: Path) -> None:
    at = fork(replicas[2])
    for node_id, replica in replicas.items():
        export_replica(
            replica.directory, tmp_path / "exports" / str(node_id), high_watermark=95 if node_id == 1 else None
        )
    verdict = run_analysis([tmp_path / "exports"])
    assert places(verdict) == {("committed_prefix_differs", 2, at)}
    (finding,) = counted(verdict)
    assert finding.severity is Severity.ERROR
    assert "node 1 and node 3 committed one of epoch 1" in finding.meaning


def test_what_may_have_been_committed_is_only_called_so(replicas: dict[int, Replica]) -> None:
    at = fork(replicas[2])
    verdict = analyse(replicas)
    assert places(verdict) == {("committed_prefix_differs", 2, at)}
    assert counted(verdict)[0].severity is Severity.WARNING
    assert "may have been committed" in counted(verdict)[0].meaning
    assert (verdict.lower, verdict.upper) == (at, 95)


def test_the_tail_of_a_deposed_leader_is_no_fault(failovers: Path) -> None:
    verdict = run_analysis([failovers])
    assert verdict.is_clean
    assert (verdict.lower, verdict.upper) == (326, 326)
    assert [(note.kind, note.node_id, note.offset, note.epoch) for note in verdict.findings] == [
        ("uncommitted_tail", 2, 309, 8)
    ]


PARTITION_OF_NO_TOPIC = PartitionRecord(
    partition_id=3,
    topic_id=UNUSED,
    replicas=(NodeId(11),),
    isr=(NodeId(11),),
    removing_replicas=(),
    adding_replicas=(),
    leader=NodeId(11),
    leader_epoch=0,
    partition_epoch=0,
)


def test_records_that_break_a_rule_are_each_named(replicas: dict[int, Replica]) -> None:
    reused = replicas[2].append(TopicRecord(name="again", topic_id=OF_A_DELETED_TOPIC))
    reserved = replicas[2].append(TopicRecord(name="<b>sentinel</b>", topic_id=METADATA_TOPIC_ID))
    unknown = replicas[2].append(PARTITION_OF_NO_TOPIC)
    unreadable = replicas[2].append(bytes((1, 2, 0)))
    verdict = analyse(replicas)
    assert places(verdict) == {
        ("topic_id_reused", 2, reused),
        ("topic_id_reserved", 2, reserved),
        ("unknown_topic", 2, unknown),
        ("unreadable_record", 2, unreadable),
    }
    meanings = {finding.kind: finding.meaning for finding in counted(verdict)}
    assert "'again' is given the id 6q3kDGOjQeicDbuHQqPX2A, which 'search-91' was given" in meanings["topic_id_reused"]
    assert "partition 3" in meanings["unknown_topic"]
    assert "TopicRecord, version 0" in meanings["unreadable_record"]


def test_the_metadata_topic_may_have_its_own_id_and_nobody_else(replicas: dict[int, Replica]) -> None:
    replicas[2].append(TopicRecord(name=METADATA_TOPIC_NAME, topic_id=UNUSED))
    assert analyse(replicas).findings == ()
    at = replicas[2].append(TopicRecord(name="thief", topic_id=UNUSED))
    assert places(analyse(replicas)) == {("topic_id_reused", 2, at)}


def test_a_log_that_starts_late_needs_a_checkpoint(failovers: Path) -> None:
    for checkpoint in (failovers / "node-1" / "__cluster_metadata-0").glob("*.checkpoint"):
        checkpoint.unlink()
    assert places(run_analysis([failovers / "node-1"])) == {("missing_checkpoint", 1, 207)}


def test_what_is_wrong_with_a_file_or_a_log_as_a_whole(
    replicas: dict[int, Replica], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_PATIENCE_S", 0.1)
    export_replica(replicas[1].directory, tmp_path / "set" / "short", high_watermark=200)
    export_replica(replicas[2].directory, tmp_path / "set" / "cut")
    cut = tmp_path / "set" / "cut" / replicas[2].segment.name
    cut.write_bytes(b"".join(split(cut)[:-1]))
    checkpoint = replicas[3].checkpoint
    checkpoint.write_bytes(b"".join(split(checkpoint)[:-1]))
    verdict = run_analysis([tmp_path / "set", replicas[3].directory])
    assert {(finding.kind, finding.node_id, finding.file) for finding in counted(verdict)} == {
        ("below_high_watermark", 1, None),
        ("file_changed", 2, cut.name),
        ("checkpoint_incomplete", 3, checkpoint.name),
    }


@pytest.mark.parametrize("left", [None, pytest.param("{", marks=pytest.mark.campaign)])
def test_an_export_without_its_manifest_is_not_left_out(
    left: str | None, replicas: dict[int, Replica], tmp_path: Path
) -> None:
    """As a broker's partition beside it is, whose segments have the same names."""
    for node_id, replica in replicas.items():
        export_replica(replica.directory, tmp_path / "exports" / str(node_id))
    lost = tmp_path / "exports" / "3"
    (lost / "manifest.json").unlink()
    if left is not None:
        (lost / "manifest.json").write_text(left)
    write_partition_metadata(OsFiles(), str(partition_of(tmp_path / "exports")), UNUSED)
    batches = replicas[3].batches()
    (lost / replicas[3].segment.name).write_bytes(b"".join([*batches[:-1], other_bytes(batches[-1])]))

    verdict = run_analysis([tmp_path / "exports"])

    assert [replica.label for replica in verdict.replicas] == [str(lost), "node 1", "node 2"]
    assert {("manifest_missing", -1, 0), ("log_mismatch", -1, END - 1)} <= places(verdict)
    [missing] = [finding for finding in verdict.findings if finding.kind == "manifest_missing"]
    said = " holds a metadata log and no manifest.json" if left is None else "/manifest.json: it is no manifest"
    assert (missing.severity, missing.meaning.startswith(f"{lost}{said}")) == (Severity.ERROR, True), missing.meaning
    assert [(note.severity, note.node_id) for note in verdict.findings if note.kind == "voter_absent"] == [
        (Severity.NOTE, 3)
    ]


def partition_of(parent: Path) -> Path:
    """A directory as a topic's partition is."""
    directory = parent / "disk" / "orders-0"
    directory.mkdir(parents=True)
    (directory / "00000000000000000000.log").touch()
    return directory


def test_a_voter_that_is_not_here_is_a_note(replicas: dict[int, Replica]) -> None:
    verdict = run_analysis([replicas[1].directory, replicas[3].directory])
    assert verdict.is_clean
    assert [(note.kind, note.node_id) for note in verdict.findings] == [("voter_absent", 2)]
    assert verdict.findings[0].meaning.startswith("voter 2 is not here: ")


def test_wrong_use_is_told_in_one_sentence(replicas: dict[int, Replica], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(AnalysisError, match="holds no metadata log: give an export"):
        run_analysis([tmp_path / "empty"])
    with pytest.raises(AnalysisError, match="there is no "):
        run_analysis([tmp_path / "absent"])
    properties = replicas[1].directory / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=other"))
    with pytest.raises(AnalysisError, match="different clusters") as raised:
        analyse(replicas)
    assert raised.value.exit_status == 2
