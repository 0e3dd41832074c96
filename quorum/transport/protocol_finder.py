"""What is spoken at an address that came without a listener's name: a bootstrap server's, a static voter's.

Decides: when to look, and what a look has shown. It looks before the first request, and again after one has failed:
whoever answers ApiVersions there speaks Kafka's protocol (a Java controller, or our own CONTROLLER listener), whoever
ends the connection or says something else speaks gRPC. Must not know: what is asked.
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
"""ApiVersions v0, without a client's id: every node of Kafka's answers it."""
_QUESTION: Final = struct.pack(">i", len(_BODY)) + _BODY
_ANSWER_BYTES: Final = 8
"""The answer's length and correlation id."""


async def speaks_kafka(at: Endpoint) -> bool:
    """Whether Kafka's protocol is spoken there.

    Raises:
        OSError: nobody can be reached.
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
    """What was found, and the looks under way. `close` ends it."""

    def __init__(self) -> None:
        self._kafkas: dict[str, bool] = {}
        self._looking: set[asyncio.Task[None]] = set()

    def find(
        self, at: Endpoint, timeout_ms: int, then: Callable[[bool], None], on_failure: Callable[[PeerFailure], None]
    ) -> None:
        """Call `then` with whether Kafka's protocol is spoken there, at once if that is known.

        If the look fails, `on_failure` gets the reason in a later turn.
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
        """A request there has failed: somebody else may listen there by now."""
        self._kafkas.pop(address_of(at), None)

    async def close(self) -> None:
        """Look no more."""
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
