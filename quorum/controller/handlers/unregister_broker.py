"""UnregisterBroker: a broker is no longer one of the cluster (KIP-631); it leaves every ISR, and its id is free.

Kafka's tools ask for it once a broker is gone for good. Its replicas stay assigned to it until somebody moves them.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.records import UnregisterBrokerRecord
from quorum.controller.context import CLUSTER, Operation, authorize
from quorum.controller.leadership import forget_departure, take_out_of_partitions
from quorum.controller.requests import UnregisterBroker, UnregisterBrokerResponse
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn
from quorum.errors import Error


def handle_unregister_broker(request: UnregisterBroker, turn: Turn) -> ControllerResult:
    """PartitionChangeRecords for what the broker leaves, then the UnregisterBrokerRecord."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.refused(error, "Authorization failed."))
    broker_id = NodeId(request.broker_id)
    broker = turn.image.cluster.brokers.get(broker_id)
    if broker is None:
        why = f"Broker ID {request.broker_id} is not currently registered"
        return ControllerResult(response=request.refused(Error.BROKER_ID_NOT_REGISTERED, why))
    records = take_out_of_partitions(turn, broker_id)
    if len(records) >= turn.config.max_records_per_batch:
        why = (
            f"Broker {request.broker_id} is in sync in too many partitions to unregister it at once: stop it, or fence"
            " it, first."
        )
        return ControllerResult(response=request.refused(Error.POLICY_VIOLATION, why))
    turn.state.sessions.forget(broker_id)
    forget_departure(turn, broker_id)
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return ControllerResult(records=(*records, gone), response=UnregisterBrokerResponse(), is_atomic=False)
