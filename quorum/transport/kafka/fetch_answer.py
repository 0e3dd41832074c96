"""The response to this node's Fetch, decoded by hand: a follower gets one for each commit.

Decides: how FetchResponse, versions 16 to 18, becomes the core's response. The fields behind the records are the leader
with its endpoint, the divergence and a snapshot id. They are equal in nearly all responses of one leader: kio
reads them once, and the result is cached. A response with an error is read by kio as a whole. A test compares the two.

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
"""Of the response: correlation id, header tags, throttle time, error, session id. One topic: its id. One partition:
index, error, high watermark, last stable and log start offset, aborted transactions, preferred replica."""
_ONE: Final = 2
"""The length of an array of one."""
_EMPTY: Final = b"\1"
_NONE_ABORTED: Final = (0, 1)
"""The lengths of null and of an empty array."""
_MOST_BEHIND: Final = 512
"""The most bytes behind the records that are cached."""


def read_fetch_answer(questions: Questions, data: bytes) -> FetchResponse:
    """Return the response; `data` begins with the correlation id.

    Raises:
        BadFrame: it does not have exactly the one partition of the metadata topic.
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
    """Return a response without records that ends in these bytes."""
    head = _HEAD.pack(0, 0, 0, 0, 0, _ONE, METADATA_TOPIC_ID, _ONE, 0, 0, 0, 0, 0, 0, 0)
    return fetch_response_from(questions_of("fetch", 1, version).read(head + _EMPTY + behind))
