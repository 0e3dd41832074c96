"""An agent's readiness: named checks in addition to those of its observer, each with the reason while it fails.

Must not know HTTP or gRPC. A part of the agent that can be unready adds its own source of checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from broker_agent.lifecycle import Lifecycle, Phase
from quorum.api.error_codes import Error
from quorum.node.core.ports import NodeEvent, RequestRejected
from quorum.node.core.view import NodeView
from quorum.node.process.health import Check, check_ready

CheckSource = Callable[[NodeView], Iterable[Check]]

_WAITS: Final = {
    Phase.STARTING: "it has not registered yet: no controller has answered",
    Phase.CATCHING_UP: "it is registered and fenced: it has not applied the log up to its registration yet",
    Phase.RECOVERING: "it is registered and fenced: the controller has not unfenced it yet",
    Phase.LEAVING: "it is leaving: the controller moves its leaders away",
    Phase.LEFT: "it has left",
}
_OTHER_CLUSTER: Final = (
    "Compare that id with ClusterId in `kraft quorum describe` of that controller: either "
    "controller.quorum.bootstrap.servers names another cluster's controllers, or log.dirs names another cluster's "
    "directories. Correct the one that is wrong, and restart this agent; format no directory that holds data"
)
_HINTS: Final = {
    Error.DUPLICATE_BROKER_REGISTRATION: "stop the other process, or give this one another node.id",
    Error.INCONSISTENT_CLUSTER_ID: "compare cluster.id in meta.properties of log.dirs with ClusterId in `kraft quorum "
    "describe`, and look at controller.quorum.bootstrap.servers",
    Error.UNSUPPORTED_VERSION: "upgrade this agent, or downgrade the feature",
    Error.CLUSTER_AUTHORIZATION_FAILED: "grant it ClusterAction on the cluster",
}


class Readiness:
    """All checks of one agent: the checks of any node, then those of each source, in the order of `add`."""

    def __init__(self, *sources: CheckSource) -> None:
        self._sources: Final = list(sources)

    def add(self, source: CheckSource) -> None:
        """Add a source of checks. It is called for every readiness query, in the event loop's thread."""
        self._sources.append(source)

    def more(self, view: NodeView) -> tuple[Check, ...]:
        """Return the checks of the sources alone."""
        return tuple(check for source in self._sources for check in source(view))

    def checks(self, view: NodeView) -> tuple[Check, ...]:
        """Return every check."""
        return (*check_ready(view), *self.more(view))


class RegistrationCheck:
    """The check `registered`: the controller has accepted this broker and does not keep it fenced."""

    def __init__(self, life: Lifecycle) -> None:
        self._life: Final = life

    def __call__(self, view: NodeView) -> tuple[Check, ...]:
        """See `CheckSource`."""
        life = self._life
        is_in = life.phase is Phase.RUNNING
        if is_in and not life.is_fenced:
            what = f"as broker {view.node_id}, epoch {life.broker_epoch}"
        elif life.last_refusal is not None:
            what = _refused(life.last_refusal, life.refusal_text, life.phase)
        elif view.held is not None and life.phase is Phase.STARTING:
            what = "this agent holds, and asks no controller for a registration (see log-of-this-quorum)"
        else:
            what = _WAITS.get(life.phase, "the controller keeps it fenced")
        return (Check(name="registered", is_ok=is_in and not life.is_fenced, what=what),)


def _refused(error: Error, text: str, phase: Phase) -> str:
    asked = "registration" if phase is Phase.STARTING else "heartbeats"
    why = f"{error.name}: {text.rstrip('.')}" if text else error.name
    hint = _HINTS.get(error)
    return f"the controller refuses its {asked}: {why}; {f'{hint}; ' if hint else ''}it is asked again and again"


class ClusterIdCheck:
    """The check `cluster-id`: the last controller that judged this agent's cluster id in a Fetch accepted it.

    A watcher of the driver. A controller that serves a Fetch has compared the ids.
    """

    def __init__(self, cluster_id: str, now_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000) -> None:
        """`now_ms`: the monotonic clock."""
        self._cluster_id: Final = cluster_id
        self._now_ms: Final = now_ms
        self._refusal: tuple[int, str] | None = None

    def on_event(self, event: NodeEvent) -> None:
        """See `quorum.node.core.ports.Watcher`."""
        if isinstance(event, RequestRejected) and event.error is Error.INCONSISTENT_CLUSTER_ID and not event.by_us:
            self._refusal = (self._now_ms(), event.peer)

    def __call__(self, view: NodeView) -> tuple[Check, ...]:
        """See `CheckSource`."""
        if self._refusal is None:
            return (Check(name="cluster-id", is_ok=True, what=self._cluster_id),)
        at_ms, peer = self._refusal
        if view.heard_age_ms is not None and view.heard_age_ms < self._now_ms() - at_ms:
            return (Check(name="cluster-id", is_ok=True, what=self._cluster_id),)
        what = (
            f"the cluster.id in meta.properties of this agent's log directories is {self._cluster_id}, and {peer} "
            f"refuses it: it has another. {_OTHER_CLUSTER}. It is asked again and again"
        )
        return (Check(name="cluster-id", is_ok=False, what=what),)
