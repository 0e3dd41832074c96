"""The image's data about clients: ACLs, quotas, SCRAM credentials, delegation tokens, producer ids.

Decides: their form in memory. Must not know: the effect of records (`access_builder`), or authorization. Numbers of
mechanisms, operations and so on are Kafka's, as in the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from metadata_log.ids import Uuid
from metadata_log.image.maps import Map


class AclEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False, order=True):
    """One access control entry (AccessControlEntryRecord without its id)."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class ScramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False, order=True):
    """The key of a credential: a user has one for each mechanism (1 SCRAM-SHA-256, 2 SCRAM-SHA-512)."""

    name: str
    mechanism: int


class ScramCredential(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The data that a server stores for a password (RFC 5802). Its text form hides them."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential(hidden)"


class DelegationToken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A delegation token without its secret, which is derived. Principals are `Type:name`; times are ms since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
QUOTA_TYPES: Final = frozenset({USER, CLIENT_ID, IP})

MUTATION_RATE: Final = "controller_mutation_rate"
CLIENT_QUOTAS: Final[Mapping[str, int | None]] = {
    "producer_byte_rate": (1 << 63) - 1,
    "consumer_byte_rate": (1 << 63) - 1,
    "request_percentage": None,
    MUTATION_RATE: None,
}
"""The quotas of users and client ids: key → largest whole number, or None if fractions are valid (QuotaConfig)."""
IP_QUOTAS: Final[Mapping[str, int | None]] = {"connection_creation_rate": (1 << 31) - 1}
"""The quotas of an address, which no other type may accompany."""


class QuotaEntity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The entity of a quota: pairs of type (one of `QUOTA_TYPES`) and name (None: the default), sorted by type."""

    parts: tuple[tuple[str, str | None], ...]

    @staticmethod
    def of(names: Mapping[str, str | None]) -> QuotaEntity:
        """Return the entity with these names by type."""
        return QuotaEntity(parts=tuple((kind, names[kind]) for kind in sorted(names)))


class AclsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All access control entries, by their ids."""

    by_id: Map[Uuid, AclEntry] = Map()


class ScramImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All SCRAM credentials."""

    credentials: Map[ScramUser, ScramCredential] = Map()


class DelegationTokensImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All delegation tokens, by token id."""

    by_id: Map[str, DelegationToken] = Map()


class ClientQuotasImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entity → key → quota value; an entity without quotas has no entry."""

    by_entity: Map[QuotaEntity, Map[str, float]] = Map()


PRODUCER_ID_BLOCK: Final = 1000
"""The size of a block of producer ids, in all versions of the controller (KIP-730)."""


class ProducerIdsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first producer id after all allocated blocks; -1 before the first block."""

    next_producer_id: int = -1
