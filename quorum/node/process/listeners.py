"""What can go wrong with any listener, and how it is told.

Decides: the one sentence of an address that cannot be bound. Must not know: what is spoken there.
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
    """What is said of it, the listener named as in its configuration."""
    why = "its host has no address" if isinstance(error, socket.gaierror) else _WHYS.get(error.errno or 0)
    return ListenError(f"cannot listen at {endpoint}: {why or error.strerror or error}")


def is_loopback(host: str) -> bool:
    """Return True if only processes of this host can reach that address, or come from it."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def require_bindable(endpoint: Endpoint) -> None:
    """Bind an address and let it go again, for who binds it next says why not on standard error, and in a log's form.

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
                return  # a host without IPv6: the server has its own way there
            failed = error
    if failed is not None:
        raise cannot_listen(endpoint, failed) from failed
