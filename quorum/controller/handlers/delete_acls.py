"""DeleteAcls: removes each entry that a filter matches; requires Alter on the cluster."""

from __future__ import annotations

from typing import Final

from metadata_log.ids import Uuid
from metadata_log.records import RemoveAccessControlEntryRecord
from quorum.api.acls import AclDeletionResult, DeleteAcls, DeleteAclsResponse
from quorum.api.context import Operation
from quorum.api.error_codes import Error
from quorum.controller.acl_filters import ManyFilters, why_unknown
from quorum.controller.handlers.create_acls import why_no_acls
from quorum.controller.handlers.too_large import TOO_LARGE
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_MOST_LOOKS: Final = 1_000_000
"""The most comparisons of an entry with a filter: so many take half a second."""


def handle_delete_acls(request: DeleteAcls, turn: Turn) -> ControllerResult[DeleteAclsResponse]:
    """Return a record for each matching entry, and the entries of each filter.

    An entry that matches several filters is in the result of each, and counts for each.
    """
    error, why = why_no_acls(turn.context, Operation.ALTER, turn)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, why))
    entries, most = ManyFilters(turn.image.acls), turn.config.max_records_per_batch
    removed: dict[Uuid, None] = {}
    results: list[AclDeletionResult] = []
    told = 0
    for asked in request.filters:
        why = why_unknown(asked)
        if why is not None:
            results.append(AclDeletionResult(error=Error.INVALID_REQUEST, error_message=why))
            continue
        found = entries.matching(asked)
        told += len(found)
        if told > most:
            why = f"Cannot remove more than {most} acls in a single delete operation."
            return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
        if entries.looks > _MOST_LOOKS:
            return ControllerResult(response=request.rejected(Error.POLICY_VIOLATION, TOO_LARGE))
        removed |= dict.fromkeys(acl_id for _, acl_id in found)
        results.append(AclDeletionResult(matching=tuple(entry for entry, _ in found)))
    records = tuple(RemoveAccessControlEntryRecord(id=acl_id) for acl_id in removed)
    return ControllerResult(records=records, response=DeleteAclsResponse(results=tuple(results)))
