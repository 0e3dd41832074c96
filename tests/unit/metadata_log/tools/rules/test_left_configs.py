"""Configs that Kafka leaves in its checkpoints when their topics are removed: told as what they are, once a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.records import ConfigRecord, encode_record
from metadata_log.storage.checkpoint import BOOTSTRAP_CHECKPOINT
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Finding, Severity
from metadata_log.tools.partitions.audit_image import find_judges
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.replicas.hashes import hash_logs
from metadata_log.tools.rules.orphaned_configs import RemovedTopicConfigs
from metadata_log.tools.verify.verify_log import verify_file, verify_log
from tests.support.damage import Cluster, copy_cluster, split, with_base, with_values, write
from tests.support.left_behind import AFTER, AGAIN, GONE, checkpoint_with, cut_to


@pytest.fixture
def stray(clusters: Path, tmp_path: Path) -> Cluster:
    """Nodes whose log, from offset 0 on, creates topics with configs and removes some of them."""
    source = clusters / "stray"
    for node in (1, 2, 3, 11, 12):
        copy_cluster(source / f"node-{node}", tmp_path / f"stray/node-{node}")
    return Cluster(root=tmp_path / "stray")


def _found(cluster: Cluster) -> list[tuple[str, str, int | None, str | None]]:
    return [(one.kind, one.severity.value, one.node_id, one.file) for one in _findings(cluster)]


def _findings(cluster: Cluster) -> list[Finding]:
    return list(check_paths([cluster.root]).findings)


def test_a_checkpoint_with_configs_of_removed_topics_is_one_warning(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), GONE)

    (found,) = _findings(stray)

    assert (found.kind, found.severity, found.node_id) == ("configs_left_behind", Severity.WARNING, 1)
    assert found.file == str(path)
    assert "'sensors-51'" in found.meaning
    assert "the node may start" in found.advice


def test_it_is_a_whole_checkpoint(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), GONE)

    (source,) = find_sources([stray.node(1)]).nodes
    report = next(one for one in verify_log(source).checkpoints if one.path == str(path))

    assert report.is_whole
    assert report.image is not None
    assert "min.insync.replicas" not in report.image.configs.of_topic("sensors-51")


def test_only_the_newest_checkpoint_counts(stray: Cluster) -> None:
    older = checkpoint_with(stray.metadata(1), GONE)
    newer = checkpoint_with(stray.metadata(1), GONE, at=200)

    assert _found(stray) == [
        ("configs_left_behind", "warning", 1, str(newer)),
        ("configs_left_behind", "note", 1, str(older)),
    ]


def test_a_topic_that_is_there_again_is_named_with_what_it_took_up(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(12), AGAIN)

    (found,) = _findings(stray)

    assert (found.kind, found.severity, found.file) == ("configs_left_behind", Severity.WARNING, str(path))
    assert "'mail-90' may have min.insync.replicas=1" in found.meaning


@pytest.mark.parametrize(
    "configs",
    [{"never-was": {"retention.ms": "5"}}, {"sensors-51": {"retention.ms": "5"}}],
    ids=["no-such-topic", "no-such-config"],
)
def test_what_no_removed_topic_had_stays_an_error(configs: Mapping[str, Mapping[str, str]], stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), configs)

    assert _found(stray) == [("config_of_nothing", "error", 1, str(path))]


def test_a_config_of_a_topic_that_was_never_removed_stays_a_disagreement(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), {"users-26": {"retention.ms": "5"}})

    assert _found(stray) == [("checkpoint_disagrees", "error", 1, str(path))]


def test_what_differs_besides_is_said_besides(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), {**GONE, "users-26": {"retention.ms": "5"}})

    assert _found(stray) == [
        ("checkpoint_disagrees", "error", 1, str(path)),
        ("configs_left_behind", "warning", 1, str(path)),
    ]


def test_a_log_may_begin_with_it(stray: Cluster) -> None:
    """Nothing in that log says that the topic was removed; other replicas' checkpoints after it are as they were."""
    path = checkpoint_with(stray.metadata(11), GONE)
    cut_to(stray.metadata(11), AFTER)
    checkpoint_with(stray.metadata(2), {}, at=200)
    again = checkpoint_with(stray.metadata(11), {}, at=230)

    assert _found(stray) == [
        ("configs_left_behind", "warning", 11, str(again)),
        ("configs_left_behind", "note", 11, str(path)),
    ]


