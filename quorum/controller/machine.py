"""The controller's state machine: from requests and the passage of time to records and responses.

Decides: the handler of each request, and the order of due work. It has only soft state that a new controller does not
need: broker sessions, an index of hosted topics, deferred work. Must not know: how records become durable, or which
clients are connected.

The driver must append the records of every result, in order, or deactivate the machine: the soft state relies on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord, NoOpRecord
from metadata_log.records.levels import NO_OP_LEVEL
from quorum.api.brokers import BrokerHeartbeat
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.request import Request, Response
from quorum.controller.activation import activation_records
from quorum.controller.balancing import begin_what_is_due, continue_balancing
from quorum.controller.config import ControllerConfig
from quorum.controller.fencing import fence_one_stale_broker
from quorum.controller.handlers.broker_heartbeat import touch_session
from quorum.controller.leader_changes import continue_clean_ups, continue_elections, continue_losses
from quorum.controller.metadata_levels import level_of
from quorum.controller.request_table import HANDLERS
from quorum.controller.result import NOTHING, ControllerResult
from quorum.controller.token_sweep import continue_token_sweep
from quorum.controller.turn import Clock, SoftState, Turn
from quorum.controller.unregistration import continue_unregistrations

R = TypeVar("R", bound=Response)

_NO_CLIENT: Final = RequestContext()
_DEFERRED: Final[tuple[Callable[[Turn], Iterable[MetadataRecord]], ...]] = (
    continue_elections,
    continue_clean_ups,
    continue_losses,
    continue_unregistrations,
    continue_balancing,
    continue_token_sweep,
)
"""Work that was put off, by its urgency: the first that has records to write takes the turn."""
_IDLE: Final = ControllerResult(records=(NoOpRecord(),), response=None)


class ControllerMachine:
    """The active controller between `activate` and `deactivate`; a standby outside."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._state: SoftState | None = None
        self._epoch = Epoch(-1)
        self._now_ms = 0
        self._active_since_ms = 0

    @property
    def is_active(self) -> bool:
        """True if the machine serves requests."""
        return self._state is not None

    @property
    def epoch(self) -> Epoch:
        """The Raft epoch of the last activation; -1 before the first."""
        return self._epoch

    def use_kraft_version(self, version: int) -> None:
        """Use this finalised `kraft.version`; Raft knows it, the image does not."""
        if version != self._config.kraft_version:
            self._config = msgspec.structs.replace(self._config, kraft_version=version)

    def use_heard(self, heard: frozenset[NodeId], now_ms: int) -> None:
        """Set the nodes that must support a new feature level: the voters, and those heard within the session timeout.

        Until that timeout has passed since activation, silence proves nothing: every registered controller counts.
        """
        is_new = now_ms - self._active_since_ms < self._config.session_timeout_ms
        living = None if is_new else heard
        self._config = msgspec.structs.replace(self._config, living_controllers=living)

    def activate(
        self,
        image: MetadataImage,
        clock: Clock,
        *,
        epoch: Epoch,
        bootstrap_values: tuple[MetadataRecord, ...],
        open_transaction: bool,
        metadata_topic_id: TopicId,
    ) -> ControllerResult[None]:
        """Become the active controller of `epoch` with the committed `image`; return the first records to append.

        Every broker that is not fenced counts as heard now.

        Raises:
            InvariantViolation: see `activation_records`.
        """
        records = activation_records(
            image,
            self._config,
            bootstrap_values,
            open_transaction=open_transaction,
            metadata_topic_id=metadata_topic_id,
        )
        state = SoftState(self._config, image, clock.monotonic_ms)
        for broker in image.cluster.brokers.values():
            if not broker.fenced:
                state.sessions.touch(state.sessions.of(broker), clock.monotonic_ms)
        self._state = state
        self._epoch = epoch
        self._now_ms = self._active_since_ms = clock.monotonic_ms
        return ControllerResult(records=records, response=None)

    def deactivate(self) -> None:
        """Become a standby, and drop all soft state."""
        self._state = None

    def on_request(
        self,
        request: Request[R],
        context: RequestContext,
        image: MetadataImage,
        next_offset: Offset,
        clock: Clock,
        draw: int,
        new_ids: Iterator[TopicId],
    ) -> ControllerResult[R]:
        """Return the response to a request, and the records that it needs.

        `image` includes all appended records; `next_offset` is the first record's future offset; `draw` is random for
        the placement of replicas; `new_ids` yields as many random ids as there are topics to create.

        Raises:
            InvariantViolation: `new_ids` ran out, or the request has no row in the table.
        """
        state = self._state
        if state is None:
            return ControllerResult(
                response=request.rejected(Error.NOT_CONTROLLER, "This is not the active controller.")
            )
        now_ms = self._now_ms = clock.monotonic_ms
        turn = Turn(
            config=self._config,
            state=state,
            image=image,
            next_offset=next_offset,
            now_ms=now_ms,
            wall_ms=clock.wall_ms,
            context=context,
            draw=draw,
            new_ids=new_ids,
        )
        if context.deadline_ms is not None and now_ms >= context.deadline_ms:
            if isinstance(request, BrokerHeartbeat):
                touch_session(request, turn)
            why = "The request's deadline passed before it could be looked at."
            return ControllerResult(response=request.rejected(Error.REQUEST_TIMED_OUT, why))
        result = HANDLERS.handle(request, turn)
        state.observe(result.records, image, now_ms)
        return result

    def on_control_batch(self, clock: Clock) -> None:
        """Note a batch that Raft has appended: the log is not idle."""
        if self._state is not None:
            self._state.rounds.on_append(clock.monotonic_ms)

    def on_elapsed(
        self, image: MetadataImage, next_offset: Offset, clock: Clock, *, all_committed: bool = True
    ) -> ControllerResult[None]:
        """Do one step of the due work: fence a stale broker, or continue deferred work.

        An idle controller writes a NoOp instead, if all records before `next_offset` are committed (`all_committed`).
        While `next_deadline_ms` is not in the future, the caller repeats the call with the image after these records.
        """
        state = self._state
        if state is None:
            return NOTHING
        self._now_ms = clock.monotonic_ms
        turn = Turn(
            config=self._config,
            state=state,
            image=image,
            next_offset=next_offset,
            now_ms=clock.monotonic_ms,
            wall_ms=clock.wall_ms,
            context=_NO_CLIENT,
            draw=0,
            new_ids=iter(()),
        )
        result = fence_one_stale_broker(turn)
        if not state.index.advance():
            return self._noted(result, turn)
        begin_what_is_due(turn)
        for step in _DEFERRED:
            if result.records:
                break
            result = ControllerResult(records=tuple(step(turn)), response=None, is_atomic=False)
        if not result.records and state.rounds.take_idle(turn.now_ms, all_committed=all_committed):
            result = _IDLE if level_of(image) >= NO_OP_LEVEL else NOTHING
        return self._noted(result, turn)

    def _noted(self, result: ControllerResult[None], turn: Turn) -> ControllerResult[None]:
        turn.state.observe(result.records, turn.image, turn.now_ms)
        return result

    def next_deadline_ms(self) -> int | None:
        """Return when `on_elapsed` is due next (monotonic ms), or None on a standby."""
        state = self._state
        if state is None:
            return None
        if state.has_work:
            return self._now_ms
        stale_at_ms, again_at_ms = state.sessions.next_deadline_ms(), state.rounds.next_deadline_ms()
        return again_at_ms if stale_at_ms is None else min(stale_at_ms, again_at_ms)
