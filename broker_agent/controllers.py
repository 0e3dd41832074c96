"""The agent's requests to the active controller: RegisterBroker, BrokerHeartbeat and AlterPartition.

Decides: what each request contains, and which transition of `Lifecycle` a response or a failure causes. Must not know:
which node is the active controller (the client finds it), or when a request is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import structlog

from broker_agent.lifecycle import Lifecycle, SendHeartbeat, SendRegistration
from broker_agent.replication import IsrProposal
from broker_agent.silence import Silence
from metadata_log.ids import TopicId
from metadata_log.image import MetadataImage
from quorum.api.brokers import BrokerHeartbeat, RegisterBroker
from quorum.api.error_codes import Error
from quorum.api.partitions import AlterPartition, BrokerState, PartitionAlteration, TopicAlteration
from quorum.client.client import Client
from quorum.client.errors import ClientError

_TIMEOUT_S: Final = 2.0
_MS_PER_S: Final = 1000
_RETRYABLE: Final = (Error.INELIGIBLE_REPLICA, Error.FENCED_LEADER_EPOCH, Error.INVALID_UPDATE_VERSION)
"""Errors that are not logged: the follower's next read leads to a new proposal from a newer image."""

log = structlog.get_logger("broker_agent")


class Controllers:
    """One agent's side of Registration, Heartbeat and AlterPartition."""

    def __init__(self, client: Client, registration: RegisterBroker) -> None:
        """`registration` is the request to send; its previous broker epoch is set for each attempt."""
        self._client = client
        self._registration = registration
        self._silence = Silence()

    async def register(self, life: Lifecycle, send: SendRegistration, now_ms: Callable[[], int]) -> None:
        """Send RegisterBroker, and pass the response or the failure to `life`."""
        request = msgspec.structs.replace(self._registration, previous_broker_epoch=send.previous_broker_epoch)
        try:
            answer = await self._client.register_broker(request, timeout_s=_TIMEOUT_S)
        except ClientError as error:
            self._unanswered("registration", error, now_ms())
            life.on_failed(now_ms())
            return
        self._answered(now_ms())
        life.on_registered(now_ms(), answer.error, answer.broker_epoch, answer.error_message or "")

    async def heartbeat(self, life: Lifecycle, send: SendHeartbeat, now_ms: Callable[[], int]) -> None:
        """Send BrokerHeartbeat, and pass the response or the failure to `life`."""
        request = BrokerHeartbeat(
            broker_id=self._registration.broker_id,
            broker_epoch=send.broker_epoch,
            current_metadata_offset=send.current_metadata_offset,
            want_fence=send.want_fence,
            want_shut_down=send.want_shut_down,
        )
        try:
            answer = await self._client.broker_heartbeat(request, timeout_s=_TIMEOUT_S)
        except ClientError as error:
            self._unanswered("heartbeat", error, now_ms())
            life.on_failed(now_ms())
            return
        self._answered(now_ms())
        life.on_heartbeat(
            now_ms(),
            answer.error,
            is_caught_up=answer.is_caught_up,
            is_fenced=answer.is_fenced,
            should_shut_down=answer.should_shut_down,
            text=answer.error_message or "",
        )

    def _unanswered(self, what: str, error: ClientError, now_ms: int) -> None:
        """Log a failed request at once, then at growing intervals: a quorum may be unavailable for days."""
        report = self._silence.on_failed(now_ms)
        if report is not None:
            log.warning(
                f"no controller took the {what}",
                for_s=round(report.for_ms / _MS_PER_S),
                attempts=report.attempts,
                told_again_in_s=report.next_in_ms // _MS_PER_S,
                why=str(error),
            )

    def _answered(self, now_ms: int) -> None:
        report = self._silence.on_answered(now_ms)
        if report is not None:
            log.info("a controller answers again", after_s=round(report.for_ms / _MS_PER_S), attempts=report.attempts)

    async def alter_partition(self, broker_epoch: int, proposals: Iterable[IsrProposal], image: MetadataImage) -> None:
        """Propose ISRs. A rejected or lost proposal is made again after the follower's next read."""
        topics: dict[TopicId, list[PartitionAlteration]] = {}
        for proposal in proposals:
            state = proposal.partition
            topics.setdefault(proposal.topic_id, []).append(
                PartitionAlteration(
                    partition_index=state.partition_id,
                    leader_epoch=state.leader_epoch,
                    partition_epoch=state.partition_epoch,
                    leader_recovery_state=state.leader_recovery_state,
                    new_isr=tuple(
                        BrokerState(broker_id=each, broker_epoch=image.cluster.broker_epoch(each))
                        for each in proposal.new_isr
                    ),
                )
            )
        request = AlterPartition(
            broker_id=self._registration.broker_id,
            broker_epoch=broker_epoch,
            topics=tuple(TopicAlteration(topic_id=each, partitions=tuple(held)) for each, held in topics.items()),
        )
        try:
            answer = await self._client.alter_partition(request, timeout_s=_TIMEOUT_S)
        except ClientError as error:
            log.info("no controller took the ISR proposals", why=str(error))
            return
        refused = [part.error for topic in answer.topics for part in topic.partitions if part.error is not Error.NONE]
        for reason in {answer.error, *refused} - {Error.NONE, *_RETRYABLE}:
            log.warning("an ISR proposal was refused", error=reason.name)
