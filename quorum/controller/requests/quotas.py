"""AlterClientQuotas and its answer (KIP-546)."""

from __future__ import annotations

from typing import Final

import msgspec

from quorum.errors import Error

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
MUTATION_RATE: Final = "controller_mutation_rate"

QuotaParts = tuple[tuple[str, str | None], ...]
"""Whom a quota is for, in any order: type (`user`, `client-id`, `ip`) and name; None: the default of that type."""


class QuotaAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to become of one entity's quotas: a value by key; None removes it."""

    entity: QuotaParts
    ops: tuple[tuple[str, float | None], ...]


class AlterClientQuotas(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Change quotas. One refused entity leaves the others be; one refused key leaves its entity as it is."""

    entries: tuple[QuotaAlteration, ...]
    validate_only: bool = False

    def refused(self, error: Error, message: str | None = None) -> AlterClientQuotasResponse:
        """The answer that refuses each entity for the same reason."""
        entries = tuple(AlteredQuota(entity=each.entity, error=error, error_message=message) for each in self.entries)
        return AlterClientQuotasResponse(entries=entries, error=error, error_message=message)


class AlteredQuota(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one entity."""

    entity: QuotaParts
    error: Error = Error.NONE
    error_message: str | None = None


class AlterClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """In the order of the request; an entity that was named twice is answered once."""

    entries: tuple[AlteredQuota, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
