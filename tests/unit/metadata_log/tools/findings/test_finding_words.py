"""Places that findings name in words are the right ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import batch_records, batch_values, iter_batches, parse_header
from metadata_log.ids import TopicId, parse_topic_id
from metadata_log.records import (
    MetadataRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_record,
    encode_record,
)
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import finding
from tests.support.damage import append, copy_cluster, split, with_values, write

GONE = parse_topic_id("0Voj9lgKQY-gQFbG4oNRbw")
"""`basic`: the id of a payments-73 that was deleted."""


def given_and_removed(path: Path, topic_id: TopicId) -> tuple[int, int]:
    """The offsets of a topic's first and last record in a log."""
    data, given, removed = path.read_bytes(), -1, -1
    for position, header in iter_batches(data):
        for raw in () if header.is_control else batch_records(data, header, position):
            record = decode_record(raw.value or b"")
            if isinstance(record, TopicRecord) and record.topic_id == topic_id:
                given = int(raw.offset)
            elif isinstance(record, RemoveTopicRecord) and record.topic_id == topic_id:
                removed = int(raw.offset)
    return given, removed


def test_an_id_that_is_given_again_was_given_by_its_topic_record(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    given, removed = given_and_removed(cluster.segment(2), GONE)
    assert 0 <= given < removed
    append(cluster.segment(2), [TopicRecord(name="new", topic_id=GONE)])
    append(cluster.segment(2), [RemoveTopicRecord(topic_id=GONE)])

    (found,) = check_paths([cluster.node(2)]).findings

    assert found.kind == "topic_id_reused"
    assert found.meaning == f"topic 'new' is given an id that 'payments-73' was given at offset {given}"
    (consequence,) = found.consequences
    assert consequence.startswith("change_after_removal, ")
    assert consequence.endswith(f"topic 'payments-73', which was removed at offset {removed}")


def test_before_a_logs_first_record_there_is_no_epoch(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = cluster.metadata(2) / "leader-epoch-checkpoint"
    version, count, *lines = path.read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in (version, int(count) + 1, "0 150", *lines)))

    (found,) = [one for one in check_paths([cluster.node(2)]).findings if one.file == str(path)]

    assert found.meaning == "it says that epoch 0 began at offset 150; the log has no epoch there"


def change_first(path: Path, kind: type[MetadataRecord], **fields: int) -> int:
    """Change the first record of a kind in a log, under a right checksum; its offset."""
    batches = split(path)
    for number, batch in enumerate(batches):
        header = parse_header(batch)
        values = [] if header.is_control else [bytes(value) for value in batch_values(batch, header)]
        for index, value in enumerate(values):
            record = decode_record(value)
            if isinstance(record, kind):
                values[index] = encode_record(msgspec.structs.replace(record, **fields), value[2])
                write(path, [*batches[:number], with_values(batch, values), *batches[number + 1 :]])
                return int(header.base_offset) + index
    raise AssertionError(kind)


@pytest.mark.parametrize(
    ("kind", "fields", "felt_as", "words"),
    [
        (ProducerIdsRecord, {"next_producer_id": 2000}, "impossible_record", "the last one, of the record at offset"),
        (RegisterBrokerRecord, {"broker_epoch": 3}, "unknown_broker", "its registration is the record at offset"),
    ],
)
def test_where_a_wrong_record_is_felt_it_is_named(
    kind: type[MetadataRecord], fields: dict[str, int], felt_as: str, words: str, clusters: Path, tmp_path: Path
) -> None:
    """The record that cannot be replayed may be right: it contradicts one before it."""
    cluster = copy_cluster(clusters / "every-record", tmp_path / "every-record")
    offset = change_first(cluster.segment(1), kind, **fields)

    felt = [one for one in check_paths([cluster.node(1)]).findings if one.kind == felt_as]

    assert f"{words} {offset}, which may be the wrong one of the two" in felt[0].meaning
    assert felt[0].offset is not None
    assert felt[0].offset > offset


def test_a_finding_before_the_first_record_names_no_epoch() -> None:
    assert finding("corrupt_batch", "m", offset=0, epoch=-1).epoch is None
    assert finding("corrupt_batch", "m", offset=0, epoch=0).epoch == 0
