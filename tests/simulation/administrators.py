"""Administrators: each sends one request at a time to the active controller, and checks the response.

Decides: when a request is sent, and how its response is judged. `wishes` has the requests. An administrator has its own
random draws, and uses the committed log as its view of the cluster.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from quorum.api.calls import ClientAnswer
from quorum.api.context import ANONYMOUS
from quorum.api.error_codes import Error
from quorum.controller.authorizer import Authorizer
from tests.simulation.wishes import Wish, any_wish
from tests.simulation.world import US_PER_MS
from tests.support.errors_in import errors_in

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

_THINK_MS: Final = 30
_TIMEOUT_MS: Final = 1_500
_MAY_ALL: Final = Authorizer(super_users=frozenset({ANONYMOUS}))
"""ACLs need an authorizer."""


class Administrator:
    """One administrator. `busy` is the request that it waits for."""

    def __init__(self, cluster: Cluster, client_id: int) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._chance = random.Random(cluster.setup.seed << 8 ^ client_id)
        self._guess = 0
        self.client_id = client_id
        self.busy: Wish | None = None
        self.is_stopping = False

    def start(self) -> None:
        """Begin to send requests."""
        self._think()

    def _think(self) -> None:
        if not self.is_stopping:
            self._world.after(1 + self._chance.randrange(2 * _THINK_MS * US_PER_MS), self._ask)

    def _ask(self) -> None:
        if self.is_stopping:
            return
        wish = any_wish(self._cluster.checkers.reference.image, self._chance)
        if wish is None:
            self._think()
            return
        self.busy = wish
        voters = self._cluster.voters
        self._cluster.network.call(
            self.client_id,
            voters[self._guess % len(voters)],
            wish.request,
            self._take,
            timeout_ms=_TIMEOUT_MS,
            authorizer=_MAY_ALL,
        )

    def _take(self, answer: ClientAnswer | None) -> None:
        """Take the response. No request is repeated: after an unknown outcome the next wish is another."""
        wish, self.busy = self.busy, None
        if wish is None:
            raise RuntimeError(f"administrator {self.client_id} is answered what it has not asked")
        hint = -1 if answer is None else answer.leader_id
        is_known = answer is not None and answer.error is Error.NONE
        if 1 <= hint <= len(self._cluster.voters):
            self._guess = hint - 1
        elif not is_known:
            self._guess += 1
        if answer is not None and is_known:
            self._take_word(wish, answer)
        self._think()

    def _take_word(self, wish: Wish, answer: ClientAnswer) -> None:
        errors = sorted(errors_in(answer.response), key=int)
        is_done = errors == [Error.NONE]
        self._world.tell(-1, f"administrator {wish.kind}: {', '.join(error.name for error in errors)}")
        self._world.note(f"an administrator {'does' if is_done else 'is refused to'} {wish.kind}")
        if is_done:
            self._cluster.checkers.on_wish_done(self.client_id, wish, answer.image_offset)
