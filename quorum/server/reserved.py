"""Holds a CONTROLLER port, where Kafka's protocol will be spoken: nobody else may take it meanwhile.

Decides: how those who come there are turned away. A gRPC client is told which address it wants, in the debug data of an
HTTP/2 GOAWAY (RFC 9113, 6.8), which gRPC shows in the status of the failed call; anybody else is closed.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Final, cast

from metadata_log.voters import Endpoint
from quorum.server.grpc.listen import ListenError
from quorum.transport.misdirected import refusal

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD_BYTES: Final = 9
_HEADERS: Final = 1
_SETTINGS: Final = 4
_GOAWAY: Final = 7
_NO_ERROR: Final = 0
_LARGEST_STREAM: Final = (1 << 31) - 1
_PATIENCE_S: Final = 5.0
"""A connection that asks for nothing in that time is closed."""
_MAX_BUFFERED: Final = 64 * 1024


class ReservedPort:
    """One bound CONTROLLER listener."""

    def __init__(self, server: asyncio.Server, open_ones: set[asyncio.Transport]) -> None:
        self._server = server
        self._open = open_ones

    @property
    def port(self) -> int:
        """Where it is bound."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Give the port back, and close who is there."""
        self._server.close()
        for transport in tuple(self._open):
            transport.abort()
        await self._server.wait_closed()


async def reserve(endpoint: Endpoint, node_id: int, grpc_endpoint: Endpoint) -> ReservedPort:
    """Bind a CONTROLLER listener; `grpc_endpoint` is the one that others are told.

    Raises:
        ListenError: the address is in use or not of this host.
    """
    text = refusal(endpoint.name, node_id, grpc_endpoint).encode()
    open_ones: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(lambda: _Visitor(text, open_ones), endpoint.host or None, endpoint.port)
    except OSError as error:
        raise ListenError(f"cannot listen at {endpoint}: {error.strerror or error}") from error
    return ReservedPort(server, open_ones)


class _Visitor(asyncio.Protocol):
    """One connection. The GOAWAY comes with the first request: one that came earlier would make gRPC try again."""

    def __init__(self, text: bytes, open_ones: set[asyncio.Transport]) -> None:
        self._text = text
        self._open = open_ones
        self._received = b""
        self._is_http2 = False
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        # uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self._transport)
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._transport is None or self._transport.is_closing():
            return
        self._received += data
        if not self._is_http2:
            if not _PREFACE.startswith(self._received[: len(_PREFACE)]):
                self._transport.close()
                return
            if len(self._received) < len(_PREFACE):
                return
            self._is_http2 = True
            self._received = self._received[len(_PREFACE) :]
            self._transport.write(_frame(_SETTINGS, b""))
        if self._has_request():
            self._transport.write(_frame(_GOAWAY, struct.pack(">II", _LARGEST_STREAM, _NO_ERROR) + self._text))
            self._transport.close()
        elif len(self._received) > _MAX_BUFFERED:
            self._transport.close()

    def _has_request(self) -> bool:
        while len(self._received) >= _FRAME_HEAD_BYTES:
            size = int.from_bytes(self._received[:3], "big")
            if self._received[3] == _HEADERS:
                return True
            if len(self._received) < _FRAME_HEAD_BYTES + size:
                return False
            self._received = self._received[_FRAME_HEAD_BYTES + size :]
        return False


def _frame(kind: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, 0)) + b"\0\0\0\0" + payload
