"""AlterClientQuotas and DescribeClientQuotas with their answers (KIP-546)."""

from __future__ import annotations

import enum

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request

QuotaParts = tuple[tuple[str, str | None], ...]
"""Whom a quota is for, in any order: type (`user`, `client-id`, `ip`) and name; None: the default of that type."""


class QuotaAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to become of one entity's quotas: a value by key; None removes it."""

    entity: QuotaParts
    ops: tuple[tuple[str, float | None], ...]


class AlterClientQuotas(Request["AlterClientQuotasResponse"], frozen=True, kw_only=True, gc=False):
    """Change quotas. One refused entity leaves the others be; one refused key leaves its entity as it is."""

    entries: tuple[QuotaAlteration, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> AlterClientQuotasResponse:
        """Return the response that rejects each entity for the same reason."""
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


class QuotaMatch(enum.IntEnum):
    """What the part of that type has to be, with Kafka's numbers."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


class QuotaComponent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part that an entity has to have; `match_type` is a plain number, since anybody may send any."""

    entity_type: str
    match_type: int
    match: str | None = None

    @staticmethod
    def of_entity(entity_type: str, name: str) -> QuotaComponent:
        """The part of that name."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.EXACT, match=name)

    @staticmethod
    def of_default_entity(entity_type: str) -> QuotaComponent:
        """The default of that type."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.DEFAULT)

    @staticmethod
    def of_entity_type(entity_type: str) -> QuotaComponent:
        """Any name of that type, and its default."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.SPECIFIED)


class DescribeClientQuotas(Read["DescribeClientQuotasResponse"], frozen=True, kw_only=True, gc=False):
    """List the quotas of entities that have all the parts; with `strict`, and no other."""

    components: tuple[QuotaComponent, ...] = ()
    strict: bool = False

    def rejected(self, error: Error, message: str | None = None) -> DescribeClientQuotasResponse:
        """Return the response that rejects the whole request."""
        return DescribeClientQuotasResponse(error=error, error_message=message)


class DescribedQuota(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quotas of one entity, whose parts are sorted by type; by key."""

    entity: QuotaParts
    values: tuple[tuple[str, float], ...]


class DescribeClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sorted by entity."""

    entries: tuple[DescribedQuota, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
