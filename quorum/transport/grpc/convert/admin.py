"""The kinds of requests whose messages have the structs' field names: all of `access.proto` and `admin.proto`.

DescribeCluster is in `controller.proto`, together with the listeners and features that it describes.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from kraft.v1 import access_pb2, admin_pb2, controller_pb2
from quorum.api.acls import (
    CreateAcls,
    DeleteAcls,
    DescribeAcls,
)
from quorum.api.brokers import UnregisterBroker
from quorum.api.cluster import DescribeCluster
from quorum.api.configs import IncrementalAlterConfigs
from quorum.api.controllers import UnregisterController
from quorum.api.described_configs import DescribeConfigs
from quorum.api.directories import AssignReplicasToDirs
from quorum.api.elections import ElectLeaders
from quorum.api.features import UpdateFeatures
from quorum.api.partition_counts import CreatePartitions
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.quotas import (
    AlterClientQuotas,
    DescribeClientQuotas,
)
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from quorum.api.request import Request, Response
from quorum.api.scram import (
    AlterUserScramCredentials,
    DescribeUserScramCredentials,
)
from quorum.transport.grpc.convert.kind import Kind, kind_by_fields

R = TypeVar("R", bound=Response)


def _access(request: type[Request[R]]) -> Kind[R]:
    return kind_by_fields(access_pb2, request)


def _admin(request: type[Request[R]], *, is_repeatable: bool = False) -> Kind[R]:
    return kind_by_fields(admin_pb2, request, is_repeatable=is_repeatable)


ADMIN_KINDS: Final[tuple[Kind[Any], ...]] = (
    _admin(CreatePartitions),
    _admin(IncrementalAlterConfigs),
    _admin(AlterPartitionReassignments),
    _admin(ListPartitionReassignments),
    _admin(ElectLeaders),
    _admin(AllocateProducerIds, is_repeatable=True),
    _admin(AssignReplicasToDirs, is_repeatable=True),
    _admin(UnregisterBroker),
    _admin(UpdateFeatures),
    _admin(DescribeConfigs),
    _access(CreateAcls),
    _access(DeleteAcls),
    _access(DescribeAcls),
    _access(AlterClientQuotas),
    _access(DescribeClientQuotas),
    _access(AlterUserScramCredentials),
    _access(DescribeUserScramCredentials),
    _admin(UnregisterController),
    kind_by_fields(controller_pb2, DescribeCluster),
)
"""The rows, in the order of `Call`. A repeated AllocateProducerIds only wastes the first block of ids."""
