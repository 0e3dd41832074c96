"""Draws requests about ACLs, client quotas, SCRAM credentials and features.

Not drawn: codes that no ACL has. Kafka closes the connection at an unknown code, and fails at a code that only filters
may have; this project responds with INVALID_REQUEST. Not drawn either: limits on changes of topics. Kafka's controllers
enforce `controller_mutation_rate`; this project's only store it.
"""

from __future__ import annotations

import random
from typing import Any, Final

from tests.support.differential.asks import seconds
from tests.support.differential.world import World

_PRINCIPALS: Final = ("User:alice", "User:bob", "User:*", "alice", ":", "")
_USERS: Final = ("alice", "bob", "")


def create_acls(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw ACLs, most of them valid."""
    return {"creations": tuple(_acl(chance) for _ in range(chance.choice((0, 1, 1, 2, 3))))}


def _acl(chance: random.Random) -> dict[str, Any]:
    drawn = {
        "resource_type": chance.choice((2, 2, 3, 5, 6, 7)),
        "resource_name": chance.choice(("orders", "o", "*")),
        "resource_pattern_type": chance.choice((3, 3, 4)),
        "principal": chance.choice(_PRINCIPALS[:3]),
        "host": chance.choice(("*", "10.0.0.1")),
        "operation": chance.choice((2, 3, 4, 5, 6, 7, 8, 10, 11)),
        "permission_type": chance.choice((2, 3)),
    }
    if chance.random() < 0.25:
        drawn |= chance.choice((
            {"resource_type": 4, "resource_name": "kafka-cluster", "resource_pattern_type": 3},
            {"resource_type": 4, "resource_name": "other"}, {"resource_name": ""},
            {"principal": chance.choice(_PRINCIPALS)}, {"host": ""},
        ))  # fmt: skip
    return drawn


def delete_acls(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw filters that match some, many, or no ACLs."""
    return {"filters": tuple(_filter(chance) for _ in range(chance.choice((0, 1, 1, 2))))}


def describe_acls(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw one filter."""
    return _filter(chance)


def _filter(chance: random.Random) -> dict[str, Any]:
    return {
        "resource_type_filter": chance.choice((1, 1, 2, 2, 3, 4)),
        "resource_name_filter": chance.choice((None, None, "orders", "o", "*", "kafka-cluster")),
        "pattern_type_filter": chance.choice((1, 1, 2, 3, 4)),
        "principal_filter": chance.choice((None, None, "User:alice", "User:*")),
        "host_filter": chance.choice((None, None, "*", "10.0.0.1")),
        "operation": chance.choice((1, 1, 3, 4, 8)),
        "permission_type": chance.choice((1, 1, 2, 3)),
    }


def alter_client_quotas(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw quotas of users, clients and addresses, by name or for the default."""
    entries = tuple(_quota(chance) for _ in range(chance.choice((0, 1, 1, 2))))
    return {"entries": entries, "validate_only": chance.random() < 0.15}


def _quota(chance: random.Random) -> dict[str, Any]:
    kinds = chance.choice((("user",), ("client-id",), ("user", "client-id"), ("ip",), ("ip", "user"), ("group",), ()))
    names = {"user": (*_USERS, None), "client-id": ("app", None), "ip": ("10.0.0.1", "not an address", None)}
    entity = tuple({"entity_type": kind, "entity_name": chance.choice(names.get(kind, ("x",)))} for kind in kinds)
    keys = ("connection_creation_rate",) if kinds == ("ip",) else (
        "producer_byte_rate", "consumer_byte_rate", "request_percentage",
    )  # fmt: skip
    drawn = {chance.choice(keys) if chance.random() < 0.85 else "no_such_rate" for _ in range(chance.choice((1, 1, 2)))}
    ops = tuple(
        {"key": key, "value": chance.choice((1.0, 1.5, 1e6, 0.0, -1.0)), "remove": chance.random() < 0.25}
        for key in sorted(drawn)
    )
    return {"entity": entity, "ops": ops}


def alter_user_scram_credentials(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw upserts and deletions, sometimes both for one user."""
    deletions = tuple(
        {"name": chance.choice(_USERS), "mechanism": chance.choice((1, 2, 2, 0, 9))}
        for _ in range(chance.choice((0, 0, 1, 2)))
    )
    upsertions = tuple(_credential(chance) for _ in range(chance.choice((0, 1, 1, 2))))
    return {"deletions": deletions, "upsertions": upsertions}


def _credential(chance: random.Random) -> dict[str, Any]:
    mechanism = chance.choice((1, 1, 2, 2, 0, 9))
    return {
        "name": chance.choice(_USERS),
        "mechanism": mechanism,
        "iterations": chance.choice((4096, 8192, 8192, 16384, 4095, 16385, 0)),
        "salt": b"salt",
        "salted_password": bytes(64 if mechanism == 2 else 32),
    }


def unregister_broker(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw an unknown broker: the known ones are needed."""
    return {"broker_id": chance.choice((99, -1))}


def update_features(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw updates that are only validated; the levels stay."""
    names = ("metadata.version", "group.version", "transaction.version", "kraft.version", "no.such", "")
    updates = {
        chance.choice(names): chance.choice((0, 1, 2, 7, 29, 30, 31, -1)) for _ in range(chance.choice((0, 1, 2)))
    }
    features = tuple(
        {"feature": name, "max_version_level": level, "upgrade_type": chance.choice((1, 1, 2, 3)),
         "allow_downgrade": False}
        for name, level in updates.items()
    )  # fmt: skip
    return {"timeout": seconds(30), "feature_updates": features, "validate_only": True}
