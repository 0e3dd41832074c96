"""RegisterController: records a controller's listeners and features, once for each start (KIP-919)."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.image import listener_fault
from metadata_log.records import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from metadata_log.records.levels import CONTROLLER_REGISTRATION_LEVEL
from metadata_log.voters import LARGEST_PORT
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.controllers import RegisterController, RegisterControllerResponse
from quorum.api.error_codes import Error
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_register_controller(request: RegisterController, turn: Turn) -> ControllerResult[RegisterControllerResponse]:
    """Return the registration's record, or none if the image has the same one."""
    error = authorize(turn.context, Operation.CLUSTER_ACTION, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    if level_of(turn.image) < CONTROLLER_REGISTRATION_LEVEL:
        why = "The current metadata.version is too old to support controller registrations: 3.7-IV0 is needed."
        return ControllerResult(response=request.rejected(Error.UNSUPPORTED_VERSION, why))
    nonsense = _nonsense(request)
    if nonsense is not None:
        return ControllerResult(response=request.rejected(Error.INVALID_REQUEST, nonsense))
    fault = next(filter(None, map(listener_fault, request.listeners)), None)
    if fault is not None:
        return ControllerResult(response=request.rejected(Error.INVALID_REGISTRATION, fault))
    if _is_known(request, turn):
        return ControllerResult(response=RegisterControllerResponse())
    record = RegisterControllerRecord(
        controller_id=NodeId(request.controller_id),
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=tuple(
            ControllerEndpoint(
                name=listener.name,
                host=listener.host,
                port=listener.port,
                security_protocol=listener.security_protocol,
            )
            for listener in request.listeners
        ),
        features=tuple(
            ControllerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ),
    )
    return ControllerResult(records=(record,), response=RegisterControllerResponse())


def _nonsense(request: RegisterController) -> str | None:
    """Return why a registration is nonsensical, or None: it cannot be undone, and an empty range bars every upgrade."""
    if request.controller_id < 0:
        return f"No controller has the id {request.controller_id}."
    for listener in request.listeners:
        if not listener.host or not 0 < listener.port <= LARGEST_PORT:
            return f"No client can connect to listener {listener.name!r} at {listener.host!r}, port {listener.port}."
    for feature in request.features:
        least, most = feature.min_supported_version, feature.max_supported_version
        if not 0 <= least <= most:
            return f"No levels of {feature.name!r} are from {least} to {most}."
    return None


def _is_known(request: RegisterController, turn: Turn) -> bool:
    known = turn.image.cluster.controllers.get(NodeId(request.controller_id))
    if known is None or known.incarnation_id != request.incarnation_id:
        return False
    listeners = {(each.name, each.host, each.port, each.security_protocol) for each in request.listeners}
    features = {(each.name, each.min_supported_version, each.max_supported_version) for each in request.features}
    return listeners == {
        (each.name, each.host, each.port, each.security_protocol) for each in known.listeners
    } and features == {(each.name, each.min_version, each.max_version) for each in known.supported_features}
