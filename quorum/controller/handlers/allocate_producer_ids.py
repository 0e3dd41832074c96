"""AllocateProducerIds: the next block of producer ids, which no broker was given before (KIP-730)."""

from __future__ import annotations

from typing import Final

from metadata_log.ids import NodeId
from metadata_log.image.access import PRODUCER_ID_BLOCK
from metadata_log.records import ProducerIdsRecord
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from quorum.controller.result import ControllerResult
from quorum.controller.sessions import why_stale
from quorum.controller.turn import Turn

BLOCK_SIZE: Final = PRODUCER_ID_BLOCK
_LARGEST: Final = (1 << 63) - 1


def handle_allocate_producer_ids(
    request: AllocateProducerIds, turn: Turn
) -> ControllerResult[AllocateProducerIdsResponse]:
    """Return the allocated block, with a ProducerIdsRecord that has the begin of the next one."""
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    why = why_stale(request.broker_id, request.broker_epoch, turn.image)
    if why is not None:
        return ControllerResult(response=request.rejected(Error.STALE_BROKER_EPOCH, why))
    first = max(turn.image.producer_ids.next_producer_id, 0)
    if first > _LARGEST - BLOCK_SIZE:
        return ControllerResult(
            response=request.rejected(Error.UNKNOWN_SERVER_ERROR, "All producer ids are given out.")
        )
    record = ProducerIdsRecord(
        broker_id=NodeId(request.broker_id),
        broker_epoch=request.broker_epoch,
        next_producer_id=first + BLOCK_SIZE,
    )
    return ControllerResult(
        records=(record,), response=AllocateProducerIdsResponse(first_producer_id=first, count=BLOCK_SIZE)
    )
