"""How the address of a node is written.

Decides: what is one. Must not know: whether anybody is there.
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
    """`text` if it is `host:port`, an IPv6 host in brackets.

    Raises:
        AddressError: it is not.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise AddressError(f"{text!r} is not an address: write host:port (an IPv6 host in brackets)")
    if not 0 < int(match[2]) <= _LARGEST_PORT:
        raise AddressError(f"{text!r} is not an address: its port is none of 1 to {_LARGEST_PORT}")
    return text


_PATIENCE_S: Final = 2.0
_NO_SUCH_NAME: Final = frozenset(
    code for name in ("EAI_NONAME", "EAI_NODATA") if (code := getattr(socket, name, None)) is not None
)


async def check_resolvable(address: str) -> None:
    """Return if the host of `address` (`host:port`, checked) has an address, or if nobody can tell.

    Raises:
        UnresolvableError: there is no such host.
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
