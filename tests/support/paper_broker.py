"""A stub broker: it registers and sends heartbeats through the real client, holds nothing, and serves no client.

For tests that need brokers for topics but only care about the controllers.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Final, Self

from metadata_log.ids import DirectoryId, Uuid
from metadata_log.records.feature_levels import supported_features
from metadata_log.records.levels import LATEST_PRODUCTION
from quorum.api.brokers import BrokerHeartbeat, BrokerHeartbeatResponse, FeatureRange, Listener, RegisterBroker
from quorum.api.error_codes import Error
from quorum.client.client import Client
from quorum.client.errors import ClientError
from quorum.node.process.system_ports import SystemEntropy

_FEATURES: Final = (
    FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=LATEST_PRODUCTION),
    *(
        FeatureRange(name=name, min_supported_version=0, max_supported_version=level)
        for name, level in supported_features(LATEST_PRODUCTION).items()
    ),
)
_ENTROPY: Final = SystemEntropy()
_INCARNATION: Final = Uuid(_ENTROPY.new_id())
_DIRECTORY: Final = DirectoryId(_ENTROPY.new_id())
"""The same throughout a test, so that the broker may leave and come back at once."""
_HEARTBEAT_EVERY_S: Final = 1.0
_PATIENCE_S: Final = 30.0


class BrokerRefusedError(Exception):
    """The controller rejected the broker."""


class PaperBroker:
    """Registered and unfenced on entry; sends heartbeats until exit."""

    def __init__(self, client: Client, cluster_id: str, broker_id: int) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self.broker_id = broker_id
        self._epoch = -1
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        answer = await self._client.register_broker(
            RegisterBroker(
                broker_id=self.broker_id,
                cluster_id=self._cluster_id,
                incarnation_id=_INCARNATION,
                listeners=(Listener(name="PLAINTEXT", host="127.0.0.1", port=9),),
                features=_FEATURES,
                log_dirs=(_DIRECTORY,),
            ),
            timeout_s=_PATIENCE_S,
        )
        if answer.error is not Error.NONE:
            raise BrokerRefusedError(answer)
        self._epoch = answer.broker_epoch
        await self._until_unfenced()
        self._beating = asyncio.get_running_loop().create_task(self._beat(), name=f"paper-broker-{self.broker_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def _until_unfenced(self) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                answer = await self._heartbeat()
                if not answer.is_fenced:
                    return
                if answer.error is not Error.NONE:
                    raise BrokerRefusedError(answer)

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            next_at = loop.time() + _HEARTBEAT_EVERY_S
            with contextlib.suppress(ClientError):  # no leader for a while: the next one gets the next heartbeat
                await self._heartbeat()
            await asyncio.sleep(max(0.0, next_at - loop.time()))

    async def _heartbeat(self) -> BrokerHeartbeatResponse:
        return await self._client.broker_heartbeat(
            BrokerHeartbeat(
                broker_id=self.broker_id,
                broker_epoch=self._epoch,
                current_metadata_offset=max(self._epoch, self._client.seen_offset),
            ),
            timeout_s=_PATIENCE_S,
        )
