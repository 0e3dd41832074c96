"""Replay of logs that real Kafka clusters wrote, against what Kafka itself made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metadata_log.ids import id_text
from metadata_log.image import MetadataImage, image_of_checkpoint, records_of
from metadata_log.image.checkpoint import values_in_slices
from metadata_log.records import MetadataRecord, RegisterBrokerRecord, RegisterControllerRecord, encode_record
from tests.support.image_logs import (
    FIXTURES,
    checkpoints,
    directory_id,
    final_image,
    first_end,
    log_directories,
    read_checkpoint,
    replay,
    scenario_of,
)
from tests.support.image_shell import Tree, provenance_of, read_tree, tree_of

LOGS = log_directories()
WITH_CHECKPOINTS = [
    directory
    for directory in LOGS
    if any(end.offset > first_end(directory).offset for end in checkpoints(scenario_of(directory)))
]
"""The logs that replay past the end of a checkpoint; one whose first image is the newest checkpoint's cannot."""
PROVENANCE = ("image", "provenance")


def _shell_trees() -> list[Path]:
    read = [path for path in sorted(FIXTURES.glob("*/oracle/shell/**/*.gz")) if len(read_tree(path)) > 3]
    return [path for path in read if _log_of(path).is_dir()]


def _log_of(tree: Path) -> Path:
    scenario, _, _, *node, _ = tree.relative_to(FIXTURES).parts
    return FIXTURES.joinpath(scenario, *node, "data", "__cluster_metadata-0")


SHELL_TREES = _shell_trees()


def test_the_fixtures_are_there() -> None:
    scenarios = {scenario_of(directory) for directory in LOGS}
    assert scenarios >= {
        "basic",
        "basic-4.4",
        "every-record",
        "every-record-4.4",
        "upgrade-path",
        "failovers",
        "failovers-4.4",
        "dynamic-voters",
        "static-3.9",
        "stray",
    }
    assert {scenario_of(directory) for directory in WITH_CHECKPOINTS} == {
        "every-record",
        "every-record-4.4",
        "upgrade-path",
        "failovers",
        "failovers-4.4",
    }
    assert len(SHELL_TREES) >= 6


@pytest.mark.parametrize("directory", WITH_CHECKPOINTS, ids=directory_id)
def test_a_checkpoint_holds_what_replay_up_to_its_end_gives(directory: Path) -> None:
    expected = checkpoints(scenario_of(directory))
    compared = 0
    for replayer in replay(directory):
        image = replayer.image
        for checkpoint in expected.get(image.offset_and_epoch, []):
            assert _as_set(records_of(image)) == _as_set(checkpoint.records)
            assert checkpoint.image == image
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("directory", LOGS, ids=directory_id)
def test_an_image_survives_its_own_checkpoint(directory: Path) -> None:
    image = final_image(directory)
    again = _reread(image)
    assert again == image
    assert list(records_of(again)) == list(records_of(image))


@pytest.mark.parametrize("directory", LOGS, ids=directory_id)
@pytest.mark.parametrize("size", [1, 7, 200])
def test_values_in_slices_are_those_of_the_records(directory: Path, size: int) -> None:
    image = final_image(directory)
    slices = list(values_in_slices(image, size))
    assert max(map(len, slices)) <= size
    written = [encode_record(record, version) for record, version in records_of(image)]
    assert [value for values in slices for value in values] == written


@pytest.mark.parametrize("path", SHELL_TREES, ids=lambda path: "-".join(path.relative_to(FIXTURES).parts))
def test_kafkas_shell_shows_the_same_image(path: Path) -> None:
    shown: Tree = read_tree(path)
    name = path.name.removesuffix(".txt.gz")
    if name.endswith(".checkpoint"):
        image = read_checkpoint(_log_of(path) / name).image
    else:
        image = final_image(_log_of(path))
        assert shown[PROVENANCE] == provenance_of(image)
    shown.pop(PROVENANCE)
    assert tree_of(image) == shown


@pytest.mark.parametrize("directory", LOGS, ids=directory_id)
def test_deleted_ids_are_gone_and_each_replay_step_publishes_on_batch_bounds(directory: Path) -> None:
    facts = json.loads((FIXTURES / scenario_of(directory) / "scenario.json").read_text())["facts"]
    last = None
    for replayer in replay(directory):
        if replayer.transaction is None:
            assert replayer.end == replayer.image.offset_and_epoch
        else:
            assert replayer.image.offset_and_epoch.offset <= replayer.transaction.begin_offset < replayer.end.offset
        last = replayer
    assert last is not None
    assert not last.in_transaction
    if directory.relative_to(FIXTURES).parts[1].startswith("node-"):
        present = {id_text(topic_id) for topic_id in last.image.topics.by_id}
        assert not present & {topic["id"] for topic in facts.get("deleted_topics", [])}


@pytest.mark.parametrize(
    "node",
    [
        "basic/node-1",
        "basic-4.4/node-1",
        "upgrade-path/node-1",
        "failovers/node-1",
        "failovers-4.4/node-1",
        "dynamic-voters/node-4",
        "static-3.9/node-1",
    ],
)
def test_what_the_living_cluster_answered_was_an_image_on_the_way(node: str) -> None:
    directory = FIXTURES / node / "data" / "__cluster_metadata-0"
    facts = json.loads((FIXTURES / scenario_of(directory) / "scenario.json").read_text())["facts"]["topics"]
    assert facts
    assert _without_configs(facts) in [_described(replayer.image, facts) for replayer in replay(directory)]


def _described(image: MetadataImage, facts: dict[str, Any]) -> dict[str, Any]:
    """`image` in the shape of the scenario's facts, for the topics that they name."""
    described: dict[str, Any] = {}
    for name in facts:
        topic = image.topics.named(name)
        if topic is not None:
            described[name] = {
                "id": id_text(topic.topic_id),
                "partitions": {
                    str(partition.partition_id): {
                        "leader": partition.leader,
                        "replicas": list(partition.replicas),
                        "isr": sorted(partition.isr),
                    }
                    for partition in topic.partitions
                },
            }
    return described


def _without_configs(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {
            "id": topic["id"],
            "partitions": {
                number: {
                    "leader": partition["leader"],
                    "replicas": partition["replicas"],
                    "isr": sorted(partition["isr"]),
                }
                for number, partition in topic["partitions"].items()
            },
        }
        for name, topic in facts.items()
    }


def _reread(image: MetadataImage) -> MetadataImage:
    return image_of_checkpoint(
        [record for record, _ in records_of(image)],
        end=image.offset_and_epoch,
        last_contained_timestamp_ms=image.last_contained_timestamp_ms,
    )


def _as_set(records: Any) -> set[tuple[MetadataRecord, int]]:
    """Records with their versions, without the orders that mean nothing: of records, listeners and features."""
    return {(_normal(record), version) for record, version in records}


def _normal(record: MetadataRecord) -> MetadataRecord:
    if isinstance(record, RegisterBrokerRecord | RegisterControllerRecord):
        return msgspec.structs.replace(
            record,
            end_points=tuple(sorted(record.end_points, key=lambda endpoint: endpoint.name)),
            features=tuple(sorted(record.features, key=lambda feature: feature.name)),
        )
    return record
