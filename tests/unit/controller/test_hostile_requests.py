"""Every request of a client gets a response, whatever it contains.

Neither the request nor later work on its records raises an exception.
"""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.errors import MalformedRecordError
from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.records import encode_record
from metadata_log.records.levels import write_version
from quorum.api.context import RequestContext
from quorum.api.request import Request
from quorum.api.topics import CreatableTopic, CreateTopics
from quorum.controller.request_table import HANDLERS
from tests.support.controller import ELR, LEVEL, ControlledCluster, uuid

HOSTILE_TEXTS = (
    "",
    " ",
    "\0",
    ".",
    "..",
    "*",
    "9" * 5_000,
    "-" + "9" * 5_000,
    "1e" + "9" * 5_000,
    "0x1p" + "9" * 5_000,
    "client_id=" + "(" * 3_000,
    "client_id=" + "[" * 3_000,
    "client_id=a{4294967296}",
    "client_id=(?u)(?a)a",
    "client_id=" + "\\Q" * 3_000,
    "=" * 3_000,
    "," * 3_000,
    ":" * 3_000,
    "[" * 3_000,
    "\u0661" * 5_000,
    "\u00b2",
    "\U0001d7ce",
    "\x85\u2028",
    "x" * 40_000,
    "by_duration:P" + "9" * 5_000 + "D",
    "::ffff:1.2.3.4%" + "9" * 5_000,
)
KNOWN_TEXTS = (
    "t",
    "11",
    "1",
    METADATA_TOPIC_NAME,
    "User:eve",
    "user",
    "client-id",
    "ip",
    "min.insync.replicas",
    "retention.ms",
    "local.retention.ms",
    "remote.storage.enable",
    "cleanup.policy",
    "log.retention.hours",
    "min.cleanable.dirty.ratio",
    "match",
    "interval.ms",
    "share.auto.offset.reset",
    "consumer.session.timeout.ms",
    "unclean.leader.election.enable",
    "cordoned.log.dirs",
    "producer_byte_rate",
    "connection_creation_rate",
    "metadata.version",
    "kraft.version",
    ELR,
)
TEXTS = st.sampled_from(HOSTILE_TEXTS) | st.sampled_from(KNOWN_TEXTS) | st.text(max_size=8)
NUMBERS = st.sampled_from((-(1 << 31), -128, -2, -1, 0, 1, 2, 3, 4, 6, 11, 12, 16, 30, 32, 127, 4096, (1 << 31) - 1))
NUMBERS |= st.integers(-(1 << 7), 1 << 7)
LONGS = NUMBERS | st.sampled_from((-(1 << 63), (1 << 63) - 1))
FLOATS = st.floats() | st.sampled_from((0.0, 1e308, float("nan"), float("inf")))
IDS = st.sampled_from((bytes(16), bytes(15) + b"\1", b"\xff" * 16, uuid(11), uuid(0xF000_0001), uuid(0xD000_00B0)))


@cache
def values(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Anything that the wire can carry in a field of this type and name."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    numbers = LONGS if name.endswith(("epoch", "offset", "_ms")) else NUMBERS
    ids = IDS if name.endswith(("_id", "dirs")) else st.binary(max_size=40)
    simple = {str: TEXTS, float: FLOATS, bool: st.booleans(), int: numbers, bytes: ids, type(None): st.none()}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in simple:
        return simple[hint]
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(values(each, name) for each in arguments))
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0], name), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(each, name) for each in arguments))
    return st.builds(hint, **{each: values(kind, each) for each, kind in typing.get_type_hints(hint).items()})


def started() -> ControlledCluster:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    cluster.place("t", (11, 12), (12, 11))
    return cluster


CONTEXTS = st.sampled_from((RequestContext(), RequestContext(client_id="9" * 5_000), RequestContext(forwarded_by=11)))


@pytest.mark.parametrize("kind", list(HANDLERS), ids=lambda kind: kind.__name__)
@settings(max_examples=60)
@given(data=st.data())
def test_every_request_is_answered(kind: type[Request[Any]], data: st.DataObject) -> None:
    cluster = started()
    request, context = data.draw(values(kind)), data.draw(CONTEXTS)
    result = cluster.machine.on_request(
        request, context, cluster.image, cluster.next_offset, cluster.time, 1, cluster.ids
    )
    assert result.response is not None
    try:
        for record in result.records:
            encode_record(record, write_version(type(record), LEVEL))
    except MalformedRecordError:
        return  # is refused for that, and forgotten
    cluster.append(result.records)
    later = CreatableTopic(name="later", num_partitions=1, replication_factor=2)
    cluster.ask(CreateTopics(topics=(later,), wants_configs=True))
    cluster.elapse(20_000)
    cluster.settle()
