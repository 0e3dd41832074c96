"""AlterClientQuotas: a ClientQuotaRecord for each value that changes (KIP-546); requires AlterConfigs on the cluster.

Decides: valid entities (users and client ids, alone or together; addresses alone), and their valid keys and values. An
entity that is named twice is rejected with all its changes. (Kafka's controller executes the first and then reports it
as rejected.) An address is not resolved: a name could mean another address to each broker.
"""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from metadata_log.image import QuotaEntity
from metadata_log.image.access import CLIENT_QUOTAS, IP, IP_QUOTAS, QUOTA_TYPES
from metadata_log.records import ClientQuotaRecord, EntityData
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.quotas import AlterClientQuotas, AlterClientQuotasResponse, AlteredQuota, QuotaAlteration
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_NO_FRACTION: Final = 1e-6


def handle_alter_client_quotas(request: AlterClientQuotas, turn: Turn) -> ControllerResult[AlterClientQuotasResponse]:
    """Return records for the valid entities, and a result for each entity."""
    error = authorize(turn.context, Operation.ALTER_CONFIGS, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    if (too_many := refusal_of_too_many(request, len(request.entries), turn)) is not None:
        return too_many
    times_named = Counter(_key(entry) for entry in request.entries)
    records: list[ClientQuotaRecord] = []
    results: list[AlteredQuota] = []
    for entity, entry in {_key(entry): entry for entry in request.entries}.items():
        error, why = Error.NONE, None
        try:
            if times_named[entity] > 1:
                raise RejectedError(Error.INVALID_REQUEST, "The entity is named twice.")
            records += _changes(entity, entry, turn)
        except RejectedError as refusal:
            error, why = refusal.error, refusal.message
        results.append(AlteredQuota(entity=entry.entity, error=error, error_message=why))
    if (too_many := refusal_of_too_many(request, len(records), turn)) is not None:
        return too_many
    return ControllerResult(
        records=() if request.validate_only else tuple(records),
        response=AlterClientQuotasResponse(entries=tuple(results)),
    )


def _key(entry: QuotaAlteration) -> QuotaEntity:
    """Return the image's key of an entity; of two names for one type the last counts."""
    return QuotaEntity.of(dict(entry.entity))


def _changes(entity: QuotaEntity, entry: QuotaAlteration, turn: Turn) -> list[ClientQuotaRecord]:
    keys = _keys_of(dict(entity.parts))
    current: Mapping[str, float] = turn.image.client_quotas.by_entity.get(entity, {})
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts)
    wanted = dict(entry.ops)
    if len(wanted) != len(entry.ops):
        raise RejectedError(Error.INVALID_REQUEST, "A quota key is named twice.")
    records: list[ClientQuotaRecord] = []
    for key, value in wanted.items():
        if value is not None:
            _check_value(keys, key, value)
        if value != current.get(key):
            records.append(ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None))
    return records


def _keys_of(parts: dict[str, str | None]) -> Mapping[str, int | None]:
    """Return the valid keys of an entity's quotas."""
    why: str | None = None
    unknown = sorted(kind for kind in parts if kind not in QUOTA_TYPES)
    empty = sorted(kind for kind, name in parts.items() if name == "")
    if not parts:
        why = "The entity is empty: name a user, a client id or an address."
    elif unknown:
        why = f"Unknown type of entity: {unknown[0]}"
    elif empty:
        why = f"The name of the {empty[0]} is empty; leave it out for the default."
    elif IP in parts and len(parts) > 1:
        why = "An address cannot be combined with a user or a client id."
    elif parts.get(IP) is not None and not _is_address(parts[IP] or ""):
        why = f"{parts[IP]!r} is not an IP address; names are not looked up."
    if why is not None:
        raise RejectedError(Error.INVALID_REQUEST, why)
    return IP_QUOTAS if IP in parts else CLIENT_QUOTAS


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(keys: Mapping[str, int | None], key: str, value: float) -> None:
    why: str | None = None
    largest = keys.get(key)
    if key not in keys:
        why = f"There is no quota {key} for this entity."
    elif not value > 0:  # also where it is no number
        why = f"{key} must be greater than 0, but is {value}."
    elif largest is not None and value > largest:
        why = f"{key} is at most {largest}, but {value} was given."
    elif largest is not None and math.fmod(value, 1) > _NO_FRACTION:
        why = f"{key} is a whole number, but {value} was given."
    if why is not None:
        raise RejectedError(Error.INVALID_REQUEST, why)
