"""The kinds of requests whose messages have the field names of the structs: all of `access.proto` and `admin.proto`.

DescribeCluster is in `controller.proto`, beside the listeners and features that it describes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kraft.v1 import access_pb2, admin_pb2, controller_pb2
from quorum import api as r
from quorum.transport.grpc.convert.kind import kind_by_fields

_access = partial(kind_by_fields, access_pb2)
_admin = partial(kind_by_fields, admin_pb2)

ADMIN_KINDS: Final = (
    _admin("create_partitions", r.CreatePartitions, is_repeatable=False),
    _admin("incremental_alter_configs", r.IncrementalAlterConfigs, is_repeatable=False),
    _admin("alter_partition_reassignments", r.AlterPartitionReassignments, is_repeatable=False),
    _admin("list_partition_reassignments", r.ListPartitionReassignments, is_repeatable=True),
    _admin("elect_leaders", r.ElectLeaders, is_repeatable=False),
    _admin("allocate_producer_ids", r.AllocateProducerIds, is_repeatable=True),
    _admin("assign_replicas_to_dirs", r.AssignReplicasToDirs, is_repeatable=True),
    _admin("unregister_broker", r.UnregisterBroker, is_repeatable=False),
    _admin("update_features", r.UpdateFeatures, is_repeatable=False),
    _admin("describe_configs", r.DescribeConfigs, is_repeatable=True),
    _access("create_acls", r.CreateAcls, is_repeatable=False),
    _access("delete_acls", r.DeleteAcls, is_repeatable=False),
    _access("describe_acls", r.DescribeAcls, is_repeatable=True),
    _access("alter_client_quotas", r.AlterClientQuotas, is_repeatable=False),
    _access("describe_client_quotas", r.DescribeClientQuotas, is_repeatable=True),
    _access("alter_user_scram_credentials", r.AlterUserScramCredentials, is_repeatable=False),
    _access("describe_user_scram_credentials", r.DescribeUserScramCredentials, is_repeatable=True),
    _admin("unregister_controller", r.UnregisterController, is_repeatable=False),
    kind_by_fields(controller_pb2, "describe_cluster", r.DescribeCluster, is_repeatable=True),
)
"""In the order of `Call`. A repeated AllocateProducerIds only loses the first block of ids, which does no harm."""
