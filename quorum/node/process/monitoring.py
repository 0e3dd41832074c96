"""The monitoring of one node: its log lines, its metrics, and the small HTTP server that serves them.

Must not know: the purpose of the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metadata_log.voters import Endpoint
from quorum.node.core.ports import Watcher
from quorum.node.core.view import NodeView
from quorum.node.process.http_server import HttpServer
from quorum.node.process.log_lines import LogWatcher, Watchers
from quorum.node.process.metrics import NodeMetrics
from quorum.node.process.refusals import Refusals


class Monitoring:
    """Made before the driver, which takes `watcher` and `metrics.syncs`; started once the node exists."""

    def __init__(self, node_id: int, *more: Watcher) -> None:
        self.refusals: Final = Refusals(node_id)
        """The refusals of all listeners of this process."""
        self.metrics: Final = NodeMetrics(self.refusals)
        self.watcher: Final = Watchers(LogWatcher(node_id, refusals=self.refusals), self.metrics, *more)
        self.server: HttpServer | None = None

    async def start(self, view: Callable[[], NodeView], endpoint: Endpoint | None) -> None:
        """Serve /livez, /readyz and /metrics on `http.listener`, if it is set.

        Raises:
            ListenError: the address cannot be bound.
        """
        if endpoint is not None:
            self.server = HttpServer(view, self.metrics, self.refusals)
            await self.server.start(endpoint)

    async def stop(self) -> None:
        """Stop serving."""
        if self.server is not None:
            await self.server.stop()
