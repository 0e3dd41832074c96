"""The rows of what administrators, and brokers for themselves, ask beyond topics and registrations: `admin.proto`."""

from __future__ import annotations

from typing import Any, Final

from kraft.v1 import admin_pb2 as pb
from quorum.controller import requests as r
from quorum.transport.convert.by_fields import by_fields
from quorum.transport.convert.kind import Kind


def _kind(name: str, request: type[Any], response: type[Any], *, is_repeatable: bool) -> Kind:
    request_message = getattr(pb, f"{request.__name__}Request")
    response_message = getattr(pb, f"{response.__name__}")
    asked, said = by_fields(request, request_message), by_fields(response, response_message)
    return Kind(
        name=name,
        request=request,
        response_message=response_message,
        request_to=asked.to_message,
        request_from=asked.to_struct,
        response_to=said.to_message,
        response_from=said.to_struct,
        is_repeatable=is_repeatable,
    )


ADMIN_KINDS: Final = (
    _kind("create_partitions", r.CreatePartitions, r.CreatePartitionsResponse, is_repeatable=False),
    _kind(
        "incremental_alter_configs",
        r.IncrementalAlterConfigs,
        r.IncrementalAlterConfigsResponse,
        is_repeatable=False,
    ),
    _kind(
        "alter_partition_reassignments",
        r.AlterPartitionReassignments,
        r.AlterPartitionReassignmentsResponse,
        is_repeatable=False,
    ),
    _kind(
        "list_partition_reassignments",
        r.ListPartitionReassignments,
        r.ListPartitionReassignmentsResponse,
        is_repeatable=True,
    ),
    _kind("elect_leaders", r.ElectLeaders, r.ElectLeadersResponse, is_repeatable=False),
    _kind("allocate_producer_ids", r.AllocateProducerIds, r.AllocateProducerIdsResponse, is_repeatable=True),
    _kind("assign_replicas_to_dirs", r.AssignReplicasToDirs, r.AssignReplicasToDirsResponse, is_repeatable=True),
    _kind("unregister_broker", r.UnregisterBroker, r.UnregisterBrokerResponse, is_repeatable=False),
    _kind("update_features", r.UpdateFeatures, r.UpdateFeaturesResponse, is_repeatable=False),
)
"""In the order of `Call`. A block of producer ids that nobody took is lost, and does no harm."""
