"""The Raft core's effects as calls of the ports, in the order that safety requires (DESIGN 1.5).

Decides: the order. Writes are staged in memory and passed to the disk at the end of the turn, all at once. `at_once`
effects leave meanwhile; `after` effects are held until their write is durable. Must not know: the meaning of the
effects, or how disk and network work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from metadata_log.directory import CommittedState, QuorumState
from metadata_log.errors import InvariantViolation
from metadata_log.format.batch import iter_batches
from metadata_log.ids import METADATA_TOPIC_ID, NodeId
from metadata_log.offsets import Offset, OffsetAndEpoch
from metadata_log.storage.file_log import FileLog
from metadata_log.storage.no_ops import count_no_ops
from metadata_log.storage.write_ops import WriteOp
from quorum.api.calls import PeerResponse
from quorum.api.error_codes import Error
from quorum.api.raft_messages import CommittedBatch, FetchRequest, FetchResponse
from quorum.node.core.named_batch import LastBatch, NamedBatch, first_is, last_before
from quorum.node.core.ports import CommittedWrite, DiskJob, LogRead, LogWrite, OutgoingRequest, Ports, StateWrite
from quorum.node.core.topic_id_fencing import TopicIdFence
from quorum.raft.inputs import Flushed, Persisted
from quorum.raft.ready import (
    AppendBatches,
    Effect,
    InstallSnapshot,
    PersistQuorumState,
    QuorumStateData,
    Ready,
    SendRecords,
    SendRequest,
    SendResponse,
    TruncateLog,
    Write,
)

Completion = Flushed | Persisted


class _Outstanding(msgspec.Struct, frozen=True, kw_only=True):
    """A job that the disk has, and the completion for the core."""

    sequence: int
    token: int | None
    completion: Completion | None


class _Parked(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting cold read: `take` gets the batches, or None if the log was cut at either end since."""

    take: Callable[[bytes | None], None]
    truncations: int


