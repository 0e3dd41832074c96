"""Collects the writes and effects of one input, in the order of DESIGN 1.5.

Decides: tokens, correlations, and that effects for other replicas wait while this replica's epoch or vote is not
durable. Must not know: why an effect is sent.
"""

from __future__ import annotations

from collections import deque

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from quorum.api.raft_messages import Request, Response
from quorum.raft.ready import (
    NOTHING,
    AppendBatches,
    Destination,
    Effect,
    InstallSnapshot,
    PersistQuorumState,
    QuorumStateData,
    Ready,
    SendRecords,
    SendRequest,
    SendResponse,
    SendSnapshotChunk,
    ShutdownCompleted,
    TruncateLog,
    Write,
)

_WAITS = (SendRequest, SendResponse, SendRecords, SendSnapshotChunk, ShutdownCompleted)
"""The effects that wait for a durable vote: those for other replicas, and the shutdown that must not overtake them."""


class Outbox:
    """The writes and effects since the last `take`, which ends every input."""

    __slots__ = ("_effects", "_gate", "_next_correlation", "_next_token", "_persists", "_writes", "in_flight")

    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._writes: list[Write] = []
        self._persists: deque[int] = deque()
        self._gate: int | None = None
        self._next_token = 1
        self._next_correlation = 1
        self.in_flight: dict[int, int] = {}
        """Correlation → destination node id of the requests whose responses matter to the present state."""

    @property
    def is_gated(self) -> bool:
        """True while the present epoch or vote is not durable."""
        return self._gate is not None

    def _token(self) -> int:
        token = self._next_token
        self._next_token = token + 1
        return token

    def append(self, base_offset: Offset, end_offset: Offset, epoch: Epoch, data: bytes) -> int:
        """Add a write of batches; return its token."""
        token = self._token()
        self._writes.append(
            AppendBatches(token=token, base_offset=base_offset, end_offset=end_offset, epoch=epoch, data=data)
        )
        return token

    def truncate(self, end_offset: Offset, epoch: Epoch) -> int:
        """Add a truncation of the log; return its token."""
        token = self._token()
        self._writes.append(TruncateLog(token=token, end_offset=end_offset, epoch=epoch))
        return token

    def install(self, snapshot_id: OffsetAndEpoch) -> int:
        """Add the replacement of the log by a snapshot; return its token."""
        token = self._token()
        self._writes.append(InstallSnapshot(token=token, end_offset=snapshot_id.offset, epoch=snapshot_id.epoch))
        return token

    def persist(self, state: QuorumStateData, *, gates: bool) -> int:
        """Add a write of quorum-state; return its token. `gates`: the epoch or vote is new, so effects wait for it.

        Raises:
            InvariantViolation: a gating write follows a log write, which could become durable first.
        """
        if gates and self._writes:
            raise InvariantViolation("one input changed the epoch or the vote, and wrote to the log before")
        token = self._token()
        self._writes.append(PersistQuorumState(token=token, state=state))
        self._persists.append(token)
        if gates:
            self._gate = token
        return token

    def is_persisting(self, token: int | None) -> bool:
        """Return True while that write of quorum-state is not durable."""
        return token in self._persists

    def complete_persist(self, token: int) -> None:
        """Note that a quorum-state write is durable, and open the gate if it was the gating one.

        Raises:
            InvariantViolation: it is not the oldest such write in progress.
        """
        if not self._persists or self._persists[0] != token:
            expected = self._persists[0] if self._persists else None
            raise InvariantViolation(f"quorum-state write {token} is said to be durable, where {expected} is due")
        self._persists.popleft()
        if token == self._gate:
            self._gate = None

    def send(self, destination: Destination, request: Request, timeout_ms: int) -> int:
        """Send a request to another replica; return its correlation."""
        correlation = self._next_correlation
        self._next_correlation = correlation + 1
        self.in_flight[correlation] = destination.node_id
        self._effects.append(
            SendRequest(destination=destination, correlation=correlation, request=request, timeout_ms=timeout_ms)
        )
        return correlation

    def respond(self, request_id: int, response: Response) -> None:
        """Send the response to another replica's request."""
        self._effects.append(SendResponse(request_id=request_id, response=response))

    def add(self, effect: Effect) -> None:
        """Add an event, or a response with records."""
        self._effects.append(effect)

    def take(self) -> Ready:
        """Return and clear the writes and effects, with outgoing effects behind the gate if it is closed."""
        if not self._effects and not self._writes:
            return NOTHING
        writes, effects = tuple(self._writes), self._effects
        self._writes, self._effects = [], []
        gate = self._gate
        if gate is None:
            return Ready(writes=writes, at_once=tuple(effects))
        return Ready(
            writes=writes,
            at_once=tuple(effect for effect in effects if not isinstance(effect, _WAITS)),
            after=tuple((gate, effect) for effect in effects if isinstance(effect, _WAITS)),
        )
