"""A stub broker: it registers and sends heartbeats, so that the controller can place topics.

It finds the active controller by asking all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

import grpc

from kraft.v1 import controller_pb2, controller_pb2_grpc
from metadata_log.ids import Uuid
from quorum.node.controller.registration import SUPPORTED_FEATURES
from quorum.node.process.system_ports import SystemEntropy

BROKER_ID: Final = 100
_EVERY_S: Final = 1.0
_CALL_TIMEOUT_S: Final = 2.0


class BrokerError(RuntimeError):
    """No controller takes it."""


class FakeBroker:
    """One registered, unfenced broker, kept so by a thread until `stop`."""

    def __init__(self, addresses: Sequence[str], cluster_id: str) -> None:
        self._channels = [grpc.insecure_channel(address) for address in addresses]
        self._stubs = [controller_pb2_grpc.ControllerStub(channel) for channel in self._channels]
        self._cluster_id = cluster_id
        self._incarnation_id = Uuid(SystemEntropy().new_id())
        self._directory_id = SystemEntropy().new_id()
        self._epoch = -1
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="fake-broker", daemon=True)

    def start(self, tries: int = 100) -> None:
        """Register and become unfenced; from then on a thread keeps it so.

        Raises:
            BrokerError: no controller took it.
        """
        last: object = "nobody answered"
        for _ in range(tries):
            for stub in self._stubs:
                is_in, last = self._once(stub)
                if is_in:
                    self._thread.start()
                    return
            self._ended.wait(0.1)
        raise BrokerError(f"no controller takes the broker: {last}")

    def stop(self) -> None:
        """End the thread and the connections."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        for channel in self._channels:
            channel.close()

    def _beat(self) -> None:
        while not self._ended.wait(_EVERY_S):
            for stub in self._stubs:
                if self._once(stub)[0]:
                    break

    def _once(self, stub: controller_pb2_grpc.ControllerStub) -> tuple[bool, object]:
        """Return True if this controller has the stub registered and unfenced, and its response."""
        try:
            if self._epoch < 0:
                registered = stub.RegisterBroker(self._registration(), timeout=_CALL_TIMEOUT_S)
                if registered.outcome.error_code or registered.error_code:
                    return False, registered
                self._epoch = registered.broker_epoch
            beat = stub.BrokerHeartbeat(
                controller_pb2.BrokerHeartbeatRequest(
                    broker_id=BROKER_ID, broker_epoch=self._epoch, current_metadata_offset=self._epoch
                ),
                timeout=_CALL_TIMEOUT_S,
            )
        except grpc.RpcError as error:
            return False, error
        return not (beat.outcome.error_code or beat.error_code or beat.is_fenced), beat

    def _registration(self) -> controller_pb2.RegisterBrokerRequest:
        return controller_pb2.RegisterBrokerRequest(
            broker_id=BROKER_ID,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[controller_pb2.Listener(name="PLAINTEXT", host="127.0.0.1", port=9)],
            features=[
                controller_pb2.FeatureRange(
                    name=each.name,
                    min_supported_version=each.min_supported_version,
                    max_supported_version=each.max_supported_version,
                )
                for each in SUPPORTED_FEATURES
            ],
            log_dirs=[self._directory_id],
        )
