"""The two kinds of failed requests that the core distinguishes, for networks without sockets."""

from __future__ import annotations

from typing import Final

from quorum.node.core.peer_failures import FailureKind, PeerFailure

RESET: Final = PeerFailure(kind=FailureKind.CLOSED, disconnected=True)
EXPIRED: Final = PeerFailure(kind=FailureKind.NO_RESPONSE, after_ms=1000)
