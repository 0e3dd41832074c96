"""Who asks, and whether they may: the context of a request and the one pure decision on it.

Called once for each request and resource, between door and controller. Knows nothing of TLS, SASL or of how a
principal was found out.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from metadata_log.acl_codes import CLUSTER_RESOURCE_NAME, Operation, ResourceType
from metadata_log.image import AclsImage, MetadataImage
from quorum.api.error_codes import Error

__all__ = ["ANONYMOUS", "CLUSTER", "Operation", "RequestContext", "Resource", "ResourceType", "authorize"]

ANONYMOUS: Final = "User:ANONYMOUS"
"""Whoever comes by a listener that cannot tell who somebody is (neither TLS nor SASL)."""


class Authorizer(Protocol):
    """Decides who may do what. `quorum.controller.authorizer` has Kafka's rules."""

    def allows(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str, acls: AclsImage
    ) -> bool:
        """Return True if `principal`, calling from `host`, may do `operation` to that resource."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that may be acted upon."""

    resource_type: ResourceType
    name: str


CLUSTER: Final = Resource(resource_type=ResourceType.CLUSTER, name=CLUSTER_RESOURCE_NAME)


_REFUSALS: Final = {
    ResourceType.TOPIC: Error.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: Error.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: Error.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


class RequestContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a request came from. `deadline_ms` is on the monotonic clock; None when the asker named none."""

    principal: str = ANONYMOUS
    client_host: str = ""
    listener: str = ""
    forwarded_by: int | None = None
    """The broker that passed it on, if any."""
    client_id: str = ""
    """As the client calls itself; empty when it does not."""
    knows_throttling: bool = True
    """Whether THROTTLING_QUOTA_EXCEEDED may be answered: older requests of Kafka's have no such refusal."""
    is_token: bool = False
    """The principal has proven itself by a delegation token."""
    deadline_ms: int | None = None
    authorizer: Authorizer | None = None
    """By which rules the principal is judged: those of the node's configuration, which its doors hand in with whatever
    comes through them. None where there are no rules, and for what the node asks of itself."""


def authorize(context: RequestContext, operation: Operation, resource: Resource, image: MetadataImage) -> Error:
    """NONE when the principal may, else the resource's authorization error.

    Without an authorizer everybody may do all, whoever they are, as in Kafka.
    """
    authorizer = context.authorizer
    if authorizer is None or authorizer.allows(
        context.principal, context.client_host, operation, resource.resource_type, resource.name, image.acls
    ):
        return Error.NONE
    return _REFUSALS[resource.resource_type]
