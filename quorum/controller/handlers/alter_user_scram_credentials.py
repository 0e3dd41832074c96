"""AlterUserScramCredentials: sets or removes credentials (KIP-554, KIP-900); requires Alter on the cluster.

As in Kafka's controller, a request may alter a user only once, whatever the mechanisms. Of the salted password, only
the server's data are kept: the stored key and the server key (RFC 5802).
"""

from __future__ import annotations

import hashlib
import hmac

from metadata_log.image import ScramUser
from metadata_log.records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord
from metadata_log.records.levels import SCRAM_LEVEL
from metadata_log.scram import FEWEST_ITERATIONS, HASHES, MOST_ITERATIONS
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.scram import (
    AlteredScramUser,
    AlterUserScramCredentials,
    AlterUserScramCredentialsResponse,
    ScramDeletion,
    ScramUpsertion,
)
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.metadata_levels import level_of
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn

_Refusal = tuple[Error, str]
_Alteration = ScramDeletion | ScramUpsertion


def handle_alter_user_scram_credentials(
    request: AlterUserScramCredentials, turn: Turn
) -> ControllerResult[AlterUserScramCredentialsResponse]:
    """Return records for the valid users, and a result for each user."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    asked = _asked(request)
    if (too_many := refusal_of_too_many(request, len(asked), turn)) is not None:
        return too_many
    refusals: dict[str, _Refusal] = {}
    altered: dict[str, _Alteration] = {}
    for each in asked:
        if each.name in refusals:
            continue
        refusal = _why_refused(each, turn)
        if altered.pop(each.name, None) is not None:
            refusal = Error.DUPLICATE_RESOURCE, "A user is altered only once in a request."
        if refusal is None:
            altered[each.name] = each
        else:
            refusals[each.name] = refusal
    records = tuple(_record(each) for each in altered.values())
    users = dict.fromkeys(each.name for each in asked)
    results = tuple(_result(user, refusals.get(user)) for user in users)
    return ControllerResult(records=records, response=AlterUserScramCredentialsResponse(results=results))


def _asked(request: AlterUserScramCredentials) -> list[_Alteration]:
    asked: list[_Alteration] = [*request.deletions]
    asked += request.upsertions
    return asked


def _result(user: str, refusal: _Refusal | None) -> AlteredScramUser:
    error, why = refusal or (Error.NONE, None)
    return AlteredScramUser(user=user, error=error, error_message=why)


def _why_refused(each: _Alteration, turn: Turn) -> _Refusal | None:
    refusal: _Refusal | None = None
    if level_of(turn.image) < SCRAM_LEVEL:
        refusal = Error.UNSUPPORTED_VERSION, "Credentials need metadata.version 3.5-IV2."
    elif not each.name:
        refusal = Error.UNACCEPTABLE_CREDENTIAL, "The user has no name."
    elif each.mechanism not in HASHES:
        refusal = Error.UNSUPPORTED_SASL_MECHANISM, f"There is no SCRAM_LEVEL mechanism {each.mechanism}."
    elif isinstance(each, ScramDeletion):
        if ScramUser(name=each.name, mechanism=each.mechanism) not in turn.image.scram.credentials:
            refusal = Error.RESOURCE_NOT_FOUND, "The user has no such credential."
    elif not FEWEST_ITERATIONS <= each.iterations <= MOST_ITERATIONS:
        why = f"Iterations are {FEWEST_ITERATIONS} to {MOST_ITERATIONS}, not {each.iterations}."
        refusal = Error.UNACCEPTABLE_CREDENTIAL, why
    elif not each.salted_password:
        refusal = Error.UNACCEPTABLE_CREDENTIAL, "The salted password is empty."
    return refusal


def _record(each: _Alteration) -> MetadataRecord:
    if isinstance(each, ScramDeletion):
        return RemoveUserScramCredentialRecord(name=each.name, mechanism=each.mechanism)
    kind = HASHES[each.mechanism]
    client_key = hmac.digest(each.salted_password, b"Client Key", kind)
    return UserScramCredentialRecord(
        name=each.name,
        mechanism=each.mechanism,
        salt=each.salt,
        stored_key=hashlib.new(kind, client_key).digest(),
        server_key=hmac.digest(each.salted_password, b"Server Key", kind),
        iterations=each.iterations,
    )
