"""The image in the words of Kafka's metadata shell, line for line, for what Kafka's shell printed of real logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from metadata_log.ids import TopicId
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.records import (
    ConfigRecord,
    MetadataRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from metadata_log.tools.shell.image_tree import image_tree, tree_lines
from tests.support.damage_access import entry
from tests.support.image_logs import FIXTURES, final_image

TOPIC_ID = TopicId(bytes(range(16)))


# Of 4.3, and printed once the whole log was read (Kafka's shell may print before).
WHOLE = [
    *(f"basic/node-{node}" for node in (1, 2, 3)),
    "every-record/node-1",
]


@pytest.mark.parametrize("node", WHOLE)
def test_the_tree_is_what_kafkas_shell_prints(node: str) -> None:
    scenario, name = node.split("/")
    printed = FIXTURES / scenario / "oracle" / "shell" / name / "00000000000000000000.log.txt.gz"
    expected = gzip.decompress(printed.read_bytes()).decode().partition("local:")[0]
    image = final_image(_log(node))
    assert "".join(f"{line}\n" for line in tree_lines({"image": image_tree(image)})) == expected


def _log(node: str) -> Path:
    return FIXTURES / node / "data" / "__cluster_metadata-0"


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (ConfigRecord(resource_type=99, resource_name="x", name="a", value="b"), "  99:x:"),
        (ConfigRecord(resource_type=0, resource_name="x", name="a", value="b"), "  0:x:"),
        (
            UserScramCredentialRecord(
                name="alice", mechanism=9, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096
            ),
            "  9:",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_that_name_nothing_are_shown_as_numbers(record: MetadataRecord, shown: str) -> None:
    builder = ImageBuilder(MetadataImage.empty())
    builder.apply(TopicRecord(name="orders", topic_id=TOPIC_ID), 0)
    builder.apply(record, 0)

    assert any(shown in line for line in tree_lines(image_tree(builder.build(1, 1, 0))))


def test_codes_that_kafka_does_not_have_are_unknown() -> None:
    builder = ImageBuilder(MetadataImage.empty())
    builder.apply(entry(operation=-2, resource_type=99, pattern_type=5, permission_type=4), 0)

    (line,) = [line for line in tree_lines(image_tree(builder.build(1, 1, 0))["acls"]) if "StandardAcl" in line]

    assert "[resourceType=UNKNOWN, resourceName=orders, patternType=UNKNOWN, principal=User:alice, " in line
    assert line.endswith("operation=UNKNOWN, permissionType=UNKNOWN]")
