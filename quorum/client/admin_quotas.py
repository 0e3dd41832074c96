"""Client quotas (KIP-546), in the terms of Kafka's Admin.

Decides: how a quota entity is written. Must not know: which quotas exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metadata_log.image import QuotaEntity
from metadata_log.offsets import Offset
from quorum.api.quotas import (
    AlterClientQuotas,
    AlteredQuota,
    DescribeClientQuotas,
    QuotaAlteration,
    QuotaComponent,
)
from quorum.client.admin_results import Results, outcomes_of
from quorum.client.client import Client


class AlterClientQuotasResult(Results[QuotaEntity, AlteredQuota]):
    """The outcome for each entity."""


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    """Return the entity that a quota applies to, from names by type (`user`, `client-id`, `ip`).

    The name None means the default entity of that type.
    """
    return QuotaEntity.of(parts)


async def alter_client_quotas(
    client: Client,
    changes: Mapping[QuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool,
    timeout_s: float | None,
) -> AlterClientQuotasResult:
    """See `Admin.alter_client_quotas`."""
    request = AlterClientQuotas(
        entries=tuple(QuotaAlteration(entity=entity.parts, ops=tuple(ops.items())) for entity, ops in changes.items()),
        validate_only=validate_only,
    )
    response = await client.ask(request, timeout_s=timeout_s)
    told = zip(changes, response.entries, strict=True)
    return AlterClientQuotasResult(outcomes_of(told, lambda entity: f"quotas of {entity.parts}"))


async def describe_client_quotas(
    client: Client,
    components: Iterable[QuotaComponent],
    *,
    strict: bool,
    at_least_offset: Offset | None,
    timeout_s: float | None,
) -> dict[QuotaEntity, dict[str, float]]:
    """See `Admin.describe_client_quotas`."""
    request = DescribeClientQuotas(components=tuple(components), strict=strict)
    response = await client.ask(request, at_least_offset=at_least_offset, timeout_s=timeout_s)
    return {QuotaEntity(parts=each.entity): dict(each.values) for each in response.entries}
