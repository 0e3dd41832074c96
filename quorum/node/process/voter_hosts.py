"""The addresses of the voters' hosts, which have separate places at the gRPC listener.

Decides: when names are resolved: in the background, never while a call waits.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Iterable
from typing import Final

from metadata_log.voters import Endpoint
from quorum.api.quorum_description import QuorumDescription

_REFRESH_S: Final = 10.0
"""The interval of resolution: a pod that moves keeps its name and changes its address."""


class VoterHosts:
    """The hosts of the latest voter set, as addresses."""

    def __init__(self, endpoints: Callable[[], Iterable[Endpoint]]) -> None:
        self._endpoints = endpoints
        self._literal: frozenset[str] = frozenset()
        self._resolved: frozenset[str] = frozenset()
        self._read_at_s = float("-inf")
        self._resolving: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, describe: Callable[[], QuorumDescription]) -> VoterHosts:
        """Return the hosts of the voters that a node describes."""
        return cls(lambda: [at for voter in describe().voters for at in voter.endpoints])

    def __contains__(self, host: str) -> bool:
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        if now_s - self._read_at_s >= _REFRESH_S:
            self._read_at_s = now_s
            self._refresh(loop)
        return host in self._literal or host in self._resolved

    def _refresh(self, loop: asyncio.AbstractEventLoop) -> None:
        hosts = {endpoint.host for endpoint in self._endpoints()}
        self._literal = frozenset(host for host in hosts if _is_address(host))
        names = hosts - self._literal
        if not names:
            self._resolved = frozenset()
        elif self._resolving is None or self._resolving.done():
            self._resolving = loop.create_task(self._resolve(loop, sorted(names)), name="voter-hosts")

    async def _resolve(self, loop: asyncio.AbstractEventLoop, names: list[str]) -> None:
        """Resolve the names. One without an address now has none: its voter is served as any other client."""
        answers = await asyncio.gather(*(loop.getaddrinfo(name, None) for name in names), return_exceptions=True)
        self._resolved = frozenset(
            str(found[4][0]) for answer in answers if not isinstance(answer, BaseException) for found in answer
        )

    def close(self) -> None:
        """Stop the resolution."""
        if self._resolving is not None:
            self._resolving.cancel()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
