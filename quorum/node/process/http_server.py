"""A small HTTP server for /livez, /readyz and /metrics.

Decides: the paths, status codes and text forms. Must not know: the meaning of the checks. It answers GET and HEAD, one
request for each connection, and bounds everything: connections, the size of a request, its duration. At the limit the
oldest connection makes room: a probe is answered within milliseconds, a silent client never.

`/readyz` is 200 or 503 with one line for each check, `[+]name what` or `[-]name what`, so that a probe's log shows what
failed. `?format=json` returns the same as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

from metadata_log.voters import Endpoint
from quorum.node.config.door_limits import HTTP_PLACES
from quorum.node.core.view import NodeView
from quorum.node.process.health import Check, are_ok, check_alive, check_ready
from quorum.node.process.listeners import cannot_listen, is_loopback
from quorum.node.process.metrics import NodeMetrics
from quorum.node.process.refusals import Refusals

_MAX_REQUEST_BYTES: Final = 8192
PLACES_FOR_LOOPBACK: Final = 8
"""Places that only this host can take, so that other hosts cannot block its probes."""
_HEADER_S: Final = 2.0
_TIMEOUT_S: Final = 5.0
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}
_TEXT: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_JSON: Final = "application/json"

Answer = tuple[int, str, bytes]


class Client(Protocol):
    """An open connection, as `Places` needs it."""

    def abort(self) -> None:
        """Close the connection at once."""


class Places:
    """The open connections, and the choice of the one that makes room for a new one."""

    def __init__(self, most: int = HTTP_PLACES, for_loopback: int = PLACES_FOR_LOOPBACK) -> None:
        self._most = most
        self._most_remote = most - for_loopback
        self._open: dict[Client, bool] = {}
        """The open connections in the order of their arrival; True for one from another host."""
        self._remote = 0

    def enter(self, client: Client, *, is_remote: bool) -> Client | None:
        """Add a new connection; return the one that was closed to make room, or None."""
        gone = None
        if len(self._open) >= self._most or (is_remote and self._remote >= self._most_remote):
            of_its_kind = (client for client, other in self._open.items() if other or not is_remote)
            gone = next(of_its_kind, next(iter(self._open)))
        if gone is not None:
            self.leave(gone)
            gone.abort()
        self._open[client] = is_remote
        self._remote += is_remote
        return gone

    def leave(self, client: Client) -> None:
        """Remove a closed connection."""
        self._remote -= self._open.pop(client, False)


class HttpServer:
    """Serves one node's health and metrics; `address` is known once it listens."""

    def __init__(
        self,
        view: Callable[[], NodeView],
        metrics: NodeMetrics,
        refusals: Refusals | None = None,
        more_ready: Callable[[NodeView], Iterable[Check]] = lambda view: (),
    ) -> None:
        """`more_ready`: further checks of `/readyz`, in addition to those of every node."""
        self._view = view
        self._metrics = metrics
        self._refusals = refusals or Refusals(-1)
        self._more_ready = more_ready
        self._server: asyncio.Server | None = None
        self._places = Places()
        self._pages: dict[str, Callable[[str], Awaitable[Answer]]] = {
            "/livez": self._alive,
            "/readyz": self._ready,
            "/metrics": self._show_metrics,
        }

    async def start(self, endpoint: Endpoint) -> None:
        """Listen.

        Raises:
            ListenError: the address is in use, or not of this host.
        """
        try:
            self._server = await asyncio.start_server(
                self._serve, endpoint.host or None, endpoint.port, limit=_MAX_REQUEST_BYTES
            )
        except OSError as error:
            raise cannot_listen(endpoint, error) from error

    @property
    def port(self) -> int:
        """The port on which it listens."""
        if self._server is None:
            raise RuntimeError("the server does not listen")
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        host = str(peer[0]) if peer else ""
        client = writer.transport
        if self._places.enter(client, is_remote=not is_loopback(host)) is not None:
            self._refusals.closed("HTTP", "limit", host, "there are too many connections: the oldest was closed")
        try:
            # The client may be gone, or send too slowly.
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(_TIMEOUT_S):
                    await self._answer(reader, writer, host)
        finally:
            self._places.leave(client)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        try:
            async with asyncio.timeout(_HEADER_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            self._refusals.closed("HTTP", "slow", host, f"its request was not whole after {_HEADER_S:g} s")
            raise
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            method, (status, kind, body) = "GET", (400, _TEXT, b"not an HTTP request\n")
        else:
            method, target = _request_line(head)
            status, kind, body = await self._page(method, target)
        if writer.is_closing():  #   # the connection was closed to make room
            return
        header = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        writer.write(header.encode("ascii") + (b"" if method == "HEAD" else body))
        await writer.drain()

    async def _page(self, method: str, target: str) -> Answer:
        if method not in ("GET", "HEAD"):
            return 405, _TEXT, b"only GET and HEAD\n" if method else b"not an HTTP request\n"
        path, _, query = target.partition("?")
        page = self._pages.get(path)
        if page is None:
            return 404, _TEXT, f"there are {', '.join(self._pages)}\n".encode()
        return await page(query)

    async def _alive(self, query: str) -> Answer:
        return _checks(check_alive(self._view()), query)

    async def _ready(self, query: str) -> Answer:
        view = self._view()
        return _checks((*check_ready(view), *self._more_ready(view)), query)

    async def _show_metrics(self, query: str) -> Answer:
        view = self._view()
        return 200, _METRICS, await asyncio.to_thread(self._metrics.render, view)


def _request_line(head: bytes) -> tuple[str, str]:
    parts = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    return (parts[0], parts[1]) if len(parts) == 3 and parts[2].startswith("HTTP/1.") else ("", "")


def _checks(checks: tuple[Check, ...], query: str) -> Answer:
    status = 200 if are_ok(checks) else 503
    if query == "format=json":
        named = {check.name: {"ok": check.is_ok, "what": check.what} for check in checks}
        return status, _JSON, json.dumps({"ok": status == 200, "checks": named}).encode() + b"\n"
    lines = [f"[{'+' if check.is_ok else '-'}]{check.name} {check.what}" for check in checks]
    return status, _TEXT, "\n".join([*lines, "ok" if status == 200 else "not ok", ""]).encode()
