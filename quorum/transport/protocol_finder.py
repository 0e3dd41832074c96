"""Detection of the protocol at an address without a listener's name: a bootstrap server's or a static voter's.

Decides: when to detect, and what the result is. It detects before the first request, and again after a request has
failed. A process that answers ApiVersions speaks Kafka's protocol: a Java controller, or this software's CONTROLLER
listener. One that closes the connection or sends other bytes speaks gRPC. Must not know: the request.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Final

import msgspec

from metadata_log.voters import Endpoint
from quorum.node.core.peer_failures import PeerFailure
from quorum.transport.channel import address_of
from quorum.transport.failures import of_system, of_timeout

_CORRELATION: Final = 1_818_649_441
_BODY: Final = struct.pack(">hhih", 18, 0, _CORRELATION, -1)
"""ApiVersions v0, without a client id: every Kafka node answers it."""
_QUESTION: Final = struct.pack(">i", len(_BODY)) + _BODY
_ANSWER_BYTES: Final = 8
"""The response's length and correlation id."""


async def speaks_kafka(at: Endpoint) -> bool:
    """Return True if the process at `at` speaks Kafka's protocol.

    Raises:
        OSError: the connection cannot be made.
    """
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(_QUESTION)
        head = await reader.readexactly(_ANSWER_BYTES)
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        writer.close()
    return head[4:] == _QUESTION[8:12]


class ProtocolFinder:
    """The protocols found so far, and the detections under way. `close` ends it."""

    def __init__(self) -> None:
        self._kafkas: dict[str, bool] = {}
        self._looking: set[asyncio.Task[None]] = set()

    def find(
        self, at: Endpoint, timeout_ms: int, then: Callable[[bool], None], on_failure: Callable[[PeerFailure], None]
    ) -> None:
        """Call `then` with True if the address speaks Kafka's protocol: at once if that is known, else after a
        detection.

        If the detection fails, `on_failure` gets the reason in a later turn.
        """
        known = self._kafkas.get(address_of(at))
        if known is not None:
            then(known)
            return
        task = asyncio.get_running_loop().create_task(
            self._look(at, timeout_ms, then, on_failure), name=f"look-{address_of(at)}"
        )
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    def forget(self, at: Endpoint) -> None:
        """Discard the result after a request has failed there: another process may listen there by now."""
        self._kafkas.pop(address_of(at), None)

    async def close(self) -> None:
        """Cancel the detections under way."""
        looking = tuple(self._looking)
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)

    async def _look(
        self, at: Endpoint, timeout_ms: int, then: Callable[[bool], None], on_failure: Callable[[PeerFailure], None]
    ) -> None:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                found = await speaks_kafka(at)
        except TimeoutError:
            on_failure(of_timeout(address_of(at), timeout_ms, is_connected=True))
        except (OSError, UnicodeError) as error:
            on_failure(msgspec.structs.replace(of_system(error, address_of(at)), disconnected=True))
        else:
            self._kafkas[address_of(at)] = found
            then(found)
