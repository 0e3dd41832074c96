"""The answer to AllocateProducerIds that is put together by hand is kio's, byte for byte."""

from __future__ import annotations

import pytest

from quorum.api.error_codes import Error
from quorum.api.producer_ids import AllocateProducerIdsResponse
from quorum.transport.kafka.producer_ids_frame import producer_ids_frame
from quorum.transport.kafka.wire import answers_of


@pytest.mark.parametrize(
    "response",
    [
        AllocateProducerIdsResponse(first_producer_id=0, count=1000),
        AllocateProducerIdsResponse(first_producer_id=2**63 - 1001, count=1000),
        AllocateProducerIdsResponse(error=Error.STALE_BROKER_EPOCH, error_message="not said"),
    ],
)
def test_it_is_what_kio_writes(response: AllocateProducerIdsResponse) -> None:
    answers = answers_of("allocate_producer_ids", 0)
    entity = answers.response(
        error_code=response.error, producer_id_start=response.first_producer_id, producer_id_len=response.count
    )
    for correlation_id in (0, 2**31 - 1):
        assert producer_ids_frame(correlation_id, response) == answers.frame(correlation_id, entity)
