"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken (KIP-48, KIP-900).

Decides: who may create a token, and who may change its end: its owner and its renewers. Only a broker can forward these
requests, because it has authenticated its client. A principal of this controller's own listeners has proven nothing. A
client that authenticated with a token may not create further ones.
"""

from __future__ import annotations

from metadata_log.ids import id_text
from metadata_log.image import DelegationToken
from metadata_log.records import DelegationTokenRecord, RemoveDelegationTokenRecord
from metadata_log.records.levels import DELEGATION_TOKENS_LEVEL
from quorum.api.context import Operation, Resource, ResourceType, authorize
from quorum.api.error_codes import Error
from quorum.api.tokens import (
    CreateDelegationToken,
    CreateDelegationTokenResponse,
    ExpireDelegationToken,
    ExpireDelegationTokenResponse,
    RenewDelegationToken,
    RenewDelegationTokenResponse,
)
from quorum.controller.handlers.new_topic import RejectedError
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.tokens import TokenSettings, is_expired
from quorum.controller.turn import Turn

_LARGEST_TIME = (1 << 63) - 1


def handle_create_delegation_token(
    request: CreateDelegationToken, turn: Turn
) -> ControllerResult[CreateDelegationTokenResponse]:
    """Return a DelegationTokenRecord, and the token with its secret."""
    requester = turn.context.principal
    owner = request.owner or requester
    try:
        _check_asker(turn)
        if owner != requester:
            resource = Resource(resource_type=ResourceType.USER, name=owner)
            error = authorize(turn.context, Operation.CREATE_TOKENS, resource, turn.image)
            if error is not Error.NONE:
                raise RejectedError(error, f"{requester} may not make tokens for {owner}.")
        settings = _settings(turn)
        strange = [renewer for renewer in request.renewers if not renewer.startswith("User:")]
        if strange:
            raise RejectedError(Error.INVALID_PRINCIPAL_TYPE, f"Only users can renew a token, not {strange[0]}.")
    except RejectedError as refusal:
        response = CreateDelegationTokenResponse(
            owner=owner, requester=requester, error=refusal.error, error_message=refusal.message
        )
        return ControllerResult(response=response)
    lifetime_ms = settings.max_lifetime_ms
    if request.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, request.max_lifetime_ms)
    issued = turn.wall_ms
    token = DelegationToken(
        token_id=id_text(turn.new_uuid()),
        owner=owner,
        requester=requester,
        renewers=request.renewers,
        issue_timestamp=issued,
        max_timestamp=min(issued + lifetime_ms, _LARGEST_TIME),
        expiration_timestamp=min(issued + lifetime_ms, issued + settings.expiry_time_ms, _LARGEST_TIME),
    )
    response = CreateDelegationTokenResponse(
        owner=owner,
        requester=requester,
        issue_timestamp=issued,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=settings.hmac_of(token.token_id),
    )
    return ControllerResult(records=(_record(token, token.expiration_timestamp),), response=response)


def handle_renew_delegation_token(
    request: RenewDelegationToken, turn: Turn
) -> ControllerResult[RenewDelegationTokenResponse]:
    """Return a DelegationTokenRecord with the new end, which may be earlier than the old one."""
    try:
        _check_asker(turn)
        settings = _settings(turn)
        token = _found(request.hmac, settings, turn)
        _check_valid(token, turn)
        _check_renewer(token, turn)
    except RejectedError as refusal:
        return ControllerResult(response=request.rejected(refusal.error, refusal.message))
    period_ms = settings.expiry_time_ms
    if request.renew_period_ms > 0:
        period_ms = min(period_ms, request.renew_period_ms)
    until = min(token.max_timestamp, turn.wall_ms + period_ms)
    return ControllerResult(
        records=(_record(token, until),), response=RenewDelegationTokenResponse(expiry_timestamp=until)
    )


def handle_expire_delegation_token(
    request: ExpireDelegationToken, turn: Turn
) -> ControllerResult[ExpireDelegationTokenResponse]:
    """Return a DelegationTokenRecord with the new end, or the token's removal."""
    try:
        _check_asker(turn)
        token = _found(request.hmac, _settings(turn), turn)
        _check_renewer(token, turn)
        if request.expiry_period_ms < 0:
            return ControllerResult(
                records=(RemoveDelegationTokenRecord(token_id=token.token_id),),
                response=ExpireDelegationTokenResponse(expiry_timestamp=turn.wall_ms),
            )
        _check_valid(token, turn)
    except RejectedError as refusal:
        return ControllerResult(response=request.rejected(refusal.error, refusal.message))
    until = min(token.max_timestamp, turn.wall_ms + request.expiry_period_ms)
    return ControllerResult(
        records=(_record(token, until),), response=ExpireDelegationTokenResponse(expiry_timestamp=until)
    )


def _check_asker(turn: Turn) -> None:
    if turn.context.forwarded_by is None:
        why = "Ask for a token through a broker, which authenticates its client."
        raise RejectedError(Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, why)
    if turn.context.is_token:
        why = "A client that authenticated by a token cannot ask for tokens."
        raise RejectedError(Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, why)


def _settings(turn: Turn) -> TokenSettings:
    if turn.config.tokens is None:
        why = "There are no delegation tokens: delegation.token.secret.key is not set."
        raise RejectedError(Error.DELEGATION_TOKEN_AUTH_DISABLED, why)
    if level_of(turn.image) < DELEGATION_TOKENS_LEVEL:
        raise RejectedError(Error.UNSUPPORTED_VERSION, "Delegation tokens need metadata.version 3.6-IV2.")
    return turn.config.tokens


def _found(secret: bytes, settings: TokenSettings, turn: Turn) -> DelegationToken:
    token = settings.token_of(secret, turn.image)
    if token is None:
        raise RejectedError(Error.DELEGATION_TOKEN_NOT_FOUND, "There is no token of this secret.")
    return token


def _check_valid(token: DelegationToken, turn: Turn) -> None:
    if is_expired(token, turn.wall_ms):
        raise RejectedError(Error.DELEGATION_TOKEN_EXPIRED, "The token has expired.")


def _check_renewer(token: DelegationToken, turn: Turn) -> None:
    if turn.context.principal not in (token.owner, *token.renewers):
        why = f"{turn.context.principal} neither owns the token nor may renew it."
        raise RejectedError(Error.DELEGATION_TOKEN_OWNER_MISMATCH, why)


def _record(token: DelegationToken, until: int) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issue_timestamp=token.issue_timestamp,
        max_timestamp=token.max_timestamp,
        expiration_timestamp=until,
        token_id=token.token_id,
    )
