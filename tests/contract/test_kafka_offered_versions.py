"""The offered APIs and versions, against those that a controller of Kafka 4.4.0 offers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from quorum.server.kafka.offered_versions import OFFERED

_FRAMES: Final = Path(__file__).parents[1] / "fixtures" / "wire" / "kafka-4.4.0.jsonl"
_NOT_OFFERED: Final = {
    17: "SaslHandshake",
    36: "SaslAuthenticate",
    41: "DescribeDelegationToken",
    50: "DescribeUserScramCredentials",
}
"""SASL is not spoken here, and brokers answer the other two themselves."""
_FIRST: Final = {1: 12}
"""KRaft's brokers have never asked for an older Fetch."""
_NEVER_FORWARDED: Final = {67}
"""AllocateProducerIds is a broker's own request: no client sends it."""


def _kafkas() -> dict[int, dict[str, Any]]:
    lines = map(json.loads, _FRAMES.read_text().splitlines())
    return {line["key"]: line for line in lines if line["kind"] == "api"}


def test_no_api_is_missing_and_none_is_ours_alone() -> None:
    kafkas = _kafkas()
    assert {key: kafkas[key]["api"] for key in kafkas.keys() - OFFERED.keys()} == _NOT_OFFERED
    assert not OFFERED.keys() - kafkas.keys()


def test_each_api_has_kafkas_name_and_versions() -> None:
    for key, offered in OFFERED.items():
        line = _kafkas()[key]
        assert offered.name.replace("_", "") == line["api"].lower()
        assert (offered.first, offered.last) == (_FIRST.get(key, line["first"]), line["last"]), line


def test_brokers_forward_the_same() -> None:
    forwarded = {key for key, offered in OFFERED.items() if offered.is_forwardable}
    assert forwarded == {key for key, line in _kafkas().items() if line["forwardable"]} - _NEVER_FORWARDED
