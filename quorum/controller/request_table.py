"""The table of requests: which handler gives the response to each.

Decides: what the controller does with a request by its class. A request that has no row here is not served. Must not
know: how a request came, and when its response may leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from metadata_log.errors import InvariantViolation
from quorum.api.acls import CreateAcls, DeleteAcls, DescribeAcls
from quorum.api.brokers import BrokerHeartbeat, RegisterBroker, UnregisterBroker
from quorum.api.cluster import DescribeCluster
from quorum.api.configs import AlterConfigs, IncrementalAlterConfigs
from quorum.api.controllers import RegisterController, UnregisterController
from quorum.api.described_configs import DescribeConfigs
from quorum.api.directories import AssignReplicasToDirs
from quorum.api.elections import ElectLeaders
from quorum.api.error_codes import Error
from quorum.api.features import UpdateFeatures
from quorum.api.partition_counts import CreatePartitions
from quorum.api.partitions import AlterPartition
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.quotas import AlterClientQuotas, DescribeClientQuotas
from quorum.api.reassignments import AlterPartitionReassignments, ListPartitionReassignments
from quorum.api.request import Request, Response
from quorum.api.scram import AlterUserScramCredentials, DescribeUserScramCredentials
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.api.topics import CreateTopics, DeleteTopics, DescribeTopics
from quorum.controller.handlers.allocate_producer_ids import handle_allocate_producer_ids
from quorum.controller.handlers.alter_client_quotas import handle_alter_client_quotas
from quorum.controller.handlers.alter_configs import handle_alter_configs
from quorum.controller.handlers.alter_partition import handle_alter_partition
from quorum.controller.handlers.alter_partition_reassignments import handle_alter_partition_reassignments
from quorum.controller.handlers.alter_user_scram_credentials import handle_alter_user_scram_credentials
from quorum.controller.handlers.assign_replicas_to_dirs import handle_assign_replicas_to_dirs
from quorum.controller.handlers.broker_heartbeat import handle_broker_heartbeat
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
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

Q = TypeVar("Q", bound=Request[Any])
R = TypeVar("R", bound=Response)


class _Row(msgspec.Struct, frozen=True):
    handler: Callable[[Any, Turn], ControllerResult[Any]]
    proves_nothing: bool


class Handlers:
    """Handlers by the class of the request that each takes.

    Each row is typed by itself. A handler of another request is a type error, and so is one that gives another response
    than the request names. So `handle` returns the response that its request names.
    """

    def __init__(self) -> None:
        self._rows: dict[type[Request[Response]], _Row] = {}

    def row(
        self,
        request: type[Q],
        handler: Callable[[Q, Turn], ControllerResult[R]],
        rejected: Callable[[Q, Error], R],
        *,
        proves_nothing: bool = False,
    ) -> None:
        """Add a row. `rejected` is the request's own method: it ties the class of the response to the request's.

        `proves_nothing`: brokers and controllers send it all the time, and its response has epochs that fence it.
        Any other response that wrote nothing describes the present, so a controller first proves that it still leads.

        Raises:
            InvariantViolation: the request has a row, or `rejected` is not its own.
        """
        if request in self._rows or request.__dict__.get("rejected") is not rejected:
            raise InvariantViolation(f"{request.__name__} has two rows, or a row without its own way of rejecting")
        self._rows[request] = _Row(handler, proves_nothing)

    def handle(self, request: Request[R], turn: Turn) -> ControllerResult[R]:
        """Return the records and the response.

        Raises:
            InvariantViolation: there is no row for it.
        """
        return self._row_of(request).handler(request, turn)

    def proves_nothing(self, request: Request[Response]) -> bool:
        """Return True if its response needs no proof of leadership."""
        return self._row_of(request).proves_nothing

    def __iter__(self) -> Iterator[type[Request[Response]]]:
        return iter(self._rows)

    def _row_of(self, request: Request[Response]) -> _Row:
        row = self._rows.get(type(request))
        if row is None:
            raise InvariantViolation(f"no handler for {type(request).__name__}")
        return row


HANDLERS: Final = Handlers()
HANDLERS.row(CreateTopics, handle_create_topics, CreateTopics.rejected)
HANDLERS.row(DeleteTopics, handle_delete_topics, DeleteTopics.rejected)
HANDLERS.row(DescribeTopics, handle_describe_topics, DescribeTopics.rejected)
HANDLERS.row(RegisterBroker, handle_register_broker, RegisterBroker.rejected, proves_nothing=True)
HANDLERS.row(BrokerHeartbeat, handle_broker_heartbeat, BrokerHeartbeat.rejected, proves_nothing=True)
HANDLERS.row(AlterPartition, handle_alter_partition, AlterPartition.rejected, proves_nothing=True)
HANDLERS.row(RegisterController, handle_register_controller, RegisterController.rejected, proves_nothing=True)
HANDLERS.row(AllocateProducerIds, handle_allocate_producer_ids, AllocateProducerIds.rejected, proves_nothing=True)
HANDLERS.row(AssignReplicasToDirs, handle_assign_replicas_to_dirs, AssignReplicasToDirs.rejected, proves_nothing=True)
HANDLERS.row(CreatePartitions, handle_create_partitions, CreatePartitions.rejected)
HANDLERS.row(IncrementalAlterConfigs, handle_incremental_alter_configs, IncrementalAlterConfigs.rejected)
HANDLERS.row(AlterPartitionReassignments, handle_alter_partition_reassignments, AlterPartitionReassignments.rejected)
HANDLERS.row(UnregisterBroker, handle_unregister_broker, UnregisterBroker.rejected)
HANDLERS.row(UnregisterController, handle_unregister_controller, UnregisterController.rejected)
HANDLERS.row(UpdateFeatures, handle_update_features, UpdateFeatures.rejected)
HANDLERS.row(ElectLeaders, handle_elect_leaders, ElectLeaders.rejected)
HANDLERS.row(ListPartitionReassignments, handle_list_partition_reassignments, ListPartitionReassignments.rejected)
HANDLERS.row(AlterConfigs, handle_alter_configs, AlterConfigs.rejected)
HANDLERS.row(CreateAcls, handle_create_acls, CreateAcls.rejected)
HANDLERS.row(DeleteAcls, handle_delete_acls, DeleteAcls.rejected)
HANDLERS.row(AlterClientQuotas, handle_alter_client_quotas, AlterClientQuotas.rejected)
HANDLERS.row(AlterUserScramCredentials, handle_alter_user_scram_credentials, AlterUserScramCredentials.rejected)
HANDLERS.row(CreateDelegationToken, handle_create_delegation_token, CreateDelegationToken.rejected)
HANDLERS.row(RenewDelegationToken, handle_renew_delegation_token, RenewDelegationToken.rejected)
HANDLERS.row(ExpireDelegationToken, handle_expire_delegation_token, ExpireDelegationToken.rejected)
HANDLERS.row(DescribeAcls, handle_describe_acls, DescribeAcls.rejected)
HANDLERS.row(DescribeClientQuotas, handle_describe_client_quotas, DescribeClientQuotas.rejected)
HANDLERS.row(
    DescribeUserScramCredentials, handle_describe_user_scram_credentials, DescribeUserScramCredentials.rejected
)
HANDLERS.row(DescribeConfigs, handle_describe_configs, DescribeConfigs.rejected)
HANDLERS.row(DescribeCluster, handle_describe_cluster, DescribeCluster.rejected)
