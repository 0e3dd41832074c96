"""The addresses of nodes: their syntax, `host:port`, and whether the host resolves.

Must not know: whether a node listens there.
"""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Final

from quorum.client.errors import AddressError, UnresolvableError

_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s,]+):(\d{1,10})", re.ASCII)
_LARGEST_PORT: Final = 65535


def check_address(text: str) -> str:
    """Return `text` if it is `host:port`; an IPv6 host is written in brackets.

    Raises:
        AddressError: `text` is written otherwise, or the port is not from 1 to 65535.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise AddressError(f"{text!r} is not an address: write host:port (an IPv6 host in brackets)")
    if not 0 < int(match[2]) <= _LARGEST_PORT:
        raise AddressError(f"{text!r} is not an address: its port is not from 1 to {_LARGEST_PORT}")
    return text


_PATIENCE_S: Final = 2.0
_NO_SUCH_NAME: Final = frozenset(
    code for name in ("EAI_NONAME", "EAI_NODATA") if (code := getattr(socket, name, None)) is not None
)


async def check_resolvable(address: str) -> None:
    """Look up the host of `address`, a checked `host:port`.

    A resolver that fails or is slow proves nothing: the connection is tried all the same.

    Raises:
        UnresolvableError: the resolver answers that the host does not exist.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await loop.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise UnresolvableError(f"{address}: the host {host} is not known: {error.strerror}") from error
    except TimeoutError:
        return