def test_a_log_may_begin_after_the_topic_was_made_again(stray: Cluster) -> None:
    """Only other replicas' logs say that it was removed, and with what."""
    first = checkpoint_with(stray.metadata(12), AGAIN)
    cut_to(stray.metadata(12), AFTER)

    (found,) = _findings(stray)

    assert (found.kind, found.severity, found.node_id) == ("configs_left_behind", Severity.WARNING, 12)
    assert (found.file, found.offset) == (str(first), AFTER)
    assert "'mail-90' may have min.insync.replicas=1" in found.meaning

    newer = checkpoint_with(stray.metadata(12), {}, at=200)
    assert _found(stray) == [
        ("configs_left_behind", "warning", 12, str(newer)),
        ("configs_left_behind", "note", 12, str(first)),
    ]


def test_of_two_replicas_the_one_that_has_more_has_it_left(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(12), AGAIN)
    cut_to(stray.metadata(12), AFTER)

    found = check_paths([stray.node(1), stray.node(12)]).findings

    assert [(one.kind, one.node_id, one.file) for one in found] == [("configs_left_behind", 12, str(path))]


@pytest.mark.parametrize(
    "configs",
    [
        {"mail-90": {"min.insync.replicas": "2"}},
        {"mail-90": {"min.insync.replicas": "1", "retention.ms": "5"}},
        {**AGAIN, "users-26": {"retention.ms": "5"}},
    ],
    ids=["another value", "another config", "another topic"],
)
def test_what_no_log_explains_stays_a_disagreement(configs: Mapping[str, Mapping[str, str]], stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(12), configs)
    cut_to(stray.metadata(12), AFTER)

    assert _found(stray) == [("checkpoint_disagrees", "error", 12, str(path))]


def test_partitions_are_judged_by_it(stray: Cluster) -> None:
    checkpoint_with(stray.metadata(11), GONE)
    cut_to(stray.metadata(11), AFTER)

    judges = find_judges(find_sources([stray.node(11)]).nodes, [])

    assert judges.covers_broker
    assert judges.doubts == ()


def test_a_replica_with_it_is_still_asked_what_others_hold(stray: Cluster) -> None:
    """Nodes 1 and 12 are two of three logs with the same batch at offset 200. The third differs."""
    for node in (1, 12):
        checkpoint_with(stray.metadata(node), GONE)
    odd = checkpoint_with(stray.metadata(2), {"users-26": {"retention.ms": "5"}}, at=200)
    cut_to(stray.metadata(2), 200)

    report = check_paths([stray.node(node) for node in (1, 2, 12)])

    assert ("checkpoint_disagrees", str(odd)) in [(one.kind, one.file) for one in report.findings]


def test_before_the_first_record_nothing_was_removed(stray: Cluster) -> None:
    path = stray.disk(1) / BOOTSTRAP_CHECKPOINT
    batches = split(path)
    number = next(n for n, batch in enumerate(batches) if not parse_header(batch).is_control)
    values = batch_values(batches[number], parse_header(batches[number]))
    config = ConfigRecord(resource_type=2, resource_name="sensors-51", name="min.insync.replicas", value="1")
    batches[number] = with_values(batches[number], [*values, encode_record(config, 0)])
    after = [with_base(batch, int(parse_header(batch).base_offset) + 1) for batch in batches[number + 1 :]]
    write(path, [*batches[: number + 1], *after])

    assert _found(stray) == [("config_of_nothing", "error", 1, str(path))]


def test_a_file_by_itself(stray: Cluster) -> None:
    path = checkpoint_with(stray.metadata(1), GONE)

    assert [one.kind for one in verify_file(path).findings] == ["configs_left_behind"]


def test_hashes_say_whether_nothing_else_differs(stray: Cluster) -> None:
    checkpoint_with(stray.metadata(1), GONE)

    one, other = hash_logs([stray.node(1), stray.node(2)], 200)

    assert one.hash != other.hash
    assert one.left_behind == ("sensors-51",)
    assert other.left_behind == ()
    assert one.hash_without == other.hash_without == other.hash


def test_one_batch_may_set_a_config_and_remove_its_topic() -> None:
    gone = RemovedTopicConfigs()
    gone.begin_batch()
    gone.on_config(ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5"))
    gone.on_removal("t", {"segment.bytes": "1048576"})
    gone.begin_batch()
    gone.on_removal("t", {})

    assert gone.explains("t", {"retention.ms": "5", "segment.bytes": "1048576"})
    assert not gone.explains("t", {"retention.ms": "6"})
    assert not gone.explains("u", {"retention.ms": "5"})
