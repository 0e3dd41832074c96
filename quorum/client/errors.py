"""The exceptions that the client raises.

Decides: which of Kafka's errors have a class of their own. Each message says what is wrong and what to do.
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
        address: the address that the client used.
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
    """No active controller responded in time. The request had no effect, or is idempotent and may be sent again."""


class UnresolvableError(UnavailableError):
    """The host of the address does not exist. If that is true of all addresses, the client does not retry."""


class NotAControllerError(ClientError):
    """The process at the address is not a controller."""


class OutcomeUnknownError(ClientError):
    """The request was sent without a response, so it may have had its effect. Check that before a retry."""


class ClosedError(ClientError):
    """The client has been closed."""


class RefusedError(ClientError):
    """The controller rejected the request, or one of its items.

    Attributes:
        error: Kafka's error code.
    """

    def __init__(self, error: Error, message: str) -> None:
        super().__init__(message)
        self.error = error


class InvalidRequestError(RefusedError):
    """INVALID_REQUEST: from the controller, or from the client for a request that it could not send.

    A request cannot be sent if a number is too large for its field, or if UTF-8 cannot encode a string. The message
    names the field.
    """


class TopicExistsError(RefusedError):
    """TOPIC_ALREADY_EXISTS."""


class UnknownTopicError(RefusedError):
    """UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID."""


class InvalidTopicError(RefusedError):
    """INVALID_TOPIC_EXCEPTION: the name is not a valid topic name."""


class InvalidReplicationFactorError(RefusedError):
    """INVALID_REPLICATION_FACTOR: often because fewer brokers are registered than the topic needs."""


_CLASSES: Final[Mapping[Error, type[RefusedError]]] = {
    Error.INVALID_REQUEST: InvalidRequestError,
    Error.TOPIC_ALREADY_EXISTS: TopicExistsError,
    Error.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicError,
    Error.UNKNOWN_TOPIC_ID: UnknownTopicError,
    Error.INVALID_TOPIC_EXCEPTION: InvalidTopicError,
    Error.INVALID_REPLICATION_FACTOR: InvalidReplicationFactorError,
}


def refused(error: Error, message: str | None, what: str) -> RefusedError:
    """Return the exception for an error; `what` names the request or the item."""
    return _CLASSES.get(error, RefusedError)(error, plain(f"{what}: {message or 'refused'} ({error.name})"))


def not_sent(why: str) -> InvalidRequestError:
    """Return the exception for a request that cannot be sent."""
    return InvalidRequestError(Error.INVALID_REQUEST, f"{why}: the request was not sent")


def who_leads(leader_id: int) -> str:
    """Return what a controller reported: "says that node 3 leads", or "knows no leader" for -1."""
    return f"says that node {leader_id} leads" if leader_id >= 0 else "knows no leader"
