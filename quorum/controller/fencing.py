"""Brokers that fell silent: one at a time is taken out of the ISRs and fenced.

One at a time, so that the effect of each is visible before the next is judged (KIP-631); and over several turns if it
takes long, the fence itself last.
"""

from __future__ import annotations

from metadata_log.records import BrokerRegistrationChangeRecord
from quorum.controller.leader_changes import take_out_of_isrs
from quorum.controller.result import NOTHING, ControllerResult
from quorum.controller.turn import Turn


def fence_one_stale_broker(turn: Turn) -> ControllerResult[None]:
    """The next records on the way to fencing the broker that has been silent for longest; none if none is stale."""
    sessions, brokers = turn.state.sessions, turn.image.cluster.brokers
    while (broker_id := sessions.stale(turn.now_ms)) is not None:
        broker = brokers.get(broker_id)
        if broker is None or broker.fenced or sessions.of(broker).last_contact_ms is None:
            # Gone, fenced already, or registered anew since: nothing to fence, and its session is over. What is done
            # for its successor, which asks to be let in, goes on.
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
