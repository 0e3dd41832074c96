"""Access control entries (KIP-140, KIP-290), in the terms of Kafka's Admin.

Decides: which result belongs to which entry or filter. Must not know: how an authorizer applies an entry.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from metadata_log import acl_codes
from metadata_log.image import AclEntry
from metadata_log.offsets import Offset
from quorum.api.acls import (
    AclCreationResult,
    AclDeletionResult,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    DescribeAcls,
)
from quorum.client.admin_results import Results, outcomes_of
from quorum.client.client import Client


class AclPatternType(enum.IntEnum):
    """The way a resource name is matched. MATCH, in filters only, finds every entry that applies to that name."""

    MATCH = acl_codes.MATCH
    LITERAL = acl_codes.LITERAL
    PREFIXED = acl_codes.PREFIXED


class AclPermissionType(enum.IntEnum):
    """The effect of an entry. DENY takes precedence over ALLOW."""

    DENY = acl_codes.DENY
    ALLOW = acl_codes.ALLOW


class CreateAclsResult(Results[AclEntry, AclCreationResult]):
    """The outcome of each entry."""


class DeleteAclsResult(Results[AclFilter, AclDeletionResult]):
    """The entries that each filter matched, and that were removed."""


async def create_acls(client: Client, entries: Iterable[AclEntry], timeout_s: float | None) -> CreateAclsResult:
    """See `Admin.create_acls`."""
    creations = tuple(dict.fromkeys(entries))
    response = await client.ask(CreateAcls(creations=creations), timeout_s=timeout_s)
    told = zip(creations, response.results, strict=True)
    return CreateAclsResult(outcomes_of(told, str))


async def delete_acls(client: Client, filters: Iterable[AclFilter], timeout_s: float | None) -> DeleteAclsResult:
    """See `Admin.delete_acls`."""
    asked = tuple(dict.fromkeys(filters))
    response = await client.ask(DeleteAcls(filters=asked), timeout_s=timeout_s)
    told = zip(asked, response.results, strict=True)
    return DeleteAclsResult(outcomes_of(told, str))


async def describe_acls(
    client: Client, asked: AclFilter, *, at_least_offset: Offset | None, timeout_s: float | None
) -> tuple[AclEntry, ...]:
    """See `Admin.describe_acls`."""
    request = DescribeAcls(asked=asked)
    response = await client.ask(request, at_least_offset=at_least_offset, timeout_s=timeout_s)
    return response.entries
