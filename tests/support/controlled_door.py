"""A real gRPC listener before a real controller machine with its own log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.controller.authorizer import Authorizer
from tests.support.controller import ControlledCluster
from tests.support.scripted_node import ScriptedNode, served


class Controlled:
    """A controller machine behind the listener: the requests that came, and its responses."""

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self.cluster = ControlledCluster()
        self.cluster.start(11, 12)
        self.asked: list[object] = []
        self._context = RequestContext(authorizer=authorizer)

    def answer(self, call: ClientCall) -> ClientAnswer:
        """Return the machine's response at once."""
        self.asked.append(call.request)
        result = self.cluster.ask(call.request, self._context)  # type: ignore[arg-type]
        return ClientAnswer(response=result.response, image_offset=self.cluster.next_offset)


@asynccontextmanager
async def controlled(authorizer: Authorizer | None = None) -> AsyncIterator[tuple[Controlled, str]]:
    """Serve the machine; yield it and its address."""
    machine, node = Controlled(authorizer), ScriptedNode()
    node.at_once = machine.answer
    async with served(node) as address:
        yield machine, address
