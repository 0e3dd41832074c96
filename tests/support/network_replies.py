"""A `Replies` port that collects what an outgoing network reports."""

from __future__ import annotations

from quorum.api.calls import ClientAnswer, PeerResponse
from quorum.node.core.peer_failures import PeerFailure


class Replies:
    """The replies so far."""

    def __init__(self) -> None:
        self.responses: list[tuple[int, int, PeerResponse]] = []
        self.failures: list[tuple[int, int, bool]] = []
        self.reasons: list[PeerFailure] = []
        self.answers: list[tuple[int, ClientAnswer | None]] = []

    def on_peer_response(self, destination_id: int, correlation: int, response: PeerResponse) -> None:
        """See the port."""
        self.responses.append((destination_id, correlation, response))

    def on_peer_failure(self, destination_id: int, correlation: int, failure: PeerFailure) -> None:
        """See the port."""
        self.failures.append((destination_id, correlation, failure.disconnected))
        self.reasons.append(failure)

    def on_controller_answer(self, correlation: int, answer: ClientAnswer | None) -> None:
        """See the port."""
        self.answers.append((correlation, answer))
