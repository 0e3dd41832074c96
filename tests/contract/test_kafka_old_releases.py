"""A broker whose release cannot be served is named in the log: once, with its release and the reason."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from metadata_log.image import MetadataImage
from quorum.node.process.log_lines import configure_logging
from quorum.server.kafka.old_releases import why_not_served
from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode


def _at(level: int) -> MetadataImage:
    image = MetadataImage.empty()
    return msgspec.structs.replace(image, features=msgspec.structs.replace(image.features, metadata_version=level))


@pytest.mark.parametrize(
    ("release", "level", "kraft_version", "words"),
    [
        ("3.2.3", 7, 0, "it knows no metadata.version: the first brokers that can be served are those of Kafka 3.3"),
        ("2.8.0", 30, 1, "it knows no metadata.version"),
        ("3.8.1", 20, 1, "it does not know kraft.version 1, voters in the log: Kafka 3.9 is the first that does"),
        (
            "3.5.2",
            19,
            0,
            "metadata.version is 3.7-IV4 (19), and it knows those up to 3.5-IV2 (11): upgrade the broker, or format",
        ),
        ("4.3.0", 33, 1, "metadata.version is 4.4-IV2 (33), and it knows those up to 4.3-IV0 (30)"),
    ],
)
def test_the_reason_is_what_the_release_lacks(release: str, level: int, kraft_version: int, words: str) -> None:
    why = why_not_served(release, _at(level), kraft_version)
    assert why is not None
    assert why.startswith(words)


@pytest.mark.parametrize(
    ("release", "level", "kraft_version"),
    [("3.3.2", 7, 0), ("3.5.2", 11, 0), ("3.9.2", 21, 1), ("4.4.0", 33, 1), ("4.9.0", 33, 1), ("trunk", 33, 1)],
)
def test_what_can_be_served_or_is_not_known_is_not_warned_of(release: str, level: int, kraft_version: int) -> None:
    assert why_not_served(release, _at(level), kraft_version) is None


def _warnings_of(*clients: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warnings after each of these clients, by its id and software, has asked twice."""
    stream, node = io.StringIO(), ScriptedNode()
    node.kraft_version, node.image = 0, _at(11)
    configure_logging(as_json=True, stream=stream)

    async def main() -> None:
        async with kafka_door(node) as door:
            for client_id, words in (*clients, *clients):
                async with connected(door.port) as client:
                    body = written(api_versions(3, **words))
                    await client.send_bytes(request_bytes(18, 3, body, 1, client_id))
                    assert (await client.answer(18, 3, 1)).error_code.value == 0

    run(main())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_broker_and_release_is_warned_of_once() -> None:
    old = {"client_software_version": "3.2.3"}
    first, second = _warnings_of(("raft-client-11", old), ("raft-client-12", old))
    assert (first["level"], first["broker"], first["release"]) == ("warning", 11, "Kafka 3.2.3")
    assert first["client"] == "127.0.0.1"
    assert "Kafka 3.3" in first["why"]
    assert second["broker"] == 12


def test_others_are_not() -> None:
    """An Admin of any age may ask, and other software counts its releases by itself."""
    old = {"client_software_version": "3.2.3"}
    other = {"client_software_name": "librdkafka", "client_software_version": "2.3.0"}
    served = {"client_software_version": "3.5.2"}
    assert _warnings_of(("admin-1", old), ("raft-client-11", other), ("raft-client-12", served)) == []
