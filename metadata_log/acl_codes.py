"""The numbers of access control in records and requests: operations, resource types, pattern types, permissions.

Source: Kafka's AclOperation, ResourceType, PatternType and AclPermissionType.
"""

from __future__ import annotations

import enum
from typing import Final

UNKNOWN: Final = 0
ANY: Final = 1
"""In filters only; of all four kinds."""
MATCH: Final = 2
"""A pattern type, in filters only: every pattern that applies to the name."""
LITERAL: Final = 3
PREFIXED: Final = 4
DENY: Final = 2
ALLOW: Final = 3
WILDCARD: Final = "*"
CLUSTER_RESOURCE_NAME: Final = "kafka-cluster"


class Operation(enum.IntEnum):
    """An operation that an entry allows or denies."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @property
    def word(self) -> str:
        """The name in Kafka's tools, such as `ClusterAction`."""
        return self.name.title().replace("_", "")


class ResourceType(enum.IntEnum):
    """A type of resource. Resources with configs have other numbers (`metadata_log.image`)."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7
