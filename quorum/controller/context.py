"""Who asks, and whether they may: the context of a request and the one pure decision on it.

Called once for each request and resource, between door and controller. Knows nothing of TLS, SASL or of how a
principal was found out.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from metadata_log.image import MetadataImage
from quorum.errors import Error

ANONYMOUS: Final = "User:ANONYMOUS"
CLUSTER_RESOURCE_NAME: Final = "kafka-cluster"


class Operation(enum.Enum):
    """What is to be done, in the words of Kafka's access control."""

    ALTER = "Alter"
    ALTER_CONFIGS = "AlterConfigs"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    CLUSTER_ACTION = "ClusterAction"


class ResourceType(enum.Enum):
    """What it is to be done to."""

    CLUSTER = "Cluster"
    TOPIC = "Topic"


class Resource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that may be acted upon."""

    resource_type: ResourceType
    name: str


CLUSTER: Final = Resource(resource_type=ResourceType.CLUSTER, name=CLUSTER_RESOURCE_NAME)


class RequestContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a request came from. `deadline_ms` is on the monotonic clock; None when the asker named none."""

    principal: str = ANONYMOUS
    client_host: str = ""
    listener: str = ""
    forwarded_by: int | None = None
    """The broker that passed it on, if any."""
    deadline_ms: int | None = None


def authorize(context: RequestContext, operation: Operation, resource: Resource, image: MetadataImage) -> Error:
    """NONE when the principal may, else the resource's authorization error.

    As long as no listener can tell who somebody is (no TLS, no SASL), everybody is ANONYMOUS, and ANONYMOUS may do all.
    A named principal may do nothing: no rule in the image could have let it in.
    """
    if context.principal == ANONYMOUS:
        return Error.NONE
    if resource.resource_type is ResourceType.TOPIC:
        return Error.TOPIC_AUTHORIZATION_FAILED
    return Error.CLUSTER_AUTHORIZATION_FAILED
