"""One request to a Kafka listener whose node responds as the test says."""

from __future__ import annotations

from typing import Any

from quorum.api.calls import ClientAnswer, ClientCall
from quorum.controller.authorizer import Authorizer
from tests.support.kafka_wire import connected, kafka_door
from tests.support.loop import run
from tests.support.scripted_node import ScriptedNode


def exchange(request: Any, answer: ClientAnswer, *, host: str = "127.0.0.1") -> tuple[ClientCall, Any]:
    """Return the call that the controller got, and the response to the client; `host` is the client's address."""
    node = ScriptedNode()
    node.at_once = lambda call: answer

    async def main() -> Any:
        async with kafka_door(node) as door, connected(door.port) as client:
            return await client.ask(request)

    said = run(main())
    (call,) = node.calls
    assert (call.context.client_host, call.context.listener) == (host, "CONTROLLER")
    return call, said


def only_answer(request: Any, authorizer: Authorizer | None = None) -> Any:
    """Return the response to a request that does not reach a controller."""

    async def main() -> Any:
        node = ScriptedNode()
        node.authorizer = authorizer
        async with kafka_door(node) as door, connected(door.port) as client:
            said = await client.ask(request)
        assert node.calls == []
        return said

    return run(main())
