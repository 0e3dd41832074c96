"""Unregistration of a broker: it leaves ISRs and leadership topic by topic, and its registration is removed last.

A broker with many partitions takes several turns. A live broker could rejoin ISRs meanwhile. So if one turn is not
enough, the first one marks the broker as shutting down.
"""

from __future__ import annotations

from metadata_log.image import BrokerRegistration
from metadata_log.records import BrokerRegistrationChangeRecord, MetadataRecord, UnregisterBrokerRecord
from quorum.controller.leader_changes import forget_departure, take_out_of_partitions
from quorum.controller.partitions.brokers import is_active
from quorum.controller.sweep import Sweep, Unregistration
from quorum.controller.turn import Turn


def unregister(turn: Turn, broker: BrokerRegistration) -> tuple[list[MetadataRecord], bool]:
    """Return one turn's records, and True if they are the last and remove the registration."""
    state, broker_id = turn.state, broker.broker_id
    state.index.advance()
    known = state.unregistrations.get(broker_id)
    is_first = known is None or known.broker_epoch != broker.epoch
    if known is None or is_first:
        sweep = Sweep(state.index.topics_on(broker_id))
        known = state.unregistrations[broker_id] = Unregistration(sweep=sweep, broker_epoch=broker.epoch)
    records: list[MetadataRecord] = []
    records += take_out_of_partitions(turn, broker_id, known)
    if known.sweep.is_done and state.index.is_built:
        del state.unregistrations[broker_id]
        state.losses.pop(broker_id, None)
        state.sessions.forget(broker_id)
        forget_departure(turn, broker_id)
        return [*records, UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)], True
    if is_first and is_active(broker):
        stopping = BrokerRegistrationChangeRecord(
            broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=1
        )
        records.insert(0, stopping)
    return records, False


def continue_unregistrations(turn: Turn) -> list[MetadataRecord]:
    """Return one turn's records of deferred unregistrations. A broker that has registered again stays."""
    for broker_id, known in list(turn.state.unregistrations.items()):
        broker = turn.image.cluster.brokers.get(broker_id)
        if broker is None or broker.epoch != known.broker_epoch:
            del turn.state.unregistrations[broker_id]
            continue
        records, is_gone = unregister(turn, broker)
        if is_gone:
            turn.state.unregistered.add(broker_id)
        return records
    return []
