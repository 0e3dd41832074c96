"""Kafka's protocol as a client uses it, over a real connection; kio writes the requests and reads the responses."""

from __future__ import annotations

import asyncio
import io
import struct
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any

from kio.index import load_payload_module, load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from metadata_log.voters import Endpoint
from quorum.server.kafka.bounds import Limits
from quorum.server.kafka.listen import KafkaListener, listen_kafka
from quorum.server.kafka.offered_versions import OFFERED
from quorum.server.node import Node
from quorum.transport.kafka import beside_kio

GRPC = Endpoint(name="GRPC", host="::1", port=9094)
WAIT_S = 20.0


def is_beside_kio(key: int, version: int) -> bool:
    """Return True if kio has no such message and the product declares it."""
    return key in OFFERED and (OFFERED[key].name, version) in beside_kio.DECLARED


def request_schema(key: int, version: int) -> Any:
    """Return the class of a request: kio's, or the one declared beside kio."""
    return _declared(key, "Request") if is_beside_kio(key, version) else load_request_schema(key, version)


def response_schema(key: int, version: int) -> Any:
    """Return the class of a response: kio's, or the one declared beside kio."""
    return _declared(key, "Response") if is_beside_kio(key, version) else load_response_schema(key, version)


def _declared(key: int, kind: str) -> Any:
    name = "".join(word.capitalize() for word in OFFERED[key].name.split("_"))
    return getattr(beside_kio, f"{name}{kind}")


def request_bytes(key: int, version: int, body: bytes, correlation_id: int = 1, client_id: str | None = "me") -> bytes:
    """Return a whole frame with this body."""
    client = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id.encode()
    tags = b"\0" if request_schema(key, version).__flexible__ else b""
    data = struct.pack(">hhi", key, version, correlation_id) + client + tags + body
    return struct.pack(">i", len(data)) + data


def written(entity: Any) -> bytes:
    """Return an entity's bytes, written by kio."""
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def requests_of(key: int, version: int) -> ModuleType:
    """Return kio's module of a request, which holds the entities of its fields."""
    if is_beside_kio(key, version):
        return beside_kio
    return load_payload_module(key, version, EntityType.request)


class KafkaClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation_id = 0

    async def ask(self, request: Any) -> Any:
        """Send kio's entity of a request; return its response."""
        await self.send(request)
        return await self.answer(type(request).__api_key__, type(request).__version__, self._correlation_id)

    async def send(self, request: Any) -> None:
        """Send a request without waiting."""
        self._correlation_id += 1
        kind = type(request)
        await self.send_bytes(request_bytes(kind.__api_key__, kind.__version__, written(request), self._correlation_id))

    async def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, key: int, version: int, correlation_id: int) -> Any:
        """Return the next response, which must be to that request."""
        data = await self.frame()
        kind = response_schema(key, version)
        header, at = entity_reader(kind.__header_schema__)(data, 0)
        assert header.correlation_id == correlation_id
        entity, size = entity_reader(kind)(data, at)
        assert at + size == len(data)
        return entity

    async def frame(self) -> bytes:
        """Return the next response's bytes, without their length."""
        async with asyncio.timeout(WAIT_S):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def is_closed(self) -> bool:
        """Wait for the connection's end; return False if bytes come first."""
        async with asyncio.timeout(WAIT_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionResetError:
                return True

    def close(self) -> None:
        """Close the connection."""
        self.writer.close()


@asynccontextmanager
async def kafka_door(node: Node, limits: Limits | None = None, *, port: int = 0) -> AsyncIterator[KafkaListener]:
    """Serve a node's Kafka listener on loopback."""
    at = Endpoint(name="CONTROLLER", host="127.0.0.1", port=port)
    door = await listen_kafka(at, node, 3, GRPC, limits or Limits())
    try:
        yield door
    finally:
        await door.close()


@asynccontextmanager
async def connected_to(host: str, port: int) -> AsyncIterator[KafkaClient]:
    """Connect to any host and port."""
    client = KafkaClient(*await asyncio.open_connection(host, port))
    try:
        yield client
    finally:
        client.close()


def connected(port: int) -> AbstractAsyncContextManager[KafkaClient]:
    """Connect to a listener on loopback."""
    return connected_to("127.0.0.1", port)
