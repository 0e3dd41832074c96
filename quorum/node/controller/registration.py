"""A controller's own registration with the active controller, repeated until the image has it (KIP-919).

Decides: when to send it, and to which node. Must not know: how it travels. Only the committed image acknowledges it. A
response alone may come from a leader that loses its epoch before the record commits.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import Uuid, id_text
from metadata_log.image import ClusterImage, ControllerRegistration
from metadata_log.records.levels import CONTROLLER_REGISTRATION_LEVEL
from metadata_log.voters import Endpoint
from quorum.api.brokers import Listener
from quorum.api.calls import ClientCall, RegistrationAnswer
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.controller.features import SUPPORTED_FEATURES
from quorum.controller.metadata_levels import level_of
from quorum.node.core.ports import ControllerAnswered, ControllerCall, RequestRejected
from quorum.node.core.replica_context import ReplicaContext
from quorum.raft.ready import Destination

__all__ = ["SUPPORTED_FEATURES", "Registration", "registration_of"]

_AGAIN_MS: Final = 250
"""The time between two attempts."""
_TIMEOUT_MS: Final = 2000
_LONGEST_MS: Final = 60_000
"""The longest time between two attempts. It applies if another process with this node id also keeps registering
itself."""
_MOST_DOUBLINGS: Final = 8
_TOLD_AT: Final = 2
"""The number of lost registrations before a report. A late request of this node's former process may cause one."""


def registration_of(node_id: int, incarnation_id: Uuid, endpoints: tuple[Endpoint, ...]) -> RegisterController:
    """Return a controller's registration; each start of its process makes a new `incarnation_id`."""
    return RegisterController(
        controller_id=node_id,
        incarnation_id=incarnation_id,
        listeners=tuple(Listener(name=at.name, host=at.host, port=at.port) for at in endpoints),
        features=SUPPORTED_FEATURES,
    )


class Registration:
    """The registration of one controller, for one run of its process."""

    def __init__(self, executor: ReplicaContext, request: RegisterController) -> None:
        self._executor = executor
        self._request = request
        self._correlation = 0
        self._is_asking = False
        self._not_before_ms = 0
        self._registered_in: ClusterImage | None = None
        """The newest cluster image that has the registration. Compared in every turn, by identity."""
        self._times_taken = 0
        """How often another process replaced this registration."""

    @property
    def is_due(self) -> bool:
        """True if the committed image lacks this registration, and its metadata.version has such records."""
        image = self._executor.image
        if image.cluster is self._registered_in:
            return False
        if level_of(image) < CONTROLLER_REGISTRATION_LEVEL:
            return False
        known = image.cluster.controllers.get(self._executor.replica.node_id)
        if known is None or known.incarnation_id != self._request.incarnation_id:
            if known is not None and self._registered_in is not None:
                self._on_taken(known)
            return True
        self._registered_in = image.cluster
        return False

    def _on_taken(self, other: ControllerRegistration) -> None:
        """Note that another process with this node id has registered itself. It will do so again after this one does.

        So each of them doubles its wait, up to a bound.
        """
        executor, self._registered_in = self._executor, None
        wait_ms = min(_AGAIN_MS << min(self._times_taken, _MOST_DOUBLINGS), _LONGEST_MS)
        self._times_taken += 1
        self._not_before_ms = max(self._not_before_ms, executor.clock.monotonic_ms + wait_ms)
        if self._times_taken == _TOLD_AT:
            where = ", ".join(f"{at.name}://{at.host}:{at.port}" for at in other.listeners)
            why = (
                "two processes have that node.id: stop the wrong one, or give it another node.id. Another process "
                f"has registered itself since: incarnation {id_text(other.incarnation_id)} at {where}"
            )
            peer = f"controller {other.controller_id}"
            error = Error.DUPLICATE_BROKER_REGISTRATION
            executor.tell(RequestRejected(request="RegisterController", error=error, why=why, by_us=True, peer=peer))

    def next_deadline_ms(self) -> int | None:
        """Return when the next attempt is due, or None."""
        if self._is_asking or self._executor.machine.leader_id is None or not self.is_due:
            return None
        return self._not_before_ms

    def maybe_register(self, *, is_active: bool) -> ClientCall[RegisterControllerResponse] | None:
        """Send the request to the active controller. If that is this node, return it to be handled here."""
        executor = self._executor
        now_ms = executor.clock.monotonic_ms
        leader_id = executor.machine.leader_id
        if self._is_asking or leader_id is None or now_ms < self._not_before_ms or not self.is_due:
            return None
        if leader_id == executor.replica.node_id:
            if is_active:
                return self._own_call(now_ms)
            self._not_before_ms = now_ms + _AGAIN_MS
            return None
        self._is_asking = True
        self._correlation += 1
        executor.ports.network.send_to_controller(
            ControllerCall(
                destination=Destination(node_id=leader_id, endpoints=executor.machine.leader_endpoints),
                correlation=self._correlation,
                request=self._request,
                timeout_ms=_TIMEOUT_MS,
            )
        )
        return None

    def on_controller_answer(self, answered: ControllerAnswered) -> None:
        """End an attempt, whatever the answer: the image is checked again after a while."""
        if answered.correlation == self._correlation:
            self._done(self._executor.clock.monotonic_ms)

    def _own_call(self, now_ms: int) -> ClientCall[RegisterControllerResponse]:
        self._is_asking = True

        def respond(answer: RegistrationAnswer) -> None:
            self._done(self._executor.clock.monotonic_ms)

        return ClientCall(
            request=self._request, context=RequestContext(deadline_ms=now_ms + _TIMEOUT_MS), respond=respond
        )

    def _done(self, now_ms: int) -> None:
        self._is_asking = False
        self._not_before_ms = now_ms + _AGAIN_MS
