"""Answers of Kafka's protocol are written as kio writes them, byte for byte, whatever is in them."""

from __future__ import annotations

import dataclasses
import datetime
import typing
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from quorum.server.kafka.offered_versions import OFFERED
from quorum.transport.kafka.reader import NUMBERS, without_none
from quorum.transport.kafka.wire import answers_of
from quorum.transport.kafka.writer import writer_of
from tests.support.kafka_wire import response_schema, written

_EVERY = [(key, version) for key, offered in OFFERED.items() for version in offered.versions]
_BITS = {"b": 7, "h": 15, "i": 31, "q": 63}
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.just("ü" * 100)
_MS = datetime.timedelta(milliseconds=1)


def _values_of(kafka_type: str) -> st.SearchStrategy[Any]:
    form = NUMBERS.get(kafka_type, "")
    of_form: dict[str, st.SearchStrategy[Any]] = {
        "error_code": st.sampled_from(ErrorCode),
        "bool": st.booleans(),
        "uint16": st.integers(0, (1 << 16) - 1),
        "string": _TEXTS,
        "bytes": st.binary(max_size=200),
        "records": st.binary(max_size=200),
        "uuid": st.none() | st.uuids(allow_nil=False),
        "timedelta_i32": st.integers(0, (1 << 31) - 1).map(lambda value: value * _MS),
        "datetime_i64": st.integers(0, 1 << 41).map(
            lambda ms: datetime.datetime.fromtimestamp(0, datetime.UTC) + ms * _MS
        ),
    }
    if kafka_type in of_form:
        return of_form[kafka_type]
    return st.integers(-(1 << _BITS[form]), (1 << _BITS[form]) - 1)


def _field(field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    kind, is_optional = without_none(field.type)
    kafka_type = field.metadata.get("kafka_type")
    is_array = typing.get_origin(kind) is tuple
    element = typing.get_args(kind)[0] if is_array else kind
    values = _entities(element) if kafka_type is None else _values_of(kafka_type)
    if is_array:
        values = st.lists(values, max_size=2).map(tuple)
    return values | st.none() if is_optional and "tag" not in field.metadata else values


@cache
def _entities(entity: type[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for any entity of kio."""
    return st.builds(entity, **{field.name: _field(field) for field in dataclasses.fields(entity)})


@pytest.mark.parametrize(("key", "version"), _EVERY)
@settings(max_examples=20)
@given(st.data())
def test_it_is_what_kio_writes(key: int, version: int, data: st.DataObject) -> None:
    entity = response_schema(key, version)
    value = data.draw(_entities(entity))
    assert writer_of(entity)(value) == written(value)


@pytest.mark.parametrize("version", [1, 2])
def test_a_text_has_at_most_32767_bytes(version: int) -> None:
    """CreateAcls, whose version 2 is flexible: Kafka's clients do not read longer ones."""
    entity = response_schema(30, version)
    (results,) = (field for field in dataclasses.fields(entity) if field.name == "results")
    result = typing.get_args(results.type)[0]

    def of(length: int) -> Any:
        told = result(error_code=ErrorCode.none, error_message="x" * length)
        return entity(throttle_time=datetime.timedelta(0), results=(told,))

    write = writer_of(entity)
    assert write(of(32767)) == written(of(32767))
    with pytest.raises(ValueError, match="a text of 32768 bytes: the longest has 32767"):
        write(of(32768))


def test_what_may_not_be_null_is_not_written_as_null() -> None:
    """The cluster's id in DescribeCluster."""
    answers = answers_of("describe_cluster", 2)
    body = answers.response(
        error_code=ErrorCode.none,
        error_message=None,
        endpoint_type=2,
        cluster_id=None,
        controller_id=1,
        brokers=(),
        cluster_authorized_operations=0,
    )
    with pytest.raises(TypeError, match="a text that may not be null"):
        writer_of(type(body))(body)
