"""What an image holds about clients: ACLs, quotas, SCRAM credentials, delegation tokens, producer ids.

Decides: their shape in memory. Must not know: which record changes what (`access_builder` does), nor how an ACL is
judged. Numbers of mechanisms, operations and so on are Kafka's, kept as they stand in the record.
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
    """A user's credential is one per mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    name: str
    mechanism: int


class ScramCredential(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a server keeps of a password (RFC 5802). Its text form hides it."""

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
"""What users and client ids, alone or together, may have a quota of: the largest whole number that each may be, or None
where it may be a fraction (Kafka's QuotaConfig)."""
IP_QUOTAS: Final[Mapping[str, int | None]] = {"connection_creation_rate": (1 << 31) - 1}
"""Of an address, which stands alone."""


class QuotaEntity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whom a quota is for: pairs of type (one of `QUOTA_TYPES`) and name (None: the default), sorted by type."""

    parts: tuple[tuple[str, str | None], ...]

    @staticmethod
    def of(names: Mapping[str, str | None]) -> QuotaEntity:
        """That of these names by type."""
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
    """Quota values by key by entity; an entity without any has no entry."""

    by_entity: Map[QuotaEntity, Map[str, float]] = Map()


PRODUCER_ID_BLOCK: Final = 1000
"""So many producer ids a broker is given at a time, by controllers of all versions (KIP-730)."""


class ProducerIdsImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first producer id that no block has been handed out of yet; -1 before the first block."""

    next_producer_id: int = -1
