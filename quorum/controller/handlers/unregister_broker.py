"""UnregisterBroker: removes a broker from the cluster and from every ISR; its id is free afterwards (KIP-631).

Kafka's tools send it after a broker is gone for good. Its replicas stay assigned to it until a user moves them. If the
work takes more than a turn, it continues by itself. The client gets a retryable error, on which Kafka's Admin retries.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from quorum.api.brokers import UnregisterBroker, UnregisterBrokerResponse
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn
from quorum.controller.unregistration import unregister


def handle_unregister_broker(request: UnregisterBroker, turn: Turn) -> ControllerResult[UnregisterBrokerResponse]:
    """Return PartitionChangeRecords for the broker's partitions, then the UnregisterBrokerRecord."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    broker_id, unregistered = NodeId(request.broker_id), turn.state.unregistered
    broker = turn.image.cluster.brokers.get(broker_id)
    was_unregistered = broker_id in unregistered
    unregistered.discard(broker_id)
    if broker is None and was_unregistered:
        return ControllerResult(response=UnregisterBrokerResponse())
    if broker is None:
        why = f"Broker ID {request.broker_id} is not currently registered"
        return ControllerResult(response=request.rejected(Error.BROKER_ID_NOT_REGISTERED, why))
    records, is_gone = unregister(turn, broker)
    why = f"Broker {request.broker_id} is still being taken out of ISRs. Ask again."
    response = UnregisterBrokerResponse() if is_gone else request.rejected(Error.REQUEST_TIMED_OUT, why)
    return ControllerResult(records=tuple(records), response=response, is_atomic=False)
