"""What a client of the controllers may be told instead of an answer.

Decides: which of Kafka's errors have a class of their own. The message of each says what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from quorum.api.error_codes import Error
from quorum.plain_text import plain


class ClientError(Exception):
    """Base of everything that the client raises."""


class AddressError(ClientError):
    """An address is not written `host:port`."""


class WrongListenerError(ClientError):
    """The address is a CONTROLLER listener's, where Kafka's protocol is spoken.

    Attributes:
        address: the one that was asked.
        right_address: the GRPC listener of the same node.
    """

    def __init__(self, address: str, right_address: str) -> None:
        super().__init__(
            f"{address} is a controller's CONTROLLER listener, which speaks Kafka's protocol: "
            f"use its GRPC listener {right_address}"
        )
        self.address = address
        self.right_address = right_address


class UnavailableError(ClientError):
    """No active controller answered in time. Nothing was done, unless the request is one that may be done twice."""


class UnresolvableError(UnavailableError):
    """There is no host of that name. Where all addresses are such, nothing is tried again."""


class NotAControllerError(ClientError):
    """Somebody answers at the address who is no controller."""


class OutcomeUnknownError(ClientError):
    """The request was sent and no answer came: it may or may not have been done. Look before it is sent again."""


class ClosedError(ClientError):
    """The client has been closed."""


class RefusedError(ClientError):
    """The controller refused.

    Attributes:
        error: Kafka's error.
    """

    def __init__(self, error: Error, message: str) -> None:
        super().__init__(message)
        self.error = error


class InvalidRequestError(RefusedError):
    """INVALID_REQUEST; also of a request that was not sent, because a field has no room for its value: a text that
    UTF-8 cannot write, a number that is too large. The message names the field."""


class TopicExistsError(RefusedError):
    """TOPIC_ALREADY_EXISTS."""


class UnknownTopicError(RefusedError):
    """UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID."""


class InvalidTopicError(RefusedError):
    """INVALID_TOPIC_EXCEPTION: no topic may have that name."""


class InvalidReplicationFactorError(RefusedError):
    """INVALID_REPLICATION_FACTOR: often, fewer brokers are registered than replicas are asked for."""


_CLASSES: Final[Mapping[Error, type[RefusedError]]] = {
    Error.INVALID_REQUEST: InvalidRequestError,
    Error.TOPIC_ALREADY_EXISTS: TopicExistsError,
    Error.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicError,
    Error.UNKNOWN_TOPIC_ID: UnknownTopicError,
    Error.INVALID_TOPIC_EXCEPTION: InvalidTopicError,
    Error.INVALID_REPLICATION_FACTOR: InvalidReplicationFactorError,
}


def refused(error: Error, message: str | None, what: str) -> RefusedError:
    """The exception for an error; `what` was asked for."""
    return _CLASSES.get(error, RefusedError)(error, plain(f"{what}: {message or 'refused'} ({error.name})"))


def not_sent(why: str) -> InvalidRequestError:
    """The exception for a request that cannot be sent."""
    return InvalidRequestError(Error.INVALID_REQUEST, f"{why}: the request was not sent")


def who_leads(leader_id: int) -> str:
    """What somebody told us who knows that leader, or none (-1), for the sentence that begins with who it was."""
    return f"says that node {leader_id} leads" if leader_id >= 0 else "knows no leader"
