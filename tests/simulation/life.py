"""A broker's registration and heartbeats, over the real `Lifecycle`, in virtual time.

Must not know: what the broker stores. A stub broker has only a life: topics need brokers as replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from broker_agent.lifecycle import Lifecycle, SendRegistration
from metadata_log.ids import DirectoryId, Uuid
from quorum.api.brokers import BrokerHeartbeat, FeatureRange, Listener, RegisterBroker
from quorum.api.calls import ClientAnswer
from quorum.api.error_codes import Error
from quorum.node.controller.registration import SUPPORTED_FEATURES
from tests.simulation.world import US_PER_MS

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

_TIMEOUT_MS: Final = 2_000
_HEARTBEAT_MS: Final = 400
_FAR_AHEAD: Final = 1 << 40


class Life:
    """The life of one incarnation. `is_over` returns True once its process has ended."""

    def __init__(
        self,
        cluster: Cluster,
        broker_id: int,
        incarnation: int,
        directory_id: DirectoryId,
        *,
        applied: Callable[[], int] = lambda: _FAR_AHEAD,
        is_over: Callable[[], bool] = lambda: False,
        is_frozen: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._broker_id = broker_id
        self._applied = applied
        self._is_over = is_over
        self._is_frozen = is_frozen
        self._guess = 0
        self.incarnation_id = Uuid(b"\x12" + broker_id.to_bytes(7, "big") + incarnation.to_bytes(8, "big"))
        self.lifecycle = Lifecycle(heartbeat_interval_ms=_HEARTBEAT_MS)
        self._registration = RegisterBroker(
            broker_id=broker_id,
            cluster_id=cluster.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=(Listener(name="PLAINTEXT", host=f"b{broker_id}", port=9092),),
            features=tuple(
                FeatureRange(
                    name=each.name,
                    min_supported_version=each.min_supported_version,
                    max_supported_version=each.max_supported_version,
                )
                for each in SUPPORTED_FEATURES
            ),
            log_dirs=(directory_id,),
        )

    @property
    def _now_ms(self) -> int:
        return self._world.now_us // US_PER_MS

    def look(self) -> None:
        """Send what is due, and schedule the next look."""
        if self._is_over():
            return
        if self._is_frozen():
            self._world.after(20 * US_PER_MS, self.look)
            return
        due_ms = self.lifecycle.next_due_ms()
        if due_ms is None:
            return
        if due_ms > self._now_ms:
            self._world.at(due_ms * US_PER_MS, self.look)
            return
        sent = self.lifecycle.next_send(self._now_ms, self._applied())
        if sent is None:
            return
        if isinstance(sent, SendRegistration):
            self._send(self._registration, self._on_registered)
            return
        heartbeat = BrokerHeartbeat(
            broker_id=self._broker_id,
            broker_epoch=sent.broker_epoch,
            current_metadata_offset=sent.current_metadata_offset,
            want_fence=sent.want_fence,
            want_shut_down=sent.want_shut_down,
        )
        self._send(heartbeat, self._on_heartbeat)

    def _send(self, request: object, take: Callable[[Any], None]) -> None:
        voters = self._cluster.voters

        def taken(answer: ClientAnswer | None) -> None:
            if self._is_over():
                return
            if answer is None or answer.error is not Error.NONE:
                hint = -1 if answer is None else answer.leader_id
                self._guess = hint - 1 if 1 <= hint <= len(voters) else (self._guess + 1) % len(voters)
                self.lifecycle.on_failed(self._now_ms)
            else:
                take(answer.response)
            self.look()

        self._cluster.network.call(self._broker_id, voters[self._guess], request, taken, timeout_ms=_TIMEOUT_MS)

    def _on_registered(self, response: Any) -> None:
        self.lifecycle.on_registered(self._now_ms, response.error, response.broker_epoch)

    def _on_heartbeat(self, response: Any) -> None:
        self.lifecycle.on_heartbeat(
            self._now_ms,
            response.error,
            is_caught_up=response.is_caught_up,
            is_fenced=response.is_fenced,
            should_shut_down=response.should_shut_down,
        )
