"""The APIs of access control entries: CreateAcls, DeleteAcls, DescribeAcls.

Sources: KIP-140, KIP-290 (patterns).
"""

from __future__ import annotations

from typing import Any

from metadata_log.image import AclEntry
from quorum.api.acls import (
    AclDeletionResult,
    AclFilter,
    CreateAcls,
    CreateAclsResponse,
    DeleteAcls,
    DeleteAclsResponse,
    DescribeAcls,
)
from quorum.api.error_codes import Error
from quorum.server.kafka.exchange import Exchange, ask_controller, ask_for_frame
from quorum.server.node import Node
from quorum.transport.kafka.describe_acls_frame import describe_acls_frame
from quorum.transport.kafka.wire import Answers


def on_create_acls(exchange: Exchange, node: Node) -> None:
    """Serve CreateAcls."""
    request = CreateAcls(
        creations=tuple(
            AclEntry(
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                pattern_type=each.resource_pattern_type,
                principal=each.principal,
                host=each.host,
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in exchange.body.creations
        )
    )
    ask_controller(exchange, node, request, _created_entity)


def _created_entity(answers: Answers, said: CreateAclsResponse) -> Any:
    return answers.response(results=answers.rows("AclCreationResult", said.results))


def on_delete_acls(exchange: Exchange, node: Node) -> None:
    """Serve DeleteAcls, whose items are filters."""
    filters = tuple(_filter_from(each) for each in exchange.body.filters)
    ask_controller(exchange, node, DeleteAcls(filters=filters), _deleted_entity)


def _filter_from(asked: Any) -> AclFilter:
    return AclFilter(
        resource_type=asked.resource_type_filter,
        resource_name=asked.resource_name_filter,
        pattern_type=asked.pattern_type_filter,
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=asked.operation,
        permission_type=asked.permission_type,
    )


def _deleted_entity(answers: Answers, said: DeleteAclsResponse) -> Any:
    def matching(result: AclDeletionResult) -> Any:
        sound = {"error_code": lambda entry: Error.NONE, "error_message": lambda entry: None}
        return answers.rows("DeleteAclsMatchingAcl", result.matching, **sound)

    return answers.response(filter_results=answers.rows("DeleteAclsFilterResult", said.results, matching_acls=matching))


def on_describe_acls(exchange: Exchange, node: Node) -> None:
    """Serve DescribeAcls."""
    correlation_id, version = exchange.header.correlation_id, exchange.header.version
    request = DescribeAcls(asked=_filter_from(exchange.body))
    ask_for_frame(exchange, node, request, lambda said: describe_acls_frame(correlation_id, version, said))
