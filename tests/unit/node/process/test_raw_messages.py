"""Elements of protobuf messages, counted before they are parsed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from kraft.v1 import access_pb2, agent_pb2, controller_pb2
from kraft.v1 import controller_pb2 as pb
from quorum.node.process.raw_messages import (
    FIELDS_AN_ELEMENT,
    NUMBERS_AN_ELEMENT,
    TooManyElementsError,
    check_elements,
    emptied,
)
from quorum.transport.kafka import reader
from tests.support.any_message import any_message

_KINDS = [
    GetMessageClass(method.input_type)
    for service in (
        *controller_pb2.DESCRIPTOR.services_by_name.values(),
        *agent_pb2.DESCRIPTOR.services_by_name.values(),
    )
    for method in service.methods
]


def _check(raw: bytes, kind: type[Message], most: int) -> None:
    asyncio.run(check_elements(raw, kind.DESCRIPTOR, most))  # type: ignore[arg-type]


def _counted(message: Any) -> int:
    """Return how many elements there are, found in the message once it is parsed."""
    count = 0
    for field, value in message.ListFields():
        is_struct = field.message_type is not None
        if field.is_repeated:
            count += len(value) if is_struct else len(value) // NUMBERS_AN_ELEMENT
        for inner in value if is_struct and field.is_repeated else [value] if is_struct else []:
            count += _counted(inner)
    return count


def test_numbers_count_as_at_the_kafka_listener() -> None:
    assert NUMBERS_AN_ELEMENT == reader.NUMBERS_AN_ELEMENT


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: str(kind.__name__))
def test_elements_are_those_of_the_parsed_message(kind: type[Message]) -> None:
    draw = random.Random(kind.__name__)
    for _ in range(20):
        message = any_message(kind, draw)
        raw, count = message.SerializeToString(), _counted(message)
        most = max(count, len(raw) // FIELDS_AN_ELEMENT + 1)
        _check(raw, kind, most)
        if most == count > 0:
            with pytest.raises(TooManyElementsError):
                _check(raw, kind, count - 1)


def test_structs_and_numbers_count_at_every_depth() -> None:
    partition = pb.CreatableReplicaAssignment(partition_index=1, broker_ids=range(1_000, 1_016))
    request = pb.CreateTopicsRequest(topics=[pb.CreatableTopic(name="t", assignments=[partition] * 4)] * 3)
    raw = request.SerializeToString()
    _check(raw, type(request), 3 + 3 * 4 + 12 * 2)
    with pytest.raises(TooManyElementsError, match="divide it"):
        _check(raw, type(request), 3 + 3 * 4 + 12 * 2 - 1)


def _first_of(number: int, raw: bytes) -> bytes:
    return bytes([number << 3 | 2, len(raw)]) + raw


@pytest.mark.parametrize(
    "raw",
    [
        b"\x0a\0" * 101,
        b"\x8a\0\0" * 101,
        b"\x8a\x80\0\x80\0" * 101,
        b"\x78\0" * (100 * FIELDS_AN_ELEMENT + 1),
        b"\xfa\x3f\0" * (100 * FIELDS_AN_ELEMENT + 1),
        _first_of(1, _first_of(1, b"t" * 100)) * 101,
    ],
    ids=["empty", "long tags", "long tags and sizes", "unknown numbers", "unknown texts", "topics"],
)
def test_too_many_are_found_however_they_are_written(raw: bytes) -> None:
    pb.CreateTopicsRequest.FromString(raw)
    with pytest.raises(TooManyElementsError):
        _check(raw, pb.CreateTopicsRequest, 100)


def test_numbers_in_pieces_of_a_list_are_one_list() -> None:
    pieces = b"\x12\x07" + bytes(7)
    raw = _first_of(1, _first_of(4, pieces * 9))
    count = _counted(pb.CreateTopicsRequest.FromString(raw))
    _check(raw, pb.CreateTopicsRequest, count)
    with pytest.raises(TooManyElementsError):
        _check(raw, pb.CreateTopicsRequest, count - 1)


async def _checked(raw: bytes) -> None:
    await check_elements(raw, pb.CreateTopicsRequest.DESCRIPTOR, 50_000)  # type: ignore[arg-type]


def test_the_loop_turns_after_each_thousand_fields() -> None:
    async def main() -> int:
        counting = asyncio.ensure_future(_checked(b"\x10\x01" * 20_480))
        turns = 0
        while not counting.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(main()) >= 20


def test_the_largest_element_has_room() -> None:
    entry = access_pb2.AclEntry(
        resource_type=1, resource_name="n", pattern_type=1, principal="p", host="h", operation=1, permission_type=1
    )
    assert len(entry.ListFields()) == max(
        len(each.fields) for each in (access_pb2.AclEntry.DESCRIPTOR, access_pb2.AclFilter.DESCRIPTOR)
    )
    raw = access_pb2.CreateAclsRequest(creations=[entry] * 1_000).SerializeToString()
    _check(raw, access_pb2.CreateAclsRequest, 1_000)


@pytest.mark.parametrize(
    "raw",
    [b"\x0a", b"\x0a\x05", b"\x0a\xff", b"\xff", b"\x80" * 11, b"\x08", b"\x09\0", b"\x0d\0", b"\x0b\x0c", b"\x0f"],
    ids=lambda raw: raw.hex(),
)
def test_no_message(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        _check(raw, pb.CreateTopicsRequest, 100)


def test_an_emptied_call_has_its_id_and_its_kind() -> None:
    topics = [pb.CreatableTopic(name=f"t-{number}") for number in range(1_000)]
    call = pb.Call(request_id=1 << 40, timeout_ms=7, create_topics=pb.CreateTopicsRequest(topics=topics))
    raw = emptied(call.SerializeToString(), 3)
    kept = pb.Call.FromString(raw)
    assert (kept.request_id, kept.timeout_ms, kept.WhichOneof("request")) == (1 << 40, 7, "create_topics")
    assert len(raw) < 20
    with pytest.raises(TooManyElementsError):
        emptied(call.SerializeToString(), 2)
