"""UnregisterController removes the registration of a controller that is gone for good (KIP-1312).

As in Kafka, nothing protects a voter or a running controller: a running one registers again at once. A voter set and
its votes do not depend on registrations.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.records import UnregisterControllerRecord
from metadata_log.records.levels import UNREGISTER_CONTROLLER_LEVEL
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.controllers import UnregisterController, UnregisterControllerResponse
from quorum.api.error_codes import Error
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_unregister_controller(
    request: UnregisterController, turn: Turn
) -> ControllerResult[UnregisterControllerResponse]:
    """Return one UnregisterControllerRecord, or the error of the first check that fails.

    The order of the checks is Kafka's. The active controller keeps its registration: it would only write it again.
    """
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    controller_id = NodeId(request.controller_id)
    if controller_id == turn.config.node_id:
        why = (
            f"Controller {controller_id} is active and cannot unregister itself: it would register again. "
            "Stop it first."
        )
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, why))
    if level_of(turn.image) < UNREGISTER_CONTROLLER_LEVEL:
        why = "The metadata.version is too old to unregister controllers: 4.4-IV2 is needed."
        return ControllerResult(response=request.rejected(Error.UNSUPPORTED_VERSION, why))
    if controller_id not in turn.image.cluster.controllers:
        why = f"Controller {controller_id} is not registered."
        return ControllerResult(response=request.rejected(Error.CONTROLLER_ID_NOT_REGISTERED, why))
    record = UnregisterControllerRecord(controller_id=controller_id)
    return ControllerResult(records=(record,), response=UnregisterControllerResponse())
