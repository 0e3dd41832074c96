"""DeleteAcls: a RemoveAccessControlEntryRecord for each entry that one of the filters means; asks for Alter on the
cluster."""

from __future__ import annotations

from metadata_log.ids import Uuid
from metadata_log.records import RemoveAccessControlEntryRecord
from quorum.controller.acl_filters import matching, why_unknown
from quorum.controller.context import Operation
from quorum.controller.handlers.create_acls import why_no_acls
from quorum.controller.requests import AclDeletionResult, DeleteAcls, DeleteAclsResponse
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn
from quorum.errors import Error


def handle_delete_acls(request: DeleteAcls, turn: Turn) -> ControllerResult:
    """Records for all entries meant, each once, and the entries that each filter means."""
    error, why = why_no_acls(turn.context, Operation.ALTER, turn)
    if error is not Error.NONE:
        return ControllerResult(response=request.refused(error, why))
    removed: dict[Uuid, None] = {}
    results: list[AclDeletionResult] = []
    for asked in request.filters:
        why = why_unknown(asked)
        if why is not None:
            results.append(AclDeletionResult(error=Error.INVALID_REQUEST, error_message=why))
            continue
        found = matching(asked, turn.image.acls)
        removed |= dict.fromkeys(acl_id for _, acl_id in found)
        results.append(AclDeletionResult(matching=tuple(entry for entry, _ in found)))
    most = turn.config.max_records_per_batch
    if len(removed) > most:
        why = f"Cannot remove more than {most} acls in a single delete operation."
        return ControllerResult(response=request.refused(Error.INVALID_REQUEST, why))
    records = tuple(RemoveAccessControlEntryRecord(id=acl_id) for acl_id in removed)
    return ControllerResult(records=records, response=DeleteAclsResponse(results=tuple(results)))
