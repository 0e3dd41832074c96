"""Fencing of silent brokers: one at a time leaves the ISRs and is fenced.

The next broker is judged only after the effect of the last is in the image (KIP-631). A long fencing takes several
turns; the record of the fence is the last.
"""

from __future__ import annotations

from metadata_log.records import BrokerRegistrationChangeRecord
from quorum.controller.leader_changes import take_out_of_isrs
from quorum.controller.result import NOTHING, ControllerResult
from quorum.controller.turn import Turn


def fence_one_stale_broker(turn: Turn) -> ControllerResult[None]:
    """Return the next records to fence the broker with the longest silence, or none if no session is stale."""
    sessions, brokers = turn.state.sessions, turn.image.cluster.brokers
    while (broker_id := sessions.stale(turn.now_ms)) is not None:
        broker = brokers.get(broker_id)
        if broker is None or broker.fenced or sessions.of(broker).last_contact_ms is None:
            # The broker is gone, fenced, or registered again: end its session. Work for its new incarnation continues.
            sessions.forget(broker_id)
            turn.state.departures.pop(broker_id, None)
            continue
        records, is_complete = take_out_of_isrs(turn, broker_id)
        if not is_complete:
            return ControllerResult(records=tuple(records), response=None, is_atomic=False)
        fence = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=1)
        sessions.forget(broker_id)
        return ControllerResult(records=(*records, fence), response=None, is_atomic=False)
    return NOTHING
