"""The controller's state machine: takes requests and the passing of time, gives records and answers.

Decides which handler answers what, and in which order the work that is due by itself is done. Keeps only soft state
(broker sessions, an index of hosted topics, work put off to the next turns), all of which a new controller can do
without. Must not know how records become durable, nor who is connected.

Whoever drives it appends the records of every result, in order, or deactivates it: the soft state counts on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.ids import NodeId, TopicId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord, NoOpRecord
from metadata_log.records.levels import NO_OP_LEVEL
from quorum.api import (
    AllocateProducerIds,
    AlterClientQuotas,
    AlterConfigs,
    AlterPartition,
    AlterPartitionReassignments,
    AlterUserScramCredentials,
    AssignReplicasToDirs,
    BrokerHeartbeat,
    CreateAcls,
    CreateDelegationToken,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    DescribeAcls,
    DescribeClientQuotas,
    DescribeCluster,
    DescribeConfigs,
    DescribeTopics,
    DescribeUserScramCredentials,
    ElectLeaders,
    ExpireDelegationToken,
    IncrementalAlterConfigs,
    ListPartitionReassignments,
    RegisterBroker,
    RegisterController,
    RenewDelegationToken,
    Request,
    UnregisterBroker,
    UnregisterController,
    UpdateFeatures,
)
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.controller.activation import activation_records
from quorum.controller.balancing import begin_what_is_due, continue_balancing
from quorum.controller.config import ControllerConfig
from quorum.controller.fencing import fence_one_stale_broker
from quorum.controller.handlers.allocate_producer_ids import handle_allocate_producer_ids
from quorum.controller.handlers.alter_client_quotas import handle_alter_client_quotas
from quorum.controller.handlers.alter_configs import handle_alter_configs
from quorum.controller.handlers.alter_partition import handle_alter_partition
from quorum.controller.handlers.alter_partition_reassignments import handle_alter_partition_reassignments
from quorum.controller.handlers.alter_user_scram_credentials import handle_alter_user_scram_credentials
from quorum.controller.handlers.assign_replicas_to_dirs import handle_assign_replicas_to_dirs
from quorum.controller.handlers.broker_heartbeat import handle_broker_heartbeat, touch_session
from quorum.controller.handlers.create_acls import handle_create_acls
from quorum.controller.handlers.create_partitions import handle_create_partitions
from quorum.controller.handlers.create_topics import handle_create_topics
from quorum.controller.handlers.delegation_tokens import (
    handle_create_delegation_token,
    handle_expire_delegation_token,
    handle_renew_delegation_token,
)
from quorum.controller.handlers.delete_acls import handle_delete_acls
from quorum.controller.handlers.delete_topics import handle_delete_topics
from quorum.controller.handlers.describe_acls import handle_describe_acls
from quorum.controller.handlers.describe_client_quotas import handle_describe_client_quotas
from quorum.controller.handlers.describe_cluster import handle_describe_cluster
from quorum.controller.handlers.describe_configs import handle_describe_configs
from quorum.controller.handlers.describe_topics import handle_describe_topics
from quorum.controller.handlers.describe_user_scram_credentials import handle_describe_user_scram_credentials
from quorum.controller.handlers.elect_leaders import handle_elect_leaders
from quorum.controller.handlers.incremental_alter_configs import handle_incremental_alter_configs
from quorum.controller.handlers.list_partition_reassignments import handle_list_partition_reassignments
from quorum.controller.handlers.register_broker import handle_register_broker
from quorum.controller.handlers.register_controller import handle_register_controller
from quorum.controller.handlers.unregister_broker import handle_unregister_broker
from quorum.controller.handlers.unregister_controller import handle_unregister_controller
from quorum.controller.handlers.update_features import handle_update_features
from quorum.controller.leader_changes import continue_clean_ups, continue_elections, continue_losses
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import NOTHING, ControllerResult
from quorum.controller.token_sweep import continue_token_sweep
from quorum.controller.turn import Clock, SoftState, Turn
from quorum.controller.unregistration import continue_unregistrations

# The one place where a request meets its handler. Each handler takes the request that it is listed under.
_HANDLERS: Final[dict[type[Request], Callable[[Any, Turn], ControllerResult]]] = {
    CreateTopics: handle_create_topics,
    DeleteTopics: handle_delete_topics,
    DescribeTopics: handle_describe_topics,
    RegisterBroker: handle_register_broker,
    BrokerHeartbeat: handle_broker_heartbeat,
    AlterPartition: handle_alter_partition,
    RegisterController: handle_register_controller,
    AllocateProducerIds: handle_allocate_producer_ids,
    AssignReplicasToDirs: handle_assign_replicas_to_dirs,
    CreatePartitions: handle_create_partitions,
    IncrementalAlterConfigs: handle_incremental_alter_configs,
    AlterPartitionReassignments: handle_alter_partition_reassignments,
    UnregisterBroker: handle_unregister_broker,
    UnregisterController: handle_unregister_controller,
    UpdateFeatures: handle_update_features,
    ElectLeaders: handle_elect_leaders,
    ListPartitionReassignments: handle_list_partition_reassignments,
    AlterConfigs: handle_alter_configs,
    CreateAcls: handle_create_acls,
    DeleteAcls: handle_delete_acls,
    AlterClientQuotas: handle_alter_client_quotas,
    AlterUserScramCredentials: handle_alter_user_scram_credentials,
    CreateDelegationToken: handle_create_delegation_token,
    RenewDelegationToken: handle_renew_delegation_token,
    ExpireDelegationToken: handle_expire_delegation_token,
    DescribeAcls: handle_describe_acls,
    DescribeClientQuotas: handle_describe_client_quotas,
    DescribeUserScramCredentials: handle_describe_user_scram_credentials,
    DescribeConfigs: handle_describe_configs,
    DescribeCluster: handle_describe_cluster,
}

_NO_ONE: Final = RequestContext()
_IDLE: Final = ControllerResult(records=(NoOpRecord(),))


class ControllerMachine:
    """The active controller between `activate` and `deactivate`; a standby outside."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._state: SoftState | None = None
        self._epoch = Epoch(-1)
        self._now_ms = 0
        self._active_since_ms = 0

    @property
    def is_active(self) -> bool:
        """Whether requests are taken."""
        return self._state is not None

    @property
    def epoch(self) -> Epoch:
        """The Raft epoch that it was last activated in; -1 before the first."""
        return self._epoch

    def use_kraft_version(self, version: int) -> None:
        """Use this finalised `kraft.version`; Raft knows it, the image does not."""
        if version != self._config.kraft_version:
            self._config = msgspec.structs.replace(self._config, kraft_version=version)

    def use_heard(self, heard: frozenset[NodeId], now_ms: int) -> None:
        """Judge changes of features by these nodes: the voters, and those that were heard within the session timeout.

        Until that timeout has passed since activation, silence proves nothing: every registered controller counts.
        """
        is_new = now_ms - self._active_since_ms < self._config.session_timeout_ms
        living = None if is_new else heard
        self._config = msgspec.structs.replace(self._config, living_controllers=living)

    def activate(
        self,
        image: MetadataImage,
        clock: Clock,
        *,
        epoch: Epoch,
        bootstrap_values: tuple[MetadataRecord, ...],
        open_transaction: bool,
        metadata_topic_id: TopicId,
    ) -> ControllerResult:
        """Become the active controller of `epoch` over `image`, which holds all that is committed.

        Every broker that is not fenced counts as heard of now. Returns what must be appended before anything else.

        Raises:
            InvariantViolation: see `activation_records`.
        """
        records = activation_records(
            image,
            self._config,
            bootstrap_values,
            open_transaction=open_transaction,
            metadata_topic_id=metadata_topic_id,
        )
        state = SoftState(self._config, image, clock.monotonic_ms)
        for broker in image.cluster.brokers.values():
            if not broker.fenced:
                state.sessions.touch(state.sessions.of(broker), clock.monotonic_ms)
        self._state = state
        self._epoch = epoch
        self._now_ms = self._active_since_ms = clock.monotonic_ms
        return ControllerResult(records=records)

    def deactivate(self) -> None:
        """Stop being active: forget everything that is not in the log."""
        self._state = None

    def on_request(
        self,
        request: Request,
        context: RequestContext,
        image: MetadataImage,
        next_offset: Offset,
        clock: Clock,
        draw: int,
        new_ids: Iterator[TopicId],
    ) -> ControllerResult:
        """Answer one request, with the records that it takes.

        `image` is the newest, with all that was appended; `next_offset` is where the first record will stand; `draw`
        places replicas; `new_ids` gives as many fresh random ids as there are topics to create.

        Raises:
            InvariantViolation: `new_ids` ran out.
        """
        state = self._state
        if state is None:
            return ControllerResult(
                response=request.refused(Error.NOT_CONTROLLER, "This is not the active controller.")
            )
        now_ms = self._now_ms = clock.monotonic_ms
        turn = Turn(
            config=self._config,
            state=state,
            image=image,
            next_offset=next_offset,
            now_ms=now_ms,
            wall_ms=clock.wall_ms,
            context=context,
            draw=draw,
            new_ids=new_ids,
        )
        if context.deadline_ms is not None and now_ms >= context.deadline_ms:
            if isinstance(request, BrokerHeartbeat):
                touch_session(request, turn)
            why = "The request's deadline passed before it could be looked at."
            return ControllerResult(response=request.refused(Error.REQUEST_TIMED_OUT, why))
        handler = _HANDLERS.get(type(request))
        if handler is None:
            raise InvariantViolation(f"no handler for {type(request).__name__}")
        result = handler(request, turn)
        state.observe(result.records, image, now_ms)
        return result

    def on_control_batch(self, clock: Clock) -> None:
        """Take note of a batch that Raft has appended by itself: the log was not idle."""
        if self._state is not None:
            self._state.rounds.on_append(clock.monotonic_ms)

    def on_elapsed(
        self, image: MetadataImage, next_offset: Offset, clock: Clock, *, all_committed: bool = True
    ) -> ControllerResult:
        """Do what is due, a step of it: fence a stale broker, else go on with what was put off.

        An idle controller writes a NoOp instead, if all before `next_offset` is committed (`all_committed`).
        Call it again with the image that its records make for as long as `next_deadline_ms` is not in the future.
        """
        state = self._state
        if state is None:
            return NOTHING
        self._now_ms = clock.monotonic_ms
        turn = Turn(
            config=self._config,
            state=state,
            image=image,
            next_offset=next_offset,
            now_ms=clock.monotonic_ms,
            wall_ms=clock.wall_ms,
            context=_NO_ONE,
            draw=0,
            new_ids=iter(()),
        )
        result = fence_one_stale_broker(turn)
        if not state.index.advance():
            return self._noted(result, turn)
        begin_what_is_due(turn)
        if not result.records:
            result = ControllerResult(records=tuple(continue_elections(turn)), is_atomic=False)
        if not result.records:
            result = ControllerResult(records=tuple(continue_clean_ups(turn)), is_atomic=False)
        if not result.records:
            result = ControllerResult(records=tuple(continue_losses(turn)), is_atomic=False)
        if not result.records:
            result = ControllerResult(records=tuple(continue_unregistrations(turn)), is_atomic=False)
        if not result.records:
            result = ControllerResult(records=tuple(continue_balancing(turn)), is_atomic=False)
        if not result.records:
            result = ControllerResult(records=tuple(continue_token_sweep(turn)), is_atomic=False)
        if not result.records and state.rounds.take_idle(turn.now_ms, all_committed=all_committed):
            result = _IDLE if level_of(image) >= NO_OP_LEVEL else NOTHING
        return self._noted(result, turn)

    def _noted(self, result: ControllerResult, turn: Turn) -> ControllerResult:
        turn.state.observe(result.records, turn.image, turn.now_ms)
        return result

    def next_deadline_ms(self) -> int | None:
        """When `on_elapsed` has something to do next, on the monotonic clock; None on a standby."""
        state = self._state
        if state is None:
            return None
        if state.has_work:
            return self._now_ms
        stale_at_ms, again_at_ms = state.sessions.next_deadline_ms(), state.rounds.next_deadline_ms()
        return again_at_ms if stale_at_ms is None else min(stale_at_ms, again_at_ms)
