"""The real gRPC door with a real controller machine behind it, on a log of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quorum.api.calls import ClientAnswer, ClientCall
from quorum.api.context import RequestContext
from quorum.controller.authorizer import Authorizer
from tests.support.controller import ControlledCluster
from tests.support.scripted_node import ScriptedNode, served


class Controlled:
    """A controller machine behind the door: requests that came, and what it answers them with."""

    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self.cluster = ControlledCluster()
        self.cluster.start(11, 12)
        self.asked: list[object] = []
        self._context = RequestContext(authorizer=authorizer)

    def answer(self, call: ClientCall) -> ClientAnswer:
        """What the machine says, at once."""
        self.asked.append(call.request)
        result = self.cluster.ask(call.request, self._context)  # type: ignore[arg-type]
        return ClientAnswer(response=result.response, image_offset=self.cluster.next_offset)


@asynccontextmanager
async def controlled(authorizer: Authorizer | None = None) -> AsyncIterator[tuple[Controlled, str]]:
    """Serve it; yields it and its address."""
    machine, node = Controlled(authorizer), ScriptedNode()
    node.at_once = machine.answer
    async with served(node) as address:
        yield machine, address
