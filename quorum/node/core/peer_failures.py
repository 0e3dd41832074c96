"""The reason of the last failed request to each peer, as data.

Must not know: how messages travel, and the words that an operator reads (`process.failure_words`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.voters import Endpoint
from quorum.api.calls import PeerResponse
from quorum.api.error_codes import Error

_MOST_PEERS: Final = 64
"""The most failures that are kept, one for each peer; beyond that, the oldest is discarded."""
_OF_AN_EPOCH: Final = frozenset(
    {
        Error.NONE,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.BROKER_NOT_AVAILABLE,
    }
)
"""Errors that a peer of this quorum returns in the ordinary course of elections."""


class FailureKind(StrEnum):
    """A reason why no usable response came."""

    NO_ADDRESS = "no-address"
    UNKNOWN_NAME = "unknown-name"
    REFUSED = "connection-refused"
    UNREACHABLE = "unreachable"
    NO_CONNECTION = "no-connection"
    NO_RESPONSE = "no-response"
    CLOSED = "connection-closed"
    OTHER_PROTOCOL = "other-protocol"
    BAD_RESPONSE = "bad-response"
    UNSUPPORTED_VERSION = "unsupported-version"
    OTHER_CLUSTER = "other-cluster"
    REJECTED = "rejected"
    NOT_SENT = "not-sent"
    """This node dropped the request: too many are in flight, or a newer one replaced it. The peer may be well."""


class PeerFailure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The reason why one request got no usable response.

    Attributes:
        address: `host:port` that was tried; empty if none was known.
        detail: the text of the system, the library or the peer; empty if the kind is enough.
        after_ms: the response timeout, if it ended the request.
        disconnected: the connection was refused or broke, so the process there is gone; never for a timeout.
    """

    kind: FailureKind
    address: str = ""
    detail: str = ""
    after_ms: int = 0
    disconnected: bool = False


NOT_SENT: Final = PeerFailure(kind=FailureKind.NOT_SENT)


class UnreachedPeer(msgspec.Struct, frozen=True, kw_only=True):
    """A peer whose last request failed. `failure` is `None` if no request to it has ended yet.

    Attributes:
        peer: the replica key of a voter, the node id of another peer; negative for a bootstrap server.
        endpoints: its endpoints in the voter set.
    """

    peer: ReplicaKey | NodeId
    endpoints: tuple[Endpoint, ...] = ()
    failure: PeerFailure | None = None

    @property
    def node_id(self) -> int:
        """The node id; negative for a bootstrap server."""
        return self.peer.node_id if isinstance(self.peer, ReplicaKey) else self.peer

    @property
    def address(self) -> str:
        """The `host:port` that was tried last, or the endpoints in the voter set; may be empty."""
        if self.failure is not None and self.failure.address:
            return self.failure.address
        return ", ".join(str(endpoint).removeprefix("://") for endpoint in self.endpoints)


class VotersUnreached(msgspec.Struct, frozen=True, kw_only=True):
    """An event: too few of the `voters` respond to commit anything. It comes once for each loss."""

    missing: tuple[UnreachedPeer, ...]
    voters: int


class LeaderUnreached(msgspec.Struct, frozen=True, kw_only=True):
    """An event: an observer has fetched from no leader for long. It comes once for each loss."""

    unreached: tuple[UnreachedPeer, ...]


class PeersReached(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event: such a loss is over. A majority responds again, or a leader that has one."""

    leader_id: NodeId | None


class PeerFailures:
    """The last failure of each peer that has not responded since; bounded."""

    def __init__(self) -> None:
        self._last: dict[int, PeerFailure] = {}

    def note(self, node_id: int, failure: PeerFailure) -> None:
        """Keep the reason why the last request to this peer failed."""
        if failure.kind is FailureKind.NOT_SENT:
            return
        self._last.pop(node_id, None)
        if len(self._last) >= _MOST_PEERS:
            del self._last[next(iter(self._last))]
        self._last[node_id] = failure

    def note_response(self, node_id: int, response: PeerResponse) -> None:
        """Discard a peer's failure once it responds, unless it rejects what every peer of this quorum accepts."""
        if response.error in _OF_AN_EPOCH:
            self._last.pop(node_id, None)
        elif response.error is Error.INCONSISTENT_CLUSTER_ID:
            self._note_again(node_id, FailureKind.OTHER_CLUSTER, response.error.name)
        elif response.error is Error.UNSUPPORTED_VERSION:
            self._note_again(node_id, FailureKind.UNSUPPORTED_VERSION, _named(response))
        else:
            self._note_again(node_id, FailureKind.REJECTED, _named(response))

    def of(self, node_id: int) -> PeerFailure | None:
        """Return the last failure of a peer, or None if it has responded since, or got no request."""
        return self._last.get(node_id)

    def all(self) -> Iterable[tuple[int, PeerFailure]]:
        """Return each peer's last failure, the oldest first."""
        return self._last.items()

    def _note_again(self, node_id: int, kind: FailureKind, detail: str) -> None:
        self.note(node_id, PeerFailure(kind=kind, detail=detail))


def _named(response: PeerResponse) -> str:
    request = type(response).__name__.replace("Response", "")
    return f"{request} with {response.error.name}"
