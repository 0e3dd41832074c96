"""DescribeClientQuotas: the quotas that match a filter (KIP-546); requires DescribeConfigs on the cluster.

Valid filters are Kafka's. Brokers answer this request from their own image; here it serves clients of a controller.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import QuotaEntity
from metadata_log.image.access import IP, QUOTA_TYPES
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.quotas import (
    DescribeClientQuotas,
    DescribeClientQuotasResponse,
    DescribedQuota,
    QuotaComponent,
    QuotaMatch,
)
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_MATCHES: Final = frozenset(QuotaMatch)


def handle_describe_client_quotas(
    request: DescribeClientQuotas, turn: Turn
) -> ControllerResult[DescribeClientQuotasResponse]:
    """Return the response from the given image, without records."""
    error = authorize(turn.context, Operation.DESCRIBE_CONFIGS, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    try:
        wanted = _wanted(request.components)
    except RejectedError as refusal:
        return ControllerResult(response=request.rejected(refusal.error, refusal.message))
    found = [
        DescribedQuota(entity=entity.parts, values=tuple(sorted(quotas.items())))
        for entity, quotas in turn.image.client_quotas.by_entity.items()
        if _is_meant(entity, wanted, is_strict=request.strict)
    ]
    found.sort(key=lambda quota: [(kind, name is not None, name or "") for kind, name in quota.entity])
    return ControllerResult(response=DescribeClientQuotasResponse(entries=tuple(found)))


def _wanted(components: tuple[QuotaComponent, ...]) -> dict[str, QuotaComponent]:
    wanted: dict[str, QuotaComponent] = {}
    for each in components:
        error, why = Error.INVALID_REQUEST, None
        if not each.entity_type:
            why = "A type of entity is empty."
        elif each.entity_type in wanted:
            why = f"The filter names {each.entity_type} twice."
        elif each.entity_type not in QUOTA_TYPES:
            error, why = Error.UNSUPPORTED_VERSION, f"There is no type of entity {each.entity_type}."
        elif each.match_type not in _MATCHES:
            why = f"There is no type of match {each.match_type}."
        elif (each.match_type == QuotaMatch.EXACT) != (each.match is not None):
            why = "A name goes with an exact match, and with no other."
        if why is not None:
            raise RejectedError(error, why)
        wanted[each.entity_type] = each
    if IP in wanted and len(wanted) > 1:
        raise RejectedError(Error.INVALID_REQUEST, "An address cannot be combined with a user or a client id.")
    return wanted


def _is_meant(entity: QuotaEntity, wanted: dict[str, QuotaComponent], *, is_strict: bool) -> bool:
    parts = dict(entity.parts)
    if is_strict and len(parts) != len(wanted):
        return False
    return all(
        kind in parts and (component.match_type == QuotaMatch.SPECIFIED or parts[kind] == component.match)
        for kind, component in wanted.items()
    )
