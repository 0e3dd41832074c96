"""The context of a request: the client's identity, and the pure decision whether it is authorized.

`authorize` runs once for each request and resource, between listener and controller. Must not know: TLS, SASL, or how a
principal was authenticated.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from metadata_log.acl_codes import CLUSTER_RESOURCE_NAME, Operation, ResourceType
from metadata_log.image import AclsImage, MetadataImage
from quorum.api.error_codes import Error

__all__ = ["ANONYMOUS", "CLUSTER", "Operation", "RequestContext", "Resource", "ResourceType", "authorize"]

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a client on a listener without authentication (neither TLS nor SASL)."""


class Authorizer(Protocol):
    """Decides which principal may do which operation. `quorum.controller.authorizer` implements Kafka's rules."""

    def allows(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str, acls: AclsImage
    ) -> bool:
        """Return True if `principal`, connected from `host`, may do `operation` on that resource."""


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A resource that an operation concerns."""

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
    """The origin of a request. `deadline_ms` is on the monotonic clock; None if the client set no deadline."""

    principal: str = ANONYMOUS
    client_host: str = ""
    listener: str = ""
    forwarded_by: int | None = None
    """The broker that forwarded the request, or None."""
    client_id: str = ""
    """The client's own name for itself; empty if it sent none."""
    knows_throttling: bool = True
    """True if the client understands THROTTLING_QUOTA_EXCEEDED: older request versions of Kafka do not have it."""
    is_token: bool = False
    """True if the client authenticated with a delegation token."""
    deadline_ms: int | None = None
    authorizer: Authorizer | None = None
    """The rules of the node's configuration, which its listeners set on each request. None if there are no rules,
    and for requests of the node itself."""


def authorize(context: RequestContext, operation: Operation, resource: Resource, image: MetadataImage) -> Error:
    """Return NONE if the principal is authorized, otherwise the resource's authorization error.

    Without an authorizer every principal may do everything, as in Kafka.
    """
    authorizer = context.authorizer
    if authorizer is None or authorizer.allows(
        context.principal, context.client_host, operation, resource.resource_type, resource.name, image.acls
    ):
        return Error.NONE
    return _REFUSALS[resource.resource_type]
