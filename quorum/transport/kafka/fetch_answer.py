"""The answer to our own Fetch, read by hand: a follower gets one for each commit.

Decides: how FetchResponse, versions 16 to 18, becomes what the core is told. What stands behind the records (the leader
and its place, where the logs part, a snapshot) is alike in nearly all answers of one leader: it is read by kio's
entities once, and then known. An answer that is refused as a whole is read by them throughout; a test compares the two.

Source: FetchResponse.json of Kafka 4.3.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

import msgspec

from metadata_log.ids import METADATA_TOPIC_ID
from metadata_log.offsets import Offset
from quorum.api.raft_messages import FetchResponse
from quorum.transport.grpc.convert.common import error_from
from quorum.transport.kafka.fetch_asking import fetch_response_from
from quorum.transport.kafka.reader import Cursor
from quorum.transport.kafka.wire import Questions, questions_of

_HEAD: Final = struct.Struct(">iBihiB16sBihqqqBi")
"""Correlation id, tags of the header, throttle time, error, session's id; one topic: its id; one partition: index,
error, high watermark, last stable and log start offset, aborted transactions, preferred replica."""
_ONE: Final = 2
"""The length of an array of one."""
_EMPTY: Final = b"\1"
_NONE_ABORTED: Final = (0, 1)
"""Null, or none."""
_MOST_BEHIND: Final = 512
"""Bytes behind the records that are worth to be remembered."""


def read_fetch_answer(questions: Questions, data: bytes) -> FetchResponse:
    """What is answered; `data` begins with the correlation id.

    Raises:
        BadFrame: it is no answer for the one partition of the metadata topic.
    """
    plain = _plain_answer(questions.version, data) if len(data) > _HEAD.size else None
    return fetch_response_from(questions.read(data)) if plain is None else plain


def _plain_answer(version: int, data: bytes) -> FetchResponse | None:
    (
        _, tags, _, error, _, topics, topic_id, partitions, _,
        partition_error, high_watermark, _, log_start_offset, aborted, _,
    ) = _HEAD.unpack_from(data)  # fmt: skip
    is_plain = not (tags or error) and topics == partitions == _ONE and topic_id == METADATA_TOPIC_ID
    if not is_plain or aborted not in _NONE_ABORTED:
        return None
    cursor = Cursor(data, _HEAD.size)
    records = cursor.take(max(cursor.uvarint() - 1, 0))
    if cursor.end - cursor.at > _MOST_BEHIND:
        return None
    return msgspec.structs.replace(
        _behind_records(version, data[cursor.at :]),
        error=error_from(partition_error),
        high_watermark=Offset(high_watermark),
        log_start_offset=Offset(max(log_start_offset, 0)),
        records=records,
    )


@lru_cache(maxsize=64)
def _behind_records(version: int, behind: bytes) -> FetchResponse:
    """An answer without records that ends in these bytes."""
    head = _HEAD.pack(0, 0, 0, 0, 0, _ONE, METADATA_TOPIC_ID, _ONE, 0, 0, 0, 0, 0, 0, 0)
    return fetch_response_from(questions_of("fetch", 1, version).read(head + _EMPTY + behind))
