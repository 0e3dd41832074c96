"""Errors of listeners, and their sentences.

Decides: the sentence about an address that cannot be bound. Must not know: the protocol of the listener.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import Final

from metadata_log.voters import Endpoint

_WHYS: Final = {
    errno.EADDRINUSE: "another process listens there already",
    errno.EADDRNOTAVAIL: "it is no address of this host",
    errno.EACCES: "it takes root, or the capability to bind ports below 1024",
}


class ListenError(OSError):
    """A listener's address cannot be bound."""


def cannot_listen(endpoint: Endpoint, error: OSError) -> ListenError:
    """Return the error, with the listener named as in its configuration."""
    why = "its host has no address" if isinstance(error, socket.gaierror) else _WHYS.get(error.errno or 0)
    return ListenError(f"cannot listen at {endpoint}: {why or error.strerror or error}")


def is_loopback(host: str) -> bool:
    """Return True if only processes of this host can reach that address, or connect from it."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def require_bindable(endpoint: Endpoint) -> None:
    """Bind an address and close it again, so that a failure is a clear error: gRPC would only print it to standard
    error.

    Raises:
        ListenError: none of its host's addresses can be bound.
    """
    failed: OSError | None = None
    try:
        found = socket.getaddrinfo(endpoint.host or "::", endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise cannot_listen(endpoint, error) from error
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as bound:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                bound.bind(address)
                return
        except OSError as error:
            if error.errno == errno.EAFNOSUPPORT:
                return  #   # a host without IPv6; the server handles that itself
            failed = error
    if failed is not None:
        raise cannot_listen(endpoint, failed) from failed
