"""CreateAcls, DeleteAcls and DescribeAcls with their responses (KIP-140, KIP-290).

Resources, patterns, operations and permissions are plain ints with Kafka's codes (`acl_codes`): a client may send an
unknown one.
"""

from __future__ import annotations

import msgspec

from metadata_log.image import AclEntry
from quorum.api.error_codes import Error
from quorum.api.request import Read, Request


class CreateAcls(Request["CreateAclsResponse"], frozen=True, kw_only=True, gc=False):
    """Add entries, each on its own. An entry that exists already counts as added."""

    creations: tuple[AclEntry, ...]

    def rejected(self, error: Error, message: str | None = None) -> CreateAclsResponse:
        """Return the response that rejects each entry for the same reason."""
        results = tuple(AclCreationResult(error=error, error_message=message) for _ in self.creations)
        return CreateAclsResponse(results=results, error=error, error_message=message)


class AclCreationResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one entry."""

    error: Error = Error.NONE
    error_message: str | None = None


class CreateAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request."""

    results: tuple[AclCreationResult, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class AclFilter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A filter of entries: None, and the number ANY (1), match every value.

    The pattern type MATCH (2) matches each entry that covers a resource of that name.
    """

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int


class DeleteAcls(Request["DeleteAclsResponse"], frozen=True, kw_only=True, gc=False):
    """Remove every entry that matches one of the filters."""

    filters: tuple[AclFilter, ...]

    def rejected(self, error: Error, message: str | None = None) -> DeleteAclsResponse:
        """Return the response that rejects each filter for the same reason."""
        results = tuple(AclDeletionResult(error=error, error_message=message) for _ in self.filters)
        return DeleteAclsResponse(results=results, error=error, error_message=message)


class AclDeletionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The entries that match one filter. They are removed if `error` is `NONE`."""

    matching: tuple[AclEntry, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DeleteAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request."""

    results: tuple[AclDeletionResult, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class DescribeAcls(Read["DescribeAclsResponse"], frozen=True, kw_only=True, gc=False):
    """List the entries that match a filter."""

    asked: AclFilter

    def rejected(self, error: Error, message: str | None = None) -> DescribeAclsResponse:
        """Return the response that rejects the whole request."""
        return DescribeAclsResponse(error=error, error_message=message)


class DescribeAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entries sorted by resource, then by pattern, principal and the remaining fields."""

    entries: tuple[AclEntry, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
