"""The controller part of a replica: handles clients' requests while it is active, and answers after the commit.

Decides: when this node is the active controller, which requests share a batch, when an answer may leave, and which
error the others get. Must not know: the meaning of a request (`quorum.controller` does), Raft, the disk.

An answer is true for the whole quorum: it needs a commit in this epoch, or a barrier that proves leadership. The node
is active once the committed image includes the LeaderChange of its epoch, so no record of earlier epochs is missing. If
leadership is lost, the outcome of an appended request is unknown (REQUEST_TIMED_OUT). A request that was not appended
gets NOT_CONTROLLER, and may be sent again to another node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from metadata_log.errors import MalformedRecordError
from metadata_log.ids import TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord
from quorum.api.brokers import RegisterBroker, RegisterBrokerResponse
from quorum.api.calls import AnyCall, ClientAnswer, ClientCall, Rejection
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.features import UpdateFeatures
from quorum.api.request import Read, Response
from quorum.controller.config import ControllerConfig
from quorum.controller.machine import ControllerMachine
from quorum.controller.request_table import HANDLERS
from quorum.controller.result import ControllerResult
from quorum.node.controller.backlog import Backlog
from quorum.node.controller.purgatory import Purgatory
from quorum.node.controller.reads import ImageReader, ReadBarriers
from quorum.node.controller.registration import Registration
from quorum.node.controller.role_config import RoleConfig
from quorum.node.controller.tail import Tail, TooLargeError
from quorum.node.controller.waiting import AnyWaitingAnswer, AnyWaitingRead, WaitingAnswer, WaitingRead
from quorum.node.core.executor import Executor
from quorum.node.core.ports import ControllerActivated, ControllerAnswered, ControllerDeactivated, RequestRejected
from quorum.raft.deadlines import earliest

R = TypeVar("R", bound=Response)
T = TypeVar("T")


class ControllerRole:
    """The application of a controller's executor."""

    def __init__(
        self,
        executor: Executor,
        controller: ControllerConfig,
        config: RoleConfig,
        registration: RegisterController,
        bootstrap_records: tuple[MetadataRecord, ...],
    ) -> None:
        self._executor = executor
        self._machine = ControllerMachine(controller)
        self._reader = ImageReader(controller)
        self._config = config
        self._session_timeout_ms = controller.session_timeout_ms
        self._registration = Registration(executor, registration)
        self._bootstrap_records = bootstrap_records
        self._tail: Tail | None = None
        self._commits: Purgatory[AnyWaitingAnswer] = Purgatory()
        """Responses until the image reaches the offset after their records."""
        self._reads: Purgatory[AnyWaitingRead] = Purgatory()
        """Reads until the image reaches their offset."""
        self._unproven: Purgatory[AnyWaitingAnswer | AnyWaitingRead] = Purgatory()
        """Responses and reads until a read barrier proves that this node leads, by the barrier's token."""
        self._barriers = ReadBarriers()
        self._backlog = Backlog(executor.ports)
        self._new_ids = self._ids()

    @property
    def active_epoch(self) -> Epoch | None:
        """The epoch in which this node is the active controller; None on a standby."""
        return None if self._tail is None else self._tail.epoch

    @property
    def waiting(self) -> int:
        """The number of waiting answers."""
        return len(self._commits) + len(self._reads) + len(self._unproven)

    @property
    def backlog(self) -> int:
        """See `executor.Application`."""
        return len(self._backlog)

    # --- called by the executor

    def on_turn(self, calls: list[AnyCall]) -> None:
        """See `executor.Application`."""
        self._machine.use_kraft_version(self._executor.machine.kraft_version)
        self._reader.use_kraft_version(self._executor.machine.kraft_version)
        if self._tail is None:
            self._maybe_activate()
        if self._registration.is_due:
            own = self._registration.maybe_register(is_active=self._tail is not None)
            calls = calls if own is None else [*calls, own]
        self._work(calls)
        if self._tail is not None and self._may_append(self._tail):
            self._append(self._tail)
        token = self._barriers.take_due()
        if token is not None:
            self._executor.ask_read_barrier(token)
        self._expire()

    def before_voter_change(self) -> None:
        """See `executor.Application`. Staged records have their offsets already, so a control batch comes after
        them."""
        if self._tail is not None and not self._tail.flush(self._executor.clock.wall_ms):
            self.on_lost_leadership()

    def on_voter_change(self, batch: bytes) -> None:
        """See `executor.Application`."""
        if self._tail is not None:
            self._tail.on_control_batch(batch)
            self._machine.on_control_batch(self._executor.clock)

    def on_published(self) -> None:
        """See `executor.Application`."""
        end = self._executor.image.offset_and_epoch.offset
        for answer in self._commits.take_reached(end):
            if answer.token is None or self._barriers.has_passed(answer.token):
                answer.call.respond(self._answer(answer.response, answer.offset))
            else:
                self._unproven.add(answer, until=answer.token, deadline_ms=answer.deadline_ms)
        for read in self._reads.take_reached(end):
            self._backlog.add_read(read.call)

    def on_lost_leadership(self) -> None:
        """See `executor.Application`."""
        self.on_read_barrier_refused()
        if self._tail is None:
            return
        epoch, appended_end, self._tail = self._tail.epoch, self._tail.appended_end_offset, None
        self._machine.deactivate()
        unknown = 0
        self._executor.changes.drop_staged(appended_end)
        for answer in self._commits.take_all():
            is_unknown = answer.writes_from is not None and answer.writes_from < appended_end
            unknown += is_unknown
            answer.call.respond(self._unknown_outcome() if is_unknown else self._not_controller())
        self._executor.tell(ControllerDeactivated(epoch=epoch, unknown_outcomes=unknown))

    def on_read_barrier(self, token: int, offset: Offset) -> None:
        """See `executor.Application`."""
        self._barriers.on_passed(token)
        for each in self._unproven.take_reached(token):
            if isinstance(each, WaitingAnswer):
                each.call.respond(self._answer(each.response, each.offset))
            elif offset <= self._executor.image.offset_and_epoch.offset:
                self._backlog.add_read(each.call)
            else:
                self._reads.add(each, until=offset, deadline_ms=each.deadline_ms)

    def on_read_barrier_refused(self) -> None:
        """See `executor.Application`."""
        self._barriers.on_refused()
        for each in self._unproven.take_all():
            each.call.respond(self._not_controller())

    def on_controller_answer(self, answered: ControllerAnswered) -> None:
        """See `executor.Application`."""
        self._registration.on_controller_answer(answered)

    def refuse_all(self, why: str) -> None:
        """See `executor.Application`."""
        for call in self._backlog.take_all():
            call.respond(self._not_controller(why))

    def next_deadline_ms(self) -> int | None:
        """See `executor.Application`."""
        if self._backlog:
            return self._executor.clock.monotonic_ms
        may_append = self._tail is not None and self._may_append(self._tail)
        return earliest(
            self._commits.next_deadline_ms(),
            self._reads.next_deadline_ms(),
            self._unproven.next_deadline_ms(),
            self._registration.next_deadline_ms(),
            self._machine.next_deadline_ms() if may_append else None,
        )

    # --- becoming the active one

    def _maybe_activate(self) -> None:
        executor = self._executor
        start, replayer, log_end = executor.epoch_start_offset, executor.replayer, executor.machine.log_end_offset
        if start is None or not executor.machine.is_leader or not start < replayer.end.offset == log_end:
            return
        epoch = executor.machine.epoch
        self._tail = Tail(
            replayer,
            epoch,
            propose=executor.propose,
            remember=executor.remember,
            max_records=self._config.max_records_per_batch,
            max_bytes=self._config.max_batch_bytes,
        )
        executor.tell(ControllerActivated(epoch=epoch))
        self._activate_machine(self._tail)

    def _activate_machine(self, tail: Tail) -> None:
        """Activate the machine with the image of the tail."""
        executor = self._executor
        self._machine.deactivate()
        result = self._machine.activate(
            tail.image,
            executor.clock,
            epoch=tail.epoch,
            bootstrap_values=self._bootstrap_records,
            open_transaction=tail.in_transaction,
            metadata_topic_id=next(self._new_ids),
        )
        if not self._write(tail, result):
            self.on_lost_leadership()

    def _ids(self) -> Iterator[TopicId]:
        while True:
            yield TopicId(self._executor.ports.entropy.new_id())

    # --- requests

    def _work(self, calls: list[AnyCall]) -> None:
        """Handle requests while there is time in this turn, those of earlier turns first."""
        self._backlog.add(calls)
        for call, is_due in self._backlog.take():
            if is_due:
                self._read(call)
            else:
                self._handle(call)

    def _handle(self, call: ClientCall[R]) -> None:
        if isinstance(call.request, Read):
            self._handle_read(call)
        elif self._tail is None:
            call.respond(self._not_controller())
        elif self.waiting >= self._config.max_waiting:
            call.respond(self._too_many())
        else:
            self._handle_active(call, self._tail)

    def _handle_active(self, call: ClientCall[R], tail: Tail) -> None:
        executor = self._executor
        if isinstance(call.request, UpdateFeatures):
            now_ms = executor.clock.monotonic_ms
            self._machine.use_heard(executor.machine.heard_since(now_ms - self._session_timeout_ms), now_ms)
        result = self._machine.on_request(
            call.request,
            call.context,
            tail.image,
            tail.next_offset,
            executor.clock,
            executor.ports.entropy.draw(),
            self._new_ids,
        )
        try:
            is_leading = self._write(tail, result)
        except (TooLargeError, MalformedRecordError) as error:
            is_too_much = isinstance(error, TooLargeError)
            code = Error.RECORD_LIST_TOO_LARGE if is_too_much else Error.INVALID_REQUEST
            # The machine may have noted more than these records, which is harmless (`topic_index`).
            call.respond(executor.leader_hint(code, str(error)))
            return
        if not is_leading:
            self.on_lost_leadership()
            call.respond(self._not_controller())
            return
        self._tell_refused_broker(call, result)
        self._answer_after(call, result, tail.next_offset)

    def _tell_refused_broker(self, call: ClientCall[R], result: ControllerResult[R]) -> None:
        """Report a broker that is not allowed in: Kafka's protocol returns only a code, so the reason goes to the
        log."""
        request, response = call.request, result.response
        if isinstance(request, RegisterBroker) and isinstance(response, RegisterBrokerResponse) and response.error:
            why, who = response.error_message or "", f"broker {request.broker_id}"
            self._executor.tell(
                RequestRejected(request="RegisterBroker", error=response.error, why=why, by_us=True, peer=who)
            )

    def _answer_after(self, call: ClientCall[R], result: ControllerResult[R], offset: Offset) -> None:
        """Answer once everything up to `offset` is committed, and that commit or a read barrier has proven
        leadership."""
        self._executor.changes.add(call, result.response, result.records, Offset(offset - 1))
        needs_proof = not result.records and not HANDLERS.proves_nothing(call.request)
        answer = WaitingAnswer(
            call=call,
            response=result.response,
            offset=offset,
            deadline_ms=self._deadline_of(call),
            writes_from=Offset(offset - len(result.records)) if result.records else None,
            token=self._barriers.next_token() if needs_proof else None,
        )
        if result.records or offset > self._executor.image.offset_and_epoch.offset:
            self._commits.add(answer, until=offset, deadline_ms=answer.deadline_ms)
            if call.prepare is not None:
                call.prepare(result.response)
        elif answer.token is not None:
            self._unproven.add(answer, until=answer.token, deadline_ms=answer.deadline_ms)
        else:
            call.respond(self._answer(result.response, offset))

    def _write(self, tail: Tail, result: ControllerResult[T]) -> bool:
        if not result.records:
            return True
        return tail.add(result.records, self._executor.clock.wall_ms, is_atomic=result.is_atomic)

    def _append(self, tail: Tail) -> None:
        self._on_time(tail)
        if self._tail is tail and self._may_append(tail) and not tail.flush(self._executor.clock.wall_ms):
            self.on_lost_leadership()

    def _on_time(self, tail: Tail) -> None:
        """Fence stale brokers, one step for each batch that may be appended now: a request waits behind one at most."""
        due = self._machine.next_deadline_ms()
        if due is None or due > self._executor.clock.monotonic_ms:
            return
        clock, done = self._executor.clock, self._executor.high_watermark >= tail.next_offset
        result = self._machine.on_elapsed(tail.image, tail.next_offset, clock, all_committed=done)
        if not self._write(tail, result):
            self.on_lost_leadership()
        elif result.records:
            self._executor.changes.add_own(result.records, Offset(tail.next_offset - 1))

    def _may_append(self, tail: Tail) -> bool:
        """Return True if the staged records may be appended now. Otherwise they wait for the high watermark, or a
        failed transfer."""
        return (
            not self._executor.machine.is_handing_over
            and tail.in_flight(self._executor.high_watermark) < self._config.max_batches_in_flight
        )

    # --- reads

    def _handle_read(self, call: ClientCall[R]) -> None:
        """Answer a read of `at_least` an offset from this image, and a linearizable one as leader, after a read
        barrier."""
        is_at_least = call.at_least_offset >= 0
        if is_at_least and call.at_least_offset <= self._executor.image.offset_and_epoch.offset:
            self._read(call)
        elif not is_at_least and not self._executor.machine.is_leader:
            call.respond(self._not_controller())
        elif self.waiting >= self._config.max_waiting:
            call.respond(self._too_many())
        else:
            read = WaitingRead(call=call, deadline_ms=self._deadline_of(call))
            if is_at_least:
                self._reads.add(read, until=call.at_least_offset, deadline_ms=read.deadline_ms)
            else:
                self._unproven.add(read, until=self._barriers.next_token(), deadline_ms=read.deadline_ms)

    def _read(self, call: ClientCall[R]) -> None:
        image, now_ms = self._executor.image, self._executor.clock.monotonic_ms
        response = self._reader.read(call.request, call.context, image, now_ms)
        call.respond(self._answer(response, image.offset_and_epoch.offset))

    # --- answers

    def _expire(self) -> None:
        now_ms = self._executor.clock.monotonic_ms
        for answer in self._commits.take_expired(now_ms):
            answer.call.respond(self._unknown_outcome())
        for call in (read.call for read in self._reads.take_expired(now_ms)):
            where = "what was committed" if call.at_least_offset < 0 else f"offset {call.at_least_offset}"
            hint = f"this replica's image ends before {where} when it was asked"
            call.respond(self._executor.leader_hint(Error.OFFSET_NOT_AVAILABLE, hint))
        for each in self._unproven.take_expired(now_ms):
            each.call.respond(self._not_controller("it could not prove in time that it still leads; nothing was done"))

    def _deadline_of(self, call: AnyCall) -> int:
        named = call.context.deadline_ms
        return self._executor.clock.monotonic_ms + self._config.default_timeout_ms if named is None else named

    def _answer(self, response: R, offset: Offset) -> ClientAnswer[R]:
        executor = self._executor
        machine = executor.machine
        return ClientAnswer(
            response=response,
            image_offset=offset,
            image_epoch=executor.image.offset_and_epoch.epoch,
            leader_id=-1 if machine.leader_id is None else machine.leader_id,
            leader_epoch=machine.epoch,
            leader_endpoints=machine.leader_endpoints,
        )

    def _not_controller(self, why: str = "this node is not the active controller") -> Rejection:
        return self._executor.leader_hint(Error.NOT_CONTROLLER, why)

    def _unknown_outcome(self) -> Rejection:
        return self._executor.leader_hint(
            Error.REQUEST_TIMED_OUT, "it was written but not seen committed: whether it holds is not known yet"
        )

    def _too_many(self) -> Rejection:
        return self._executor.leader_hint(
            Error.THROTTLING_QUOTA_EXCEEDED, "too many requests wait for their answer here: try again later"
        )
