"""Messages declared beside kio, against the frames that Kafka's own classes make of them."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.index import KioIndexError, load_request_schema, load_response_schema

from quorum.api.error_codes import Error
from quorum.api.voter_messages import ApiVersionsRequest
from quorum.server.kafka.offered_versions import OFFERED
from quorum.transport.kafka import beside_kio
from quorum.transport.kafka.asking import CLIENT_ID, asked, first_frame, first_question
from quorum.transport.kafka.reader import BadFrame
from quorum.transport.kafka.wire import answers_of, questions_of, read_header, read_request

LINES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "fixtures" / "wire" / "kafka-4.4.0.jsonl").read_text().splitlines()
]
REQUESTS = [line for line in LINES if line["kind"] == "request"]
RESPONSES = [line for line in LINES if line["kind"] == "response"]
CORRELATION_ID = 77
_NEITHER = {"clusterId": None, "nodeId": -1}


def _frame(line: dict[str, Any]) -> bytes:
    return bytes.fromhex(line["frame"])


def _name(line: dict[str, Any]) -> str:
    return OFFERED[line["key"]].name


def _json_of(value: Any) -> Any:
    """Return the value as Kafka's JSON has it; its JSON leaves tagged fields out that have their default."""
    if isinstance(value, tuple):
        return [_json_of(each) for each in value]
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if not dataclasses.is_dataclass(value):
        return value
    fields = {}
    for field in dataclasses.fields(value):
        found = getattr(value, field.name)
        if "tag" in field.metadata and found == field.default:
            continue
        name = "throttle_time_ms" if field.name == "throttle_time" else field.name
        fields[re.sub(r"_(\w)", lambda match: match[1].upper(), name)] = _json_of(found)
    return fields


def test_every_declared_message_has_frames_of_kafka() -> None:
    for kind in ("request", "response"):
        shown = {(_name(line), line["version"]) for line in LINES if line["kind"] == kind}
        assert shown >= beside_kio.DECLARED


def test_kio_has_none_of_the_declared_messages() -> None:
    """A newer kio may have them: then their declarations go away."""
    keys = {offered.name: key for key, offered in OFFERED.items()}
    for name, version in beside_kio.DECLARED:
        for load in (load_request_schema, load_response_schema):
            with pytest.raises(KioIndexError):
                load(keys[name], version)


@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: f"{line['api']}-{line['fields']}")
def test_a_request_is_read_and_written_as_by_kafka(line: dict[str, Any]) -> None:
    header = read_header(_frame(line))
    assert (header.key, header.version, header.client_id) == (line["key"], line["version"], CLIENT_ID)
    body = read_request(_name(line), header, _frame(line))
    assert _json_of(body) == line["fields"]
    written = questions_of(_name(line), line["key"], line["version"]).frame(CORRELATION_ID, CLIENT_ID, body)
    assert written[4:] == _frame(line)


@pytest.mark.parametrize("line", RESPONSES, ids=lambda line: f"{line['api']}-{line['fields']['errorCode']}")
def test_a_response_is_read_and_written_as_by_kafka(line: dict[str, Any]) -> None:
    body = questions_of(_name(line), line["key"], line["version"]).read(_frame(line))
    assert _json_of(body) == line["fields"]
    answers = answers_of(_name(line), line["version"])
    values = {field.name: getattr(body, field.name) for field in dataclasses.fields(body)}
    response = answers.response(**{**values, "error_code": Error(body.error_code)})
    assert answers.frame(CORRELATION_ID, response) == _frame(line)


@pytest.mark.parametrize("line", REQUESTS, ids=lambda line: f"{line['api']}-{line['fields']}")
def test_a_request_cut_anywhere_is_refused(line: dict[str, Any]) -> None:
    data = _frame(line)
    header = read_header(data)
    for end in range(header.ends_at, len(data)):
        with pytest.raises(BadFrame):
            read_request(_name(line), header, data[:end])


@pytest.mark.parametrize("line", RESPONSES, ids=lambda line: f"{line['api']}-{line['fields']['errorCode']}")
def test_a_response_cut_anywhere_is_refused(line: dict[str, Any]) -> None:
    questions = questions_of(_name(line), line["key"], line["version"])
    for end in range(4, len(_frame(line))):
        with pytest.raises(BadFrame):
            questions.read(_frame(line)[:end])


def _versions_request(version: int) -> bytes:
    """Return Kafka's frame of ApiVersions without ids."""
    found = [line for line in REQUESTS if (line["key"], line["version"]) == (18, version)]
    (line,) = [line for line in found if {**_NEITHER, **line["fields"]}.items() >= _NEITHER.items()]
    return _frame(line)


def test_a_connection_begins_as_one_between_kafkas_controllers() -> None:
    """Without ids: Kafka's Raft client and its broker-to-controller client give none."""
    assert first_frame(first_question(), CORRELATION_ID)[4:] == _versions_request(5)


@pytest.mark.parametrize("version", [4, 5])
def test_a_new_voter_is_asked_without_ids(version: int) -> None:
    """A cluster's id without a node's is rejected."""
    found = asked(ApiVersionsRequest(), {18: (0, version)}, cluster_id="4L6g3nShT-eMCtK--X86sw", timeout_ms=1)
    assert found.frame(CORRELATION_ID)[4:] == _versions_request(version)
