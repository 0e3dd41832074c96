"""BrokerHeartbeat: keeps a broker's session, and unfences, fences or stops the broker.

Decides: a broker's next state, by its wish, its applied offset and the partitions that it leads (KIP-631, KIP-841). A
broker stops only after its leaders have moved. A heartbeat of a former incarnation is rejected, so that two processes
cannot share an id.
"""

from __future__ import annotations

import enum

from metadata_log.ids import NodeId
from metadata_log.image import BrokerRegistration
from metadata_log.records import BrokerRegistrationChangeRecord, MetadataRecord
from metadata_log.records.levels import CORDONED_DIRECTORIES_LEVEL, DIRECTORIES_LEVEL
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.controller.handlers.register_broker import MOST_DIRECTORIES
from quorum.controller.leader_changes import (
    elect_for_arrival,
    forget_departure,
    leads_any,
    lose_directories,
    take_out_of_isrs,
)
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.sessions import BrokerSession, why_stale
from quorum.controller.turn import Turn

FENCE = 1
UNFENCE = -1
ENTER_CONTROLLED_SHUTDOWN = 1


class _State(enum.Enum):
    FENCED = enum.auto()
    UNFENCED = enum.auto()
    CONTROLLED_SHUTDOWN = enum.auto()
    SHUTDOWN_NOW = enum.auto()


def handle_broker_heartbeat(request: BrokerHeartbeat, turn: Turn) -> ControllerResult[BrokerHeartbeatResponse]:
    """Return the broker's permitted state, and the records for it; not atomic."""
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    broker = turn.image.cluster.brokers.get(NodeId(request.broker_id))
    why = why_stale(request.broker_id, request.broker_epoch, turn.image)
    if broker is None or why is not None:
        return ControllerResult(response=request.rejected(Error.STALE_BROKER_EPOCH, why))
    most = max(len(request.offline_log_dirs), len(request.cordoned_log_dirs or ()))
    if most > MOST_DIRECTORIES:
        # Check first: a later failure would leave a part of the change undone.
        why = f"It names {most} directories, and a broker has {MOST_DIRECTORIES} at most."
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    session = turn.state.sessions.of(broker)
    turn.state.sessions.touch(session, turn.now_ms)
    current = _current_state(broker, session)
    wanted = _next_state(request, turn, session, current)
    records, reached = _transition(turn, broker, session, current, wanted)
    session.metadata_offset = request.current_metadata_offset
    records += _directory_changes(request, turn, broker, is_leaving=wanted in (_State.FENCED, _State.SHUTDOWN_NOW))
    if reached is _State.CONTROLLED_SHUTDOWN and (records or session.controlled_shutdown_offset < 0):
        session.controlled_shutdown_offset = turn.next_offset + len(records) - 1
    if reached in (_State.FENCED, _State.SHUTDOWN_NOW):
        session.controlled_shutdown_offset = -1
    if reached is _State.SHUTDOWN_NOW:
        turn.state.sessions.forget(broker.broker_id)
    return ControllerResult(
        records=tuple(records),
        response=BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= session.last_registration_offset,
            is_fenced=reached in (_State.FENCED, _State.SHUTDOWN_NOW),
            should_shut_down=reached is _State.SHUTDOWN_NOW,
        ),
        is_atomic=False,
    )


def touch_session(request: BrokerHeartbeat, turn: Turn) -> None:
    """Note that the broker lives, by a heartbeat whose deadline has passed."""
    broker = turn.image.cluster.brokers.get(NodeId(request.broker_id))
    if broker is not None and broker.epoch == request.broker_epoch:
        turn.state.sessions.touch(turn.state.sessions.of(broker), turn.now_ms)


def _current_state(broker: BrokerRegistration, session: BrokerSession) -> _State:
    if broker.fenced:
        return _State.FENCED
    return _State.CONTROLLED_SHUTDOWN if session.controlled_shutdown_offset >= 0 else _State.UNFENCED


def _next_state(request: BrokerHeartbeat, turn: Turn, session: BrokerSession, current: _State) -> _State:
    if current is _State.FENCED:
        if request.want_shut_down:
            return _State.SHUTDOWN_NOW
        is_caught_up = request.current_metadata_offset >= session.last_registration_offset
        return _State.UNFENCED if is_caught_up and not request.want_fence else _State.FENCED
    if current is _State.UNFENCED:
        if request.want_fence:
            return _State.SHUTDOWN_NOW if request.want_shut_down else _State.FENCED
        if not request.want_shut_down:
            return _State.UNFENCED
        return _State.CONTROLLED_SHUTDOWN if leads_any(turn, NodeId(request.broker_id)) else _State.SHUTDOWN_NOW
    return _State.SHUTDOWN_NOW if _may_stop(request, turn, session) else _State.CONTROLLED_SHUTDOWN


def _may_stop(request: BrokerHeartbeat, turn: Turn, session: BrokerSession) -> bool:
    """Return True if all leaders have moved, and every active broker has applied these changes."""
    if leads_any(turn, NodeId(request.broker_id)):
        return False
    lowest = turn.state.sessions.lowest_offset(turn.brokers.active - {request.broker_id})
    return lowest is None or session.controlled_shutdown_offset <= lowest


def _transition(
    turn: Turn, broker: BrokerRegistration, session: BrokerSession, current: _State, wanted: _State
) -> tuple[list[MetadataRecord], _State]:
    """Return the records of a state change, and the state after this turn: leaving may take several turns."""
    records: list[MetadataRecord] = []
    if wanted is _State.UNFENCED:
        was_leaving = forget_departure(turn, broker.broker_id)
        if current is _State.FENCED:
            records.append(_change(broker, fenced=UNFENCE))
        if current is _State.FENCED or was_leaving:
            records += elect_for_arrival(turn, broker.broker_id)
        return records, wanted
    if broker.fenced:
        return records, wanted
    if wanted is _State.CONTROLLED_SHUTDOWN:
        if not broker.in_controlled_shutdown:
            records.append(_change(broker, in_controlled_shutdown=ENTER_CONTROLLED_SHUTDOWN))
        records += take_out_of_isrs(turn, broker.broker_id)[0]
        return records, wanted
    changes, is_complete = take_out_of_isrs(turn, broker.broker_id)
    records += changes
    if not is_complete:
        return records, current
    records.append(_change(broker, fenced=FENCE))
    return records, wanted


def _change(broker: BrokerRegistration, *, fenced: int = 0, in_controlled_shutdown: int = 0) -> MetadataRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
    )


def _directory_changes(
    request: BrokerHeartbeat, turn: Turn, broker: BrokerRegistration, *, is_leaving: bool
) -> list[MetadataRecord]:
    """Return records for directories that the broker has lost (KIP-858) or cordoned (KIP-1066)."""
    records: list[MetadataRecord] = []
    level = level_of(turn.image)
    offline = frozenset(request.offline_log_dirs)
    lost = [directory for directory in broker.directories if directory in offline]
    # A leaving broker is in no ISR; a broker without directories stops by itself.
    if level >= DIRECTORIES_LEVEL and lost and not is_leaving and len(lost) < len(broker.directories):
        records += lose_directories(turn, broker, lost)
    cordoned = request.cordoned_log_dirs
    if level >= CORDONED_DIRECTORIES_LEVEL and cordoned is not None:
        known = broker.cordoned_directories
        if known is None or set(known) != set(cordoned):
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.broker_id, broker_epoch=broker.epoch, cordoned_log_dirs=cordoned
                )
            )
    return records
