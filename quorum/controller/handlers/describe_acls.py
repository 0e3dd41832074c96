"""DescribeAcls: the access control entries that match a filter; requires Describe on the cluster."""

from __future__ import annotations

from quorum.api.acls import DescribeAcls, DescribeAclsResponse
from quorum.api.context import Operation
from quorum.api.error_codes import Error
from quorum.controller.acl_filters import matching, why_unknown
from quorum.controller.handlers.create_acls import why_no_acls
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_describe_acls(request: DescribeAcls, turn: Turn) -> ControllerResult[DescribeAclsResponse]:
    """Return the response from the given image, without records."""
    error, why = why_no_acls(turn.context, Operation.DESCRIBE, turn)
    if error is Error.NONE and (why := why_unknown(request.asked)) is not None:
        error = Error.INVALID_REQUEST
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, why))
    entries = tuple(entry for entry, _ in matching(request.asked, turn.image.acls))
    return ControllerResult(response=DescribeAclsResponse(entries=entries))
