"""CreateAcls: an AccessControlEntryRecord for each valid, new entry (KIP-801).

Requires Alter on the cluster. Without an authorizer, entries are rejected with SECURITY_DISABLED: a user must not
believe that they have an effect.
"""

from __future__ import annotations

from metadata_log.acl_codes import ALLOW, CLUSTER_RESOURCE_NAME, DENY, LITERAL, PREFIXED, ResourceType
from metadata_log.acl_hosts import is_range, why_no_host
from metadata_log.ids import Uuid
from metadata_log.image import AclEntry, MetadataImage
from metadata_log.records import AccessControlEntryRecord, metadata_version
from metadata_log.records.levels import ACL_RANGES_LEVEL
from quorum.api.acls import AclCreationResult, CreateAcls, CreateAclsResponse
from quorum.api.context import CLUSTER, Operation, RequestContext, authorize
from quorum.api.error_codes import Error
from quorum.controller.acl_filters import OPERATIONS, RESOURCE_TYPES
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_create_acls(request: CreateAcls, turn: Turn) -> ControllerResult[CreateAclsResponse]:
    """Return records for the new entries, and a result for each entry."""
    error, why = why_no_acls(turn.context, Operation.ALTER, turn)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, why))
    if (too_many := refusal_of_too_many(request, len(request.creations), turn)) is not None:
        return too_many
    known = set(turn.image.acls.by_id.values())
    taken: set[Uuid] = set()
    records: list[AccessControlEntryRecord] = []
    results: list[AclCreationResult] = []
    for entry in request.creations:
        refusal = _refusal(entry, turn.image)
        if refusal is not None:
            results.append(refusal)
            continue
        results.append(AclCreationResult())
        if entry not in known:
            known.add(entry)
            records.append(_record(turn.new_acl_id(taken), entry))
    return ControllerResult(records=tuple(records), response=CreateAclsResponse(results=tuple(results)))


def why_no_acls(context: RequestContext, operation: Operation, turn: Turn) -> tuple[Error, str | None]:
    """Return why a request about entries is rejected as a whole, or NONE."""
    if context.authorizer is None:
        return Error.SECURITY_DISABLED, "No authorizer is configured (authorizer.class.name)."
    error = authorize(context, operation, CLUSTER, turn.image)
    return error, None if error is Error.NONE else "Authorization failed."


def _refusal(entry: AclEntry, image: MetadataImage) -> AclCreationResult | None:
    """Return the result of an entry that is not added, or None."""
    error, why = Error.INVALID_REQUEST, _why_invalid(entry)
    if why is None and is_range(entry.host) and level_of(image) < ACL_RANGES_LEVEL:
        error = Error.UNSUPPORTED_VERSION
        why = f"CIDR-based ACL host patterns require metadata version {metadata_version(ACL_RANGES_LEVEL)} or higher."
    elif why is None:
        why = why_no_host(entry.host)
    return None if why is None else AclCreationResult(error=error, error_message=why)


def _why_invalid(entry: AclEntry) -> str | None:
    numbers = (
        ("resource type", entry.resource_type, RESOURCE_TYPES),
        ("pattern type", entry.pattern_type, (LITERAL, PREFIXED)),
        ("operation", entry.operation, OPERATIONS),
        ("permission type", entry.permission_type, (DENY, ALLOW)),
    )
    for name, number, allowed in numbers:
        if number not in allowed:
            return f"Invalid {name} {number}"
    if not entry.resource_name:
        return "The resource has no name"
    if entry.resource_type == ResourceType.CLUSTER and entry.resource_name != CLUSTER_RESOURCE_NAME:
        return f"The only cluster that can be named is {CLUSTER_RESOURCE_NAME}"
    if ":" not in entry.principal:
        return f"{entry.principal!r} is no principal: there is no colon between its type and its name"
    return None


def _record(acl_id: Uuid, entry: AclEntry) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )
