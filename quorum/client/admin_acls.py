"""Access control entries, in the words of Kafka's Admin (KIP-140, KIP-290): what `Admin` asks and tells.

Decides: which answer belongs to which entry or filter. Must not know: what an entry means to whom.
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
    """How the name of a resource is meant; MATCH in filters only: every entry that is about a resource of that name."""

    MATCH = acl_codes.MATCH
    LITERAL = acl_codes.LITERAL
    PREFIXED = acl_codes.PREFIXED


class AclPermissionType(enum.IntEnum):
    """What an entry does."""

    DENY = acl_codes.DENY
    ALLOW = acl_codes.ALLOW


class CreateAclsResult(Results[AclEntry, AclCreationResult]):
    """What became of each entry."""


class DeleteAclsResult(Results[AclFilter, AclDeletionResult]):
    """What each filter means: the entries that were removed."""


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
