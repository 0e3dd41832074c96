"""A channel to one node for one request, and the errors if the request fails.

Must not know: the request, or the kind of node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import grpc

from quorum.client.errors import ClientError, UnavailableError, WrongListenerError
from quorum.transport.channel import open_channel
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.misdirected import in_words, right_address


@asynccontextmanager
async def channel_to(
    address: str, other_kind: Callable[[str], Awaitable[ClientError]]
) -> AsyncIterator[grpc.aio.Channel]:
    """Open a channel to `address`, and close it at the end of the block.

    `other_kind` makes the error for a node that does not implement the called method: it is of another kind.

    Raises:
        UnavailableError: the node does not respond, or its response cannot be decoded.
        WrongListenerError: the address is a CONTROLLER listener's.
    """
    channel = open_channel(address)
    try:
        yield channel
    except grpc.aio.AioRpcError as error:
        right = right_address(error.details())
        if right is not None:
            raise WrongListenerError(address, right) from error
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise await other_kind(address) from error
        raise UnavailableError(f"{address}: {in_words(error.details() or error.code().name)}") from error
    except BadMessage as bad:
        raise UnavailableError(f"{address}: the answer cannot be understood: {bad.why}") from bad
    finally:
        await channel.close(None)
