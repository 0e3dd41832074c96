"""What clients ask about access control entries: CreateAcls, DeleteAcls, DescribeAcls.

Decides: nothing but the translation. Sources: KIP-140, KIP-290 (patterns).
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from metadata_log.image import AclEntry
from quorum.controller import requests as r
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers


def on_create_acls(exchange: Exchange, node: Node) -> None:
    """New entries."""
    request = r.CreateAcls(
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


def _created_entity(answers: Answers, said: r.CreateAclsResponse) -> Any:
    return answers.response(
        results=tuple(
            answers.make("AclCreationResult", error_code=each.error, error_message=each.error_message)
            for each in said.results
        )
    )


def on_delete_acls(exchange: Exchange, node: Node) -> None:
    """Entries to be gone, by filters."""
    request = r.DeleteAcls(
        filters=tuple(
            r.AclFilter(
                resource_type=each.resource_type_filter,
                resource_name=each.resource_name_filter,
                pattern_type=each.pattern_type_filter,
                principal=each.principal_filter,
                host=each.host_filter,
                operation=each.operation,
                permission_type=each.permission_type,
            )
            for each in exchange.body.filters
        )
    )
    ask_controller(exchange, node, request, _deleted_entity)


def _deleted_entity(answers: Answers, said: r.DeleteAclsResponse) -> Any:
    return answers.response(
        filter_results=tuple(
            answers.make(
                "DeleteAclsFilterResult",
                error_code=each.error,
                error_message=each.error_message,
                matching_acls=tuple(
                    answers.make(
                        "DeleteAclsMatchingAcl",
                        error_code=r.AclDeletionResult().error,
                        error_message=None,
                        resource_type=entry.resource_type,
                        resource_name=entry.resource_name,
                        pattern_type=entry.pattern_type,
                        principal=entry.principal,
                        host=entry.host,
                        operation=entry.operation,
                        permission_type=entry.permission_type,
                    )
                    for entry in each.matching
                ),
            )
            for each in said.results
        )
    )


def on_describe_acls(exchange: Exchange, node: Node) -> None:
    """Entries that a filter means."""
    body = exchange.body
    asked = r.AclFilter(
        resource_type=body.resource_type_filter,
        resource_name=body.resource_name_filter,
        pattern_type=body.pattern_type_filter,
        principal=body.principal_filter,
        host=body.host_filter,
        operation=body.operation,
        permission_type=body.permission_type,
    )
    ask_controller(exchange, node, r.DescribeAcls(asked=asked), _described_entity)


def _pattern(entry: AclEntry) -> tuple[int, str, int]:
    return entry.resource_type, entry.resource_name, entry.pattern_type


def _described_entity(answers: Answers, said: r.DescribeAclsResponse) -> Any:
    return answers.response(
        error_code=said.error,
        error_message=said.error_message,
        resources=tuple(
            answers.make(
                "DescribeAclsResource",
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern_type,
                acls=tuple(
                    answers.make(
                        "AclDescription",
                        principal=entry.principal,
                        host=entry.host,
                        operation=entry.operation,
                        permission_type=entry.permission_type,
                    )
                    for entry in entries
                ),
            )
            for (kind, name, pattern_type), entries in groupby(said.entries, key=_pattern)
        ),
    )
