"""The APIs of delegation tokens: CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken.

Brokers answer DescribeDelegationToken themselves. Source: KIP-48.
"""

from __future__ import annotations

from typing import Any

from quorum.api.tokens import (
    CreateDelegationToken,
    CreateDelegationTokenResponse,
    ExpireDelegationToken,
    RenewDelegationToken,
    RenewDelegationTokenResponse,
)
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers, milliseconds, timestamp_to


def on_create_delegation_token(exchange: Exchange, node: Node) -> None:
    """Serve CreateDelegationToken. Before version 3 the owner is always the requester."""
    body = exchange.body
    name = getattr(body, "owner_principal_name", None)
    request = CreateDelegationToken(
        owner=f"{body.owner_principal_type}:{name}" if name else None,
        renewers=tuple(f"{each.principal_type}:{each.principal_name}" for each in body.renewers),
        max_lifetime_ms=milliseconds(body.max_lifetime),
    )
    ask_controller(exchange, node, request, _created)


def _created(answers: Answers, said: CreateDelegationTokenResponse) -> Any:
    owner_type, _, owner = said.owner.partition(":")
    requester_type, _, requester = said.requester.partition(":")
    return answers.response(
        error_code=said.error,
        principal_type=owner_type,
        principal_name=owner,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester,
        issue_timestamp=timestamp_to(said.issue_timestamp),
        expiry_timestamp=timestamp_to(said.expiry_timestamp),
        max_timestamp=timestamp_to(said.max_timestamp),
        token_id=said.token_id,
        hmac=said.hmac,
    )


def on_renew_delegation_token(exchange: Exchange, node: Node) -> None:
    """Serve RenewDelegationToken."""
    body = exchange.body
    request = RenewDelegationToken(hmac=body.hmac, renew_period_ms=milliseconds(body.renew_period))
    ask_controller(exchange, node, request, _ends)


def on_expire_delegation_token(exchange: Exchange, node: Node) -> None:
    """Serve ExpireDelegationToken."""
    body = exchange.body
    request = ExpireDelegationToken(hmac=body.hmac, expiry_period_ms=milliseconds(body.expiry_time_period))
    ask_controller(exchange, node, request, _ends)


def _ends(answers: Answers, said: RenewDelegationTokenResponse) -> Any:
    return answers.response(error_code=said.error, expiry_timestamp=timestamp_to(said.expiry_timestamp))
