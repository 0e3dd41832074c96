"""Gathers what one input causes, and puts it in the order that DESIGN 2 and 3 ask for.

Decides: tokens, correlations, and that nothing leaves for another replica while the epoch or the vote of this one is
not durable. Must not know: why anything is sent.
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
"""What leaves this replica; and the end of it, lest an answer that still waits be lost."""


class Outbox:
    """One for the life of a replica; emptied by `take` at the end of every input."""

    __slots__ = ("_effects", "_gate", "_next_correlation", "_next_token", "_persists", "_writes", "in_flight")

    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._writes: list[Write] = []
        self._persists: deque[int] = deque()
        self._gate: int | None = None
        self._next_token = 1
        self._next_correlation = 1
        self.in_flight: dict[int, int] = {}
        """Correlation → destination of the requests whose answers still matter to the present state."""

    @property
    def is_gated(self) -> bool:
        """Whether the present epoch or vote is not durable yet."""
        return self._gate is not None

    def _token(self) -> int:
        token = self._next_token
        self._next_token = token + 1
        return token

    def append(self, base_offset: Offset, end_offset: Offset, epoch: Epoch, data: bytes) -> int:
        """Write batches; the token."""
        token = self._token()
        self._writes.append(
            AppendBatches(token=token, base_offset=base_offset, end_offset=end_offset, epoch=epoch, data=data)
        )
        return token

    def truncate(self, end_offset: Offset, epoch: Epoch) -> int:
        """Truncate the log; the token."""
        token = self._token()
        self._writes.append(TruncateLog(token=token, end_offset=end_offset, epoch=epoch))
        return token

    def install(self, snapshot_id: OffsetAndEpoch) -> int:
        """Put a snapshot in place of the log; the token."""
        token = self._token()
        self._writes.append(InstallSnapshot(token=token, end_offset=snapshot_id.offset, epoch=snapshot_id.epoch))
        return token

    def persist(self, state: QuorumStateData, *, gates: bool) -> int:
        """Replace quorum-state; the token. `gates`: the epoch or the vote is new, so that everything waits for it.

        Raises:
            InvariantViolation: it gates, and stands behind a log write, which so could be durable without it.
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
        """Whether that write of quorum-state is not known to be durable yet."""
        return token in self._persists

    def complete_persist(self, token: int) -> None:
        """A quorum-state write is durable.

        Raises:
            InvariantViolation: it is not the oldest one under way.
        """
        if not self._persists or self._persists[0] != token:
            expected = self._persists[0] if self._persists else None
            raise InvariantViolation(f"quorum-state write {token} is said to be durable, where {expected} is due")
        self._persists.popleft()
        if token == self._gate:
            self._gate = None

    def send(self, destination: Destination, request: Request, timeout_ms: int) -> int:
        """Ask another replica; the correlation."""
        correlation = self._next_correlation
        self._next_correlation = correlation + 1
        self.in_flight[correlation] = destination.node_id
        self._effects.append(
            SendRequest(destination=destination, correlation=correlation, request=request, timeout_ms=timeout_ms)
        )
        return correlation

    def respond(self, request_id: int, response: Response) -> None:
        """Answer another replica."""
        self._effects.append(SendResponse(request_id=request_id, response=response))

    def add(self, effect: Effect) -> None:
        """An event, or an answer with records."""
        self._effects.append(effect)

    def take(self) -> Ready:
        """All that this input caused."""
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
