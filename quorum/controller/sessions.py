"""The last contact and applied offset of each broker, which make it live, stale, or free to stop.

Soft state of the active controller. A new controller counts from its own activation, because it does not know when its
predecessor heard from each broker (KIP-631). The image, not the session, has a broker's fenced state.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.ids import NodeId
from metadata_log.image import BrokerRegistration, MetadataImage

NEVER = -1


class BrokerSession:
    """The session of one broker epoch. Offsets are those of the last record applied or written, or -1."""

    __slots__ = (
        "broker_epoch",
        "controlled_shutdown_offset",
        "last_contact_ms",
        "last_registration_offset",
        "metadata_offset",
    )

    def __init__(self, broker_epoch: int, last_registration_offset: int) -> None:
        self.broker_epoch = broker_epoch
        self.last_registration_offset = last_registration_offset
        """The offset of its last RegisterBrokerRecord, which the broker must have applied to be caught up."""
        self.last_contact_ms: int | None = None
        """Monotonic ms; None before the first heartbeat."""
        self.metadata_offset = NEVER
        self.controlled_shutdown_offset = NEVER
        """The offset that every active broker must have applied before this one may stop; -1 if it is not stopping."""


class BrokerSessions:
    """All sessions, and the next time at which one of them may be stale."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[NodeId, BrokerSession] = {}
        self._next_check_ms: int | None = None

    def of(self, broker: BrokerRegistration) -> BrokerSession:
        """Return the session of this registration, a new one if necessary."""
        session = self._sessions.get(broker.broker_id)
        if session is None or session.broker_epoch != broker.epoch:
            # Kafka may write an epoch a little below the record's offset; never above it.
            session = self._sessions[broker.broker_id] = BrokerSession(broker.epoch, broker.epoch)
        return session

    def register(self, broker_id: NodeId, broker_epoch: int, offset: int) -> None:
        """Note a RegisterBrokerRecord at `offset`; a new broker epoch begins a new session."""
        session = self._sessions.get(broker_id)
        if session is None or session.broker_epoch != broker_epoch:
            self._sessions[broker_id] = BrokerSession(broker_epoch, offset)
        else:
            session.last_registration_offset = offset

    def touch(self, session: BrokerSession, now_ms: int) -> None:
        """Note a contact of the broker."""
        session.last_contact_ms = now_ms
        expiry = now_ms + self._timeout_ms + 1
        if self._next_check_ms is None or expiry < self._next_check_ms:
            self._next_check_ms = expiry

    def forget(self, broker_id: NodeId) -> None:
        """Drop the session of a broker that is dead or may stop: its id is free for a new incarnation."""
        self._sessions.pop(broker_id, None)

    def is_live(self, broker: BrokerRegistration, now_ms: int) -> bool:
        """Return True if this registration had contact within the session timeout."""
        session = self._sessions.get(broker.broker_id)
        return session is not None and session.broker_epoch == broker.epoch and self._is_fresh(session, now_ms)

    def stale(self, now_ms: int) -> NodeId | None:
        """Return the broker with the longest silence if that exceeds the timeout, or None."""
        if self._next_check_ms is None or now_ms < self._next_check_ms:
            return None
        contacts = [
            (session.last_contact_ms, broker_id)
            for broker_id, session in self._sessions.items()
            if session.last_contact_ms is not None
        ]
        if not contacts:
            self._next_check_ms = None
            return None
        oldest, broker_id = min(contacts)
        self._next_check_ms = oldest + self._timeout_ms + 1
        return broker_id if self._next_check_ms <= now_ms else None

    def lowest_offset(self, broker_ids: Iterable[NodeId]) -> int | None:
        """Return the lowest applied offset of these brokers, -1 if one is unknown, or None without brokers."""
        sessions = self._sessions
        offsets = [sessions[broker].metadata_offset if broker in sessions else NEVER for broker in broker_ids]
        return min(offsets, default=None)

    def next_deadline_ms(self) -> int | None:
        """Return a time (monotonic ms) before which no session is stale, or None."""
        return self._next_check_ms

    def _is_fresh(self, session: BrokerSession, now_ms: int) -> bool:
        return session.last_contact_ms is not None and session.last_contact_ms + self._timeout_ms >= now_ms


def why_stale(broker_id: int, broker_epoch: int, image: MetadataImage) -> str | None:
    """Return why a broker's epoch is stale (STALE_BROKER_EPOCH), or None."""
    broker = image.cluster.brokers.get(NodeId(broker_id))
    if broker is None:
        return f"No broker registration found for broker id {broker_id}"
    if broker.epoch != broker_epoch:
        return f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}"
    return None
