"""AlterConfigs: the named configs replace all configs of a resource (KIP-133).

It is deprecated for IncrementalAlterConfigs, but clients still send it. Decides only that all other configs are
removed; `config_changes` validates the rest. The last value of a repeated config counts, and null removes one.
"""

from __future__ import annotations

from metadata_log.records import MetadataRecord
from quorum.api.configs import AlterConfigs, AlterConfigsResponse, ReplacedResource
from quorum.controller.handlers.config_changes import change_each, check_allowed, checked_records
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_alter_configs(request: AlterConfigs, turn: Turn) -> ControllerResult[AlterConfigsResponse]:
    """Return ConfigRecords for the valid resources, and a result for each resource."""

    def changes(resource: ReplacedResource) -> list[MetadataRecord]:
        check_allowed(resource, turn)
        return [*checked_records(resource, dict(resource.configs), turn, is_all=True)]

    return change_each(
        request, request.resources, changes, AlterConfigsResponse, turn, validate_only=request.validate_only
    )
