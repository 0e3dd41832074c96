"""AlterClientQuotas and DescribeClientQuotas with their responses (KIP-546)."""

from __future__ import annotations

import enum

import msgspec

from quorum.api.error_codes import Error
from quorum.api.request import Read, Request

QuotaParts = tuple[tuple[str, str | None], ...]
"""The entity of a quota, in any order: type (`user`, `client-id`, `ip`) and name. A name of None is the default of
that type."""


class QuotaAlteration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The changes of one entity's quotas: a value by key; None removes the key."""

    entity: QuotaParts
    ops: tuple[tuple[str, float | None], ...]


class AlterClientQuotas(Request["AlterClientQuotasResponse"], frozen=True, kw_only=True, gc=False):
    """Change quotas. A rejected entity does not affect the others; a rejected key rejects its whole entity."""

    entries: tuple[QuotaAlteration, ...]
    validate_only: bool = False

    def rejected(self, error: Error, message: str | None = None) -> AlterClientQuotasResponse:
        """Return the response that rejects each entity for the same reason."""
        entries = tuple(AlteredQuota(entity=each.entity, error=error, error_message=message) for each in self.entries)
        return AlterClientQuotasResponse(entries=entries, error=error, error_message=message)


class AlteredQuota(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of one entity."""

    entity: QuotaParts
    error: Error = Error.NONE
    error_message: str | None = None


class AlterClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request; an entity that was named twice has one result."""

    entries: tuple[AlteredQuota, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None


class QuotaMatch(enum.IntEnum):
    """The way in which `match` applies to an entity's part of that type, with Kafka's numbers."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


class QuotaComponent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part that a matching entity has. `match_type` is a plain int, because a client may send an unknown one."""

    entity_type: str
    match_type: int
    match: str | None = None

    @staticmethod
    def of_entity(entity_type: str, name: str) -> QuotaComponent:
        """Return a component that matches this name."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.EXACT, match=name)

    @staticmethod
    def of_default_entity(entity_type: str) -> QuotaComponent:
        """Return a component that matches the default of that type."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.DEFAULT)

    @staticmethod
    def of_entity_type(entity_type: str) -> QuotaComponent:
        """Return a component that matches every name of that type, and its default."""
        return QuotaComponent(entity_type=entity_type, match_type=QuotaMatch.SPECIFIED)


class DescribeClientQuotas(Read["DescribeClientQuotasResponse"], frozen=True, kw_only=True, gc=False):
    """List the quotas of entities that have all these parts. With `strict`, they have no other part."""

    components: tuple[QuotaComponent, ...] = ()
    strict: bool = False

    def rejected(self, error: Error, message: str | None = None) -> DescribeClientQuotasResponse:
        """Return the response that rejects the whole request."""
        return DescribeClientQuotasResponse(error=error, error_message=message)


class DescribedQuota(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quotas of one entity, sorted by key. The entity's parts are sorted by type."""

    entity: QuotaParts
    values: tuple[tuple[str, float], ...]


class DescribeClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entries sorted by entity."""

    entries: tuple[DescribedQuota, ...] = ()
    error: Error = Error.NONE
    error_message: str | None = None
