"""The rows of what administrators, and brokers for themselves, ask beyond topics and registrations: `admin.proto`."""

from __future__ import annotations

from functools import partial
from typing import Final

from kraft.v1 import admin_pb2
from quorum import api as r
from quorum.transport.grpc.convert.kind import kind_by_fields

_kind = partial(kind_by_fields, admin_pb2)

ADMIN_KINDS: Final = (
    _kind("create_partitions", r.CreatePartitions, is_repeatable=False),
    _kind("incremental_alter_configs", r.IncrementalAlterConfigs, is_repeatable=False),
    _kind("alter_partition_reassignments", r.AlterPartitionReassignments, is_repeatable=False),
    _kind("list_partition_reassignments", r.ListPartitionReassignments, is_repeatable=True),
    _kind("elect_leaders", r.ElectLeaders, is_repeatable=False),
    _kind("allocate_producer_ids", r.AllocateProducerIds, is_repeatable=True),
    _kind("assign_replicas_to_dirs", r.AssignReplicasToDirs, is_repeatable=True),
    _kind("unregister_broker", r.UnregisterBroker, is_repeatable=False),
    _kind("update_features", r.UpdateFeatures, is_repeatable=False),
    _kind("describe_configs", r.DescribeConfigs, is_repeatable=True),
)
"""In the order of `Call`. A block of producer ids that nobody took is lost, and does no harm."""
