"""The rows of what concerns access: access control entries, client quotas, credentials. `access.proto`."""

from __future__ import annotations

from functools import partial
from typing import Final

from kraft.v1 import access_pb2
from quorum import api as r
from quorum.transport.grpc.convert.kind import kind_by_fields

_kind = partial(kind_by_fields, access_pb2)

ACCESS_KINDS: Final = (
    _kind("create_acls", r.CreateAcls, is_repeatable=False),
    _kind("delete_acls", r.DeleteAcls, is_repeatable=False),
    _kind("describe_acls", r.DescribeAcls, is_repeatable=True),
    _kind("alter_client_quotas", r.AlterClientQuotas, is_repeatable=False),
    _kind("describe_client_quotas", r.DescribeClientQuotas, is_repeatable=True),
    _kind("alter_user_scram_credentials", r.AlterUserScramCredentials, is_repeatable=False),
    _kind("describe_user_scram_credentials", r.DescribeUserScramCredentials, is_repeatable=True),
)
"""In the order of `Call`."""
