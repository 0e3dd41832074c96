"""AlterConfigs: what is named becomes the whole of a resource's configs (KIP-133).

It is deprecated for IncrementalAlterConfigs, and clients still send it. Decides only that whatever is not named is
removed; what may be changed at all is `config_changes`' business. A config that is named twice has its last value, and
null removes one.
"""

from __future__ import annotations

from metadata_log.records import MetadataRecord
from quorum.api.configs import AlterConfigs, AlterConfigsResponse, ReplacedResource
from quorum.controller.handlers.config_changes import change_each, check_allowed, checked_records
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_alter_configs(request: AlterConfigs, turn: Turn) -> ControllerResult[AlterConfigsResponse]:
    """ConfigRecords for the resources that can change, and what became of each."""

    def changes(resource: ReplacedResource) -> list[MetadataRecord]:
        check_allowed(resource, turn)
        return [*checked_records(resource, dict(resource.configs), turn, is_all=True)]

    return change_each(
        request, request.resources, changes, AlterConfigsResponse, turn, validate_only=request.validate_only
    )
