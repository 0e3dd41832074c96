"""Whether the host of an address has one at all, asked before a connection is tried.

Decides: what counts as a name that does not exist. gRPC goes on asking for such a name until its caller's patience is
over; whoever mistyped one should hear of it at once. A name server that does not answer is left to gRPC: it may yet.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from quorum.client.errors import UnresolvableError

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