class Effects:
    """The executor's access to log, disk and network."""

    def __init__(
        self, log: FileLog, ports: Ports, topic_id_fence: TopicIdFence, tell: Callable[[Effect], None]
    ) -> None:
        self._log = log
        self._ports = ports
        self._topic_id_fence = topic_id_fence
        self._tell = tell
        self._jobs: list[DiskJob] = []
        self._outstanding: deque[_Outstanding] = deque()
        self._held: dict[int, list[Effect]] = {}
        self._sequence = 0
        self._responders: dict[int, Callable[[PeerResponse], None]] = {}
        self._reads: dict[int, _Parked] = {}
        self._read_id = 0
        self._truncations = 0
        self._quorum_state_version = 0
        self._appended: deque[tuple[Offset, int, int]] = deque()
        self._by_own_id: dict[int, OutgoingRequest] = {}
        self._asked: dict[int, CommittedBatch] = {}
        self.named: NamedBatch = LastBatch()
        """The batch that this replica names in its Fetches; set by the fence."""
        self.before_install: Callable[[Offset], None] | None = None
        """Stages the state that must be durable before a received snapshot that ends there replaces the log."""
        self.stage_install: Callable[[OffsetAndEpoch], WriteOp]
        """Returns the write that replaces the log by a received snapshot; set by `Snapshots`."""
        self._static_voters: tuple[NodeId, ...] = ()

    def use_quorum_state_version(self, version: int, voters: tuple[NodeId, ...]) -> None:
        """Write version 1 once kraft.version is 1: from then on, voters have directory ids (KIP-853)."""
        self._quorum_state_version, self._static_voters = version, voters

    def expect_answer(
        self, request_id: int, respond: Callable[[PeerResponse], None], named: CommittedBatch | None = None
    ) -> None:
        """Keep the callback of a request that the core gets next. `named`: the batch that a Fetch names."""
        self._responders[request_id] = respond
        if named is not None:
            self._asked[request_id] = named

    def drop_answer(self, request_id: int) -> bool:
        """Discard the callback of a request whose client is gone; return True if the response was still owed."""
        self._asked.pop(request_id, None)
        return self._responders.pop(request_id, None) is not None

    def apply(self, ready: Ready) -> None:
        """Carry out all effects of one input, or stage them."""
        for write in ready.writes:
            self._stage(write)
        for token, effect in ready.after:
            self._hold(token, effect)
        for effect in ready.at_once:
            self._do(effect)

    def flush(self) -> None:
        """Pass the turn's writes to the disk, for one sync."""
        if self._jobs:
            jobs, self._jobs = self._jobs, []
            self._ports.disk.write(jobs)

    @property
    def is_writing(self) -> bool:
        """True if a write is staged or with the disk, and not durable yet."""
        return bool(self._outstanding)

    def on_durable(self, sequence: int) -> list[Completion]:
        """Release the effects that waited for jobs up to `sequence`, which are durable; return the completions for
        the core."""
        completions = []
        while self._outstanding and self._outstanding[0].sequence <= sequence:
            done = self._outstanding.popleft()
            if done.completion is None or done.token is None:
                continue
            completions.append(done.completion)
            for effect in self._held.pop(done.token, ()):
                self._do(effect)
        return completions

    def keep_committed(self, state: CommittedState) -> None:
        """Write the committed state among the log's writes; no effect waits for it."""
        self._sequence += 1
        self._jobs.append(CommittedWrite(sequence=self._sequence, state=state))
        self._outstanding.append(_Outstanding(sequence=self._sequence, token=None, completion=None))

    def stage(self, op: WriteOp) -> None:
        """Stage a new start of the log among its other writes; the core does not wait for it."""
        self._truncations += 1
        self._sequence += 1
        self._jobs.append(LogWrite(sequence=self._sequence, op=op))
        self._outstanding.append(_Outstanding(sequence=self._sequence, token=None, completion=None))

    def take_appended(self, end_offset: Offset) -> tuple[int, int]:
        """Return how many bytes before `end_offset` were appended since the last call, and the NoOps in them."""
        total = no_ops = 0
        while self._appended and self._appended[0][0] <= end_offset:
            _, size, count = self._appended.popleft()
            total += size
            no_ops += count
        return total, no_ops

    def read(self, offset: Offset, max_bytes: int, take: Callable[[bytes | None], None]) -> bytes | None:
        """Return whole batches from memory, or None: then `take` gets them after the disk has read them."""
        if not self._log.needs_cold_read(offset):
            return self._log.read(offset, max_bytes)
        self._read_id += 1
        self._reads[self._read_id] = _Parked(take=take, truncations=self._truncations)
        self._ports.disk.read(LogRead(read_id=self._read_id, plan=self._log.cold_read(offset, max_bytes)))
        return None

    def on_read(self, read_id: int, data: bytes) -> None:
        """Deliver a cold read."""
        parked = self._reads.pop(read_id)
        parked.take(data if parked.truncations == self._truncations else None)

    def on_read_failed(self, read_id: int) -> bool:
        """Handle a failed cold read; return True if the log was cut since, so that the failure proves no fault of
        the disk."""
        if self._reads[read_id].truncations == self._truncations:
            return False
        self._reads.pop(read_id).take(None)
        return True

    def _stage(self, write: Write) -> None:
        if self.before_install is not None and isinstance(write, InstallSnapshot):
            self.before_install(write.end_offset)
        self._sequence += 1
        completion: Completion
        if isinstance(write, PersistQuorumState):
            self._jobs.append(StateWrite(sequence=self._sequence, state=self._quorum_state(write.state)))
            completion = Persisted(token=write.token)
        else:
            self._jobs.append(LogWrite(sequence=self._sequence, op=self._stage_log(write)))
            completion = Flushed(token=write.token, epoch=write.epoch, end_offset=write.end_offset)
        self._held[write.token] = []
        self._outstanding.append(_Outstanding(sequence=self._sequence, token=write.token, completion=completion))

    def _stage_log(self, write: AppendBatches | TruncateLog | InstallSnapshot) -> WriteOp:
        if isinstance(write, InstallSnapshot):
            self._truncations += 1
            self._appended.clear()
            self.named.on_replaced()
            return self.stage_install(write.snapshot_id)
        if isinstance(write, TruncateLog):
            self._truncations += 1
            while self._appended and self._appended[-1][0] > write.end_offset:
                self._appended.pop()
            self.named.on_truncated(write.end_offset, last_before(self._log, write.end_offset))
            cut = self._log.stage_truncate(write.end_offset)
            if self._log.log_end_offset != write.end_offset:
                raise InvariantViolation(
                    f"the log was to be cut to {write.end_offset}, inside a batch; it ends at {self._log.end()}"
                )
            return cut
        if write.base_offset != self._log.log_end_offset:
            raise InvariantViolation(f"append at {write.base_offset}, but the log ends at {self._log.log_end_offset}")
        headers = [header for _, header in iter_batches(write.data)]
        self._appended.append((write.end_offset, len(write.data), count_no_ops(write.data, headers)))
        self.named.on_appended(headers[-1])
        return self._log.stage_append(write.data, headers)

    def _quorum_state(self, state: QuorumStateData) -> QuorumState:
        return QuorumState(
            leader_id=-1 if state.leader_id is None else state.leader_id,
            leader_epoch=state.leader_epoch,
            voted_key=state.voted,
            was_removed=state.was_removed,
            data_version=self._quorum_state_version,
            current_voters=self._static_voters,
        )

    def _hold(self, token: int, effect: Effect) -> None:
        held = self._held.get(token)
        if held is None:
            self._do(effect)
        else:
            held.append(effect)

    def _do(self, effect: Effect) -> None:
        kind = type(effect)
        if kind is SendRecords:
            self._send_records(effect)  # type: ignore[arg-type]
        elif kind is SendRequest:
            self._send_request(effect)  # type: ignore[arg-type]
        elif kind is SendResponse:
            self.respond(effect.request_id, effect.response)  # type: ignore[union-attr]
        else:
            self._tell(effect)

    def _send_request(self, effect: SendRequest) -> None:
        destination_id, request = effect.destination.node_id, effect.request
        if isinstance(request, FetchRequest):
            batch = self.named.for_fetch(request, destination_id)
            request = request if batch is None else msgspec.structs.replace(request, committed_batch=batch)
        outgoing = OutgoingRequest(
            destination=effect.destination,
            correlation=effect.correlation,
            cluster_id=self._topic_id_fence.cluster_id,
            topic_id=self._topic_id_fence.topic_id_for(request, destination_id),
            request=request,
            timeout_ms=effect.timeout_ms,
        )
        if outgoing.topic_id != METADATA_TOPIC_ID and not isinstance(request, FetchRequest):
            self._by_own_id[effect.correlation] = outgoing
        self._ports.network.send(outgoing)

    def take_by_own_id(self, correlation: int) -> OutgoingRequest | None:
        """Return the request other than Fetch that named the own id, once; its response or failure is here."""
        return self._by_own_id.pop(correlation, None)

    def send_by_sentinel(self, outgoing: OutgoingRequest) -> None:
        """Send a request again under the sentinel, because its peer does not know the own id. The core still awaits
        one response."""
        self._ports.network.send(msgspec.structs.replace(outgoing, topic_id=METADATA_TOPIC_ID))

    def _send_records(self, effect: SendRecords) -> None:
        request_id, response = effect.request_id, effect.response
        if request_id not in self._responders:
            return

        def take(data: bytes | None) -> None:
            self.respond(request_id, _with_records(response, data or b""))

        data = self.read(effect.read_from, effect.max_bytes, take)
        if data is not None:
            take(data)

    def respond(self, request_id: int, response: PeerResponse) -> None:
        """Answer a peer, if it still waits."""
        named = self._asked.pop(request_id, None)
        if named is not None and type(response) is FetchResponse and response.error is Error.NONE:
            self._look_for(named, request_id, response)
        else:
            self._respond(request_id, response)

    def _look_for(self, named: CommittedBatch, request_id: int, response: FetchResponse) -> None:
        """Set in the response whether this leader's log has the batch. Before the log's start that is unknown."""

        def answer(data: bytes | None) -> None:
            has = None if data is None else first_is(data, named)
            self._respond(request_id, msgspec.structs.replace(response, has_committed_batch=has))

        if named.base_offset < self._log.start_offset:
            answer(None)
        elif named.base_offset >= self._log.log_end_offset:
            answer(b"")
        else:
            data = self.read(named.base_offset, 1, answer)
            if data is not None:
                answer(data)

    def _respond(self, request_id: int, response: PeerResponse) -> None:
        respond = self._responders.pop(request_id, None)
        if respond is not None:
            respond(with_own_ids(response, self._topic_id_fence))


def with_own_ids(response: PeerResponse, topic_id_fence: TopicIdFence) -> PeerResponse:
    """Return a Fetch response with this log's ids of the metadata topic, by which the fetching replica detects a
    foreign log."""
    if type(response) is FetchResponse and topic_id_fence.own_ids:
        return msgspec.structs.replace(response, own_ids=topic_id_fence.own_ids)
    return response


def _with_records(response: FetchResponse, data: bytes) -> FetchResponse:
    return msgspec.structs.replace(response, records=data)
