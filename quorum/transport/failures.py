"""Failed connections and calls as `PeerFailure`: errors of the system, of gRPC and of Kafka's protocol.

Must not know: which request failed, or the sentence that an operator reads.
"""

from __future__ import annotations

import os
import re
import socket
from typing import Final

import grpc

from quorum.node.core.peer_failures import FailureKind, PeerFailure
from quorum.transport.channel import is_disconnect
from quorum.transport.misdirected import Cause, cause_of, right_address, system_words

_NUMBER: Final = re.compile(r"\[Errno (\d+)\]")
"""The error number of one attempt, in asyncio's list of attempts at several addresses."""
_NAME: Final = re.compile(r"DNS resolution failed|Name resolution failure|errors resolving")
_NAMES_END: Final = re.compile(r"(?P<why>[A-Z][A-Za-z ]+)$")
_SILENT: Final = re.compile(r"before receiving SETTINGS|connection attempt timed out|Timeout occurred|FD Shutdown")
"""No byte came within gRPC's connection timeout: neither a refusal nor HTTP/2."""
_REFUSED: Final = os.strerror(111).lower()
_KINDS: Final = {
    Cause.HTTP: FailureKind.OTHER_PROTOCOL,
    Cause.NO_GRPC: FailureKind.OTHER_PROTOCOL,
    Cause.CLOSED_AT_ONCE: FailureKind.OTHER_PROTOCOL,
    Cause.STOPPED: FailureKind.CLOSED,
    Cause.LATE: FailureKind.NO_RESPONSE,
}
_SPOKEN: Final = {
    Cause.HTTP: "HTTP, not gRPC",
    Cause.NO_GRPC: "not gRPC",
    Cause.CLOSED_AT_ONCE: "it closed the connection when gRPC began; perhaps TLS, or Kafka's protocol",
}
_TLS_ALERT: Final = b"\x15\x03"
_HTTP: Final = b"HTTP"
_HTTP2_SETTINGS: Final = 4
_FRAME_HEAD: Final = 9


def of_system(error: OSError | UnicodeError, address: str) -> PeerFailure:
    """Return why a connection could not be made. A name that cannot be resolved proves nothing about the process.

    Python raises a `UnicodeError` for a name that DNS cannot hold: one with an empty or too long label.
    """
    if isinstance(error, UnicodeError):
        return PeerFailure(kind=FailureKind.UNKNOWN_NAME, address=address, detail="this cannot be the name of a host")
    if isinstance(error, socket.gaierror):
        detail = error.strerror or ""
        return PeerFailure(kind=FailureKind.UNKNOWN_NAME, address=address, detail=detail)
    numbers = [error.errno] if error.errno else [int(number) for number in _NUMBER.findall(str(error))]
    words = os.strerror(numbers[-1]).lower() if numbers else str(error)
    return PeerFailure(kind=_kind_of(words), address=address, detail=words, disconnected=True)


def of_call(error: grpc.aio.AioRpcError, address: str, timeout_ms: int) -> PeerFailure:
    """Return why a gRPC call failed."""
    code, details = error.code(), error.details() or ""
    gone = is_disconnect(code)
    kind, detail = FailureKind.REJECTED, f"{code.name}: {details}"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        kind, detail = FailureKind.NO_RESPONSE, ""
    elif code is grpc.StatusCode.UNIMPLEMENTED:
        kind, detail = FailureKind.OTHER_PROTOCOL, "gRPC, but not of a controller"
    elif gone or code is grpc.StatusCode.UNKNOWN:
        kind, detail = _of_connection(details)
    return PeerFailure(kind=kind, address=address, detail=detail, after_ms=timeout_ms, disconnected=gone)


def of_timeout(address: str, timeout_ms: int, *, is_connected: bool) -> PeerFailure:
    """Return the failure of a request whose deadline passed, on an open connection or before there was one."""
    kind = FailureKind.NO_RESPONSE if is_connected else FailureKind.NO_CONNECTION
    return PeerFailure(kind=kind, address=address, after_ms=timeout_ms)


def foreign_protocol(first: bytes) -> str | None:
    """Return the protocol that the first bytes of a connection show instead of Kafka's, or None."""
    if first.startswith(_TLS_ALERT):
        return "TLS, not Kafka's protocol in plain text"
    if first.startswith(_HTTP):
        return "HTTP, not Kafka's protocol"
    if len(first) >= _FRAME_HEAD and first[0] == 0 and first[3] == _HTTP2_SETTINGS and not any(first[5:_FRAME_HEAD]):
        return "gRPC, not Kafka's protocol"
    return None


def _kind_of(words: str) -> FailureKind:
    return FailureKind.REFUSED if words == _REFUSED else FailureKind.UNREACHABLE


def _of_connection(details: str) -> tuple[FailureKind, str]:
    address = right_address(details)
    if address is not None:
        return FailureKind.OTHER_PROTOCOL, f"Kafka's protocol; its gRPC is at {address}"
    cause = cause_of(details)
    if cause is not Cause.OTHER:
        return _KINDS[cause], _SPOKEN.get(cause, "")
    if _NAME.search(details):
        found = _NAMES_END.search(details)
        return FailureKind.UNKNOWN_NAME, "" if found is None else found["why"]
    words = system_words(details)
    if words is not None:
        return _kind_of(words), words
    if _SILENT.search(details):
        return FailureKind.NO_RESPONSE, ""
    return FailureKind.CLOSED, details
