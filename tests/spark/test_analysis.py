"""Nothing is found in real logs; the verdict and its page say what the logs hold, and where they differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.analysis import AnalysisError, Verdict, run_analysis
from metadata_log.tools.backup import export
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.findings.finding import Finding, Severity
from tests.spark.plant import (
    FIXTURES,
    Replica,
    base_offset,
    other_bytes,
    split,
    with_topic_named,
    without_time,
)
from tests.support.every_run import in_every_run
from tests.support.newer_logs import NEWER_LOGS, NEWER_NAMES, NewerLog, plant_newer

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM. Cut off in the middle of a call, it would leave the Spark of all others unusable."""

END = 96


def analyse(replicas: dict[int, Replica]) -> Verdict:
    return run_analysis([replicas[1].directory.parent])


def counted(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.counts]


SCENARIOS = ["basic", "basic-4.4", "every-record", "every-record-4.4", "upgrade-path", "static-3.9"]
"""The last is in every run; the campaign takes the others, too."""


@pytest.mark.parametrize("scenario", in_every_run(SCENARIOS[5:], {name: name for name in SCENARIOS}))
def test_finds_nothing_in_the_logs_of_real_kafka_clusters(scenario: str) -> None:
    verdict = run_analysis([FIXTURES / scenario])
    assert counted(verdict) == []
    assert (verdict.is_clean, verdict.exit_status) == (True, 0)
    assert verdict.sentence.startswith("No errors, no warnings")
    assert sum(replica.records for replica in verdict.replicas) > 0


@pytest.mark.campaign
def test_finds_nothing_where_4_4_cut_off_the_beginning_of_its_logs(clusters: Path) -> None:
    verdict = run_analysis([clusters / f"failovers-4.4/node-{node}" for node in (1, 2, 3, 11, 12)])
    assert counted(verdict) == []
    assert (verdict.is_clean, verdict.exit_status, verdict.not_judged) == (True, 0, ())
    assert [(replica.node_id, replica.end_offset) for replica in verdict.replicas] == [
        *((node, 344) for node in (1, 2, 3)),
        *((node, 343) for node in (11, 12)),
    ]


@pytest.mark.campaign
@pytest.mark.parametrize("case", NEWER_LOGS, ids=NEWER_NAMES)
def test_a_log_of_a_later_release_is_clean_with_one_note(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    plant_newer(case, clusters, tmp_path / "cluster")

    verdict = run_analysis([tmp_path / "cluster" / f"node-{node_id}" for node_id in (1, 2, 3)])

    assert counted(verdict) == []
    (note,) = [finding.meaning for finding in verdict.findings if finding.kind == "newer_release"]
    assert note in verdict.sentence


@pytest.mark.campaign
def test_a_log_without_meta_properties_is_known_by_its_path(tmp_path: Path) -> None:
    directory = FIXTURES / "dynamic-voters" / "node-4" / "data" / "__cluster_metadata-0"
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in directory.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    verdict = run_analysis([copy])
    assert [(replica.node_id, replica.label) for replica in verdict.replicas] == [(None, str(copy))]
    assert {finding.kind for finding in counted(verdict)} == {"missing_file"}, "the fixture keeps no other file"
    assert verdict.cluster_id == ""
    assert f"there is no meta.properties that says whose {copy} is" in [one.reason for one in verdict.not_judged]


def test_exports_are_judged_as_their_directories_with_their_high_watermark(
    replicas: dict[int, Replica], tmp_path: Path
) -> None:
    for node_id, replica in replicas.items():
        export_replica(replica.directory, tmp_path / "exports" / str(node_id), high_watermark=90 + node_id)
    verdict = run_analysis([tmp_path / "exports"])
    assert verdict.findings == ()
    assert [replica.high_watermark for replica in verdict.replicas] == [91, 92, 93]
    assert {"quorum_state_behind", "epoch_file_wrong", "foreign_metadata_topic"} <= set(verdict.judged_kinds)
    assert "index_wrong" not in verdict.judged_kinds


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


@pytest.mark.campaign
def test_batches_without_a_time_are_not_drawn_in_1970(replicas: dict[int, Replica], tmp_path: Path) -> None:
    for replica in replicas.values():
        replica.write([without_time(batch) for batch in replica.batches()])

    verdict = run_analysis([replicas[1].directory.parent], report=tmp_path / "verdict.html")

    timed = [point.at_ms for replica in verdict.replicas for point in replica.progress]
    assert timed
    assert min(timed) > 1_700_000_000_000
    assert verdict.events == ()
    assert "1970" not in (tmp_path / "verdict.html").read_text()


@pytest.mark.campaign
def test_the_tail_of_a_deposed_leader_is_no_fault(failovers: Path) -> None:
    verdict = run_analysis([failovers])
    tails = [note for note in verdict.findings if note.kind == "uncommitted_tail"]
    assert [(note.severity, note.node_id, note.offset, note.epoch) for note in tails] == [(Severity.NOTE, 2, 309, 8)]


@pytest.mark.campaign
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
    assert {
        ("below_high_watermark", 1),
        ("log_cut", 2),  # and no file_changed of the same file
        ("checkpoint_incomplete", 3),
    } <= {(finding.kind, finding.node_id) for finding in counted(verdict)}


def test_an_export_without_its_manifest_is_not_left_out(replicas: dict[int, Replica], tmp_path: Path) -> None:
    for node_id, replica in replicas.items():
        export_replica(replica.directory, tmp_path / "exports" / str(node_id))
    lost = tmp_path / "exports" / "3"
    (lost / "manifest.json").unlink()
    batches = replicas[3].batches()
    (lost / replicas[3].segment.name).write_bytes(b"".join([*batches[:-1], other_bytes(batches[-1])]))

    verdict = run_analysis([tmp_path / "exports"])

    assert str(lost) in [replica.label for replica in verdict.replicas]
    assert {("manifest_missing", str(lost)), ("log_mismatch", str(lost))} <= {
        (finding.kind, verdict.label_of(finding)) for finding in counted(verdict)
    }


@pytest.mark.campaign
def test_another_clusters_directory_is_a_finding(replicas: dict[int, Replica]) -> None:
    properties = replicas[1].directory / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=other"))
    verdict = analyse(replicas)
    assert ("foreign_cluster", 1) in {(finding.kind, finding.node_id) for finding in counted(verdict)}
    assert verdict.exit_status == 1


def test_wrong_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(AnalysisError, match="holds no metadata log") as raised:
        run_analysis([tmp_path / "empty"])
    assert raised.value.exit_status == 2
    with pytest.raises(AnalysisError, match="does not exist"):
        run_analysis([tmp_path / "absent"])
