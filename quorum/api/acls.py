"""CreateAcls, DeleteAcls and DescribeAcls with their answers (KIP-140, KIP-290).

Numbers of resources, patterns, operations and permissions are Kafka's (`acl_codes`), plain, since anybody may send any.
"""

from __future__ import annotations

import msgspec

from metadata_log.image import AclEntry
from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class CreateAcls(Request["CreateAclsResponse"], frozen=True, kw_only=True, gc=False):
    """Add entries, each for itself; one that there is already is as good as added."""

    creations: tuple[AclEntry, ...]

    def rejected(self, error: Error, message: str | None = None) -> CreateAclsResponse:
        """Return the response that rejects each entry for the same reason."""
        results = tuple(AclCreationResult(error=error, error_message=message) for _ in self.creations)
        return CreateAclsResponse(results=results, error=error, error_message=message)


class AclCreationResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one entry."""

    error: Error = Error.NONE
    error_message: str | None = None


class CreateAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request."""

    results: tuple[AclCreationResult, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class AclFilter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which entries are meant: None, and the number ANY (1), stand for all.

    The pattern type MATCH (2) means the entries that are about a resource of that name.
    """

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int


class DeleteAcls(Request["DeleteAclsResponse"], frozen=True, kw_only=True, gc=False):
    """Remove every entry that one of the filters means."""

    filters: tuple[AclFilter, ...]

    def rejected(self, error: Error, message: str | None = None) -> DeleteAclsResponse:
        """Return the response that rejects each filter for the same reason."""
        results = tuple(AclDeletionResult(error=error, error_message=message) for _ in self.filters)
        return DeleteAclsResponse(results=results, error=error, error_message=message)


class AclDeletionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one filter means: removed, unless `error` says otherwise."""

    matching: tuple[AclEntry, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DeleteAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request."""

    results: tuple[AclDeletionResult, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeAcls(Read["DescribeAclsResponse"], frozen=True, kw_only=True, gc=False):
    """List the entries that a filter means."""

    asked: AclFilter

    def rejected(self, error: Error, message: str | None = None) -> DescribeAclsResponse:
        """Return the response that rejects the whole request."""
        return DescribeAclsResponse(error=error, error_message=message)


class DescribeAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sorted: by resource, then by pattern, principal and the rest."""

    entries: tuple[AclEntry, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
