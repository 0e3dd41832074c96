"""The reasons why peers do not respond, in an operator's words; each bounded in length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quorum.node.core.peer_failures import FailureKind, PeerFailure, UnreachedPeer
from quorum.node.core.peers import name_of
from quorum.plain_text import on_one_line

_MOST_PEERS: Final = 8
_LONGEST_DETAIL: Final = 160
"""The most characters; details come from other hosts and from libraries."""
_MS_PER_S: Final = 1000
_WORDS: Final = {
    FailureKind.NO_ADDRESS: "this node has no address for it",
    FailureKind.REFUSED: "connection refused",
    FailureKind.CLOSED: "the connection was closed",
    FailureKind.OTHER_PROTOCOL: "another protocol is spoken there",
    FailureKind.BAD_RESPONSE: "its response cannot be understood",
    FailureKind.UNSUPPORTED_VERSION: "UNSUPPORTED_VERSION",
    FailureKind.OTHER_CLUSTER: "it belongs to another cluster",
    FailureKind.REJECTED: "it rejects the request",
}


def reason_of(failure: PeerFailure) -> str:
    """Return why a request failed: "connection refused", "no response in 2 s"."""
    kind = failure.kind
    detail = on_one_line(failure.detail[:_LONGEST_DETAIL]) + ("…" if len(failure.detail) > _LONGEST_DETAIL else "")
    if kind is FailureKind.NO_RESPONSE:
        return f"no response in {failure.after_ms / _MS_PER_S:g} s"
    if kind is FailureKind.NO_CONNECTION:
        return f"no connection in {failure.after_ms / _MS_PER_S:g} s"
    if kind is FailureKind.UNKNOWN_NAME:
        return detail or "name not known"
    if kind is FailureKind.UNREACHABLE:
        return detail or "not reachable"
    if kind is FailureKind.REFUSED or not detail:
        return _WORDS[kind]
    joint = " " if kind is FailureKind.CLOSED and detail.startswith("before") else ": "
    return f"{_WORDS[kind]}{joint}{detail}"


def unreached_lines(peers: Sequence[UnreachedPeer]) -> list[str]:
    """Return "2 at c2:9093: connection refused" for each peer; a last entry counts those beyond the bound."""
    lines = [line_of(peer) for peer in peers[:_MOST_PEERS]]
    more = len(peers) - len(lines)
    return [*lines, f"and {more} more"] if more > 0 else lines


def line_of(peer: UnreachedPeer) -> str:
    """Return "2 at c2:9093: connection refused"."""
    failure = peer.failure
    if failure is None:
        reason = "no response yet" if peer.address else _WORDS[FailureKind.NO_ADDRESS]
    else:
        reason = reason_of(failure)
    return f"{name_of(peer.node_id)}{' at ' if peer.address else ''}{peer.address}: {reason}"
