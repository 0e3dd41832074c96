"""DescribeUserScramCredentials: users' mechanisms and iterations (KIP-554); requires Describe on the cluster.

Repeated and unknown users are handled as in Kafka. Brokers answer this request from their own image; here it serves
clients of a controller.
"""

from __future__ import annotations

from collections import Counter

from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.api.scram import (
    DescribedScramUser,
    DescribeUserScramCredentials,
    DescribeUserScramCredentialsResponse,
    ScramCredentialInfo,
)
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_describe_user_scram_credentials(
    request: DescribeUserScramCredentials, turn: Turn
) -> ControllerResult[DescribeUserScramCredentialsResponse]:
    """Return the response from the given image, without records."""
    error = authorize(turn.context, Operation.DESCRIBE, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    found: dict[str, list[ScramCredentialInfo]] = {}
    for key, credential in sorted(turn.image.scram.credentials.items(), key=lambda item: item[0]):
        info = ScramCredentialInfo(mechanism=key.mechanism, iterations=credential.iterations)
        found.setdefault(key.name, []).append(info)
    times_named = Counter(request.users or tuple(found))
    results = tuple(_described(user, times, tuple(found.get(user, ()))) for user, times in times_named.items())
    return ControllerResult(response=DescribeUserScramCredentialsResponse(results=results))


def _described(user: str, times_named: int, credentials: tuple[ScramCredentialInfo, ...]) -> DescribedScramUser:
    if times_named > 1:
        why = "A user is described only once in a request."
        return DescribedScramUser(user=user, error=Error.DUPLICATE_RESOURCE, error_message=why)
    if not credentials:
        why = "The user has no credential."
        return DescribedScramUser(user=user, error=Error.RESOURCE_NOT_FOUND, error_message=why)
    return DescribedScramUser(user=user, credentials=credentials)
