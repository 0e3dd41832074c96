"""Runs a scenario from beginning to end: faults first, then the cluster quiesces and must recover.

Decides: when it quiesces, and when it has recovered. `run_scenario` returns an `Outcome` in every case.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from metadata_log.errors import InvariantViolation
from tests.simulation import world as w
from tests.simulation.checkers import InvariantFailure
from tests.simulation.checkers.liveness import BOUND_MS, check_recovered, unrest
from tests.simulation.cluster import Cluster
from tests.simulation.faults import inject, quiesce
from tests.simulation.node import DATA
from tests.simulation.operators import upgrade
from tests.simulation.setup import Setup

_LOOK_MS: Final = 100


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a scenario; without a `checker` if every invariant held."""

    setup: Setup
    events: int
    virtual_ms: int
    digest: str
    happened: dict[str, int] = msgspec.field(default_factory=dict)
    checker: str | None = None
    what: str = ""
    where: str = ""
    """The traceback of an error that no checker raised."""

    @property
    def is_clean(self) -> bool:
        """Return True if every invariant held."""
        return self.checker is None


def run_scenario(setup: Setup, watch: Callable[[int, int, str], None] | None = None) -> Outcome:
    """Run it. Any failure is in the outcome; a crash of the code under test is the checker `crash`."""
    configuration = structlog.get_config()
    structlog.configure(processors=[_drop])
    cluster = Cluster(setup)
    cluster.world.watch = watch
    checker, what, where = None, "", ""
    try:
        _run(cluster)
    except InvariantFailure as broken:
        checker, what = broken.checker, broken.what
    except InvariantViolation as violation:
        checker, what, where = "invariant", str(violation), traceback.format_exc()
    except Exception as error:  # noqa: BLE001 - any error of the code under test is a result
        checker, what, where = "crash", f"{type(error).__name__}: {error}", traceback.format_exc()
    finally:
        structlog.configure(**configuration)
    world = cluster.world
    return Outcome(
        setup=setup,
        events=world.events,
        virtual_ms=world.now_us // w.US_PER_MS,
        digest=world.digest,
        happened=world.happened,
        checker=checker,
        what=what,
        where=where,
    )


def _drop(*_: object) -> dict[str, object]:
    raise structlog.DropEvent


def _run(cluster: Cluster) -> None:
    world, setup = cluster.world, cluster.setup
    for at, step in enumerate(setup.steps):
        world.at(step.at_ms * w.US_PER_MS, _inject, cluster, at)
    cluster.start()
    world.run_until(setup.duration_ms * w.US_PER_MS)
    quiesce(cluster)
    _recover(cluster)
    cluster.checkers.on_end(cluster, DATA)


def _inject(cluster: Cluster, at: int) -> None:
    step = cluster.setup.steps[at]
    cluster.world.count(w.FAULT, 0, at)
    inject(cluster, step.fault, step.pick)


def _recover(cluster: Cluster) -> None:
    """Let clients go on for a moment, then request one last topic, and wait until all has recovered."""
    world = cluster.world
    end_us = world.now_us + BOUND_MS * w.US_PER_MS
    world.run_until(world.now_us + 2 * _LOOK_MS * w.US_PER_MS)
    for asker in (*cluster.clients, *cluster.administrators):
        asker.is_stopping = True
    unrested = unrest(cluster)
    while unrested is not None and world.now_us < end_us:
        world.run_until(world.now_us + _LOOK_MS * w.US_PER_MS)
        unrested = unrest(cluster)
    if unrested is None and cluster.setup.static_voters and not any(node.is_lost for node in cluster.voters):
        unrested = _move_voters(cluster, end_us)
    if unrested is None:
        unrested = _last_words(cluster, end_us)
    check_recovered(cluster, unrested)


def _move_voters(cluster: Cluster, end_us: int) -> str | None:
    """Move static voters into the log, if that has not happened yet: each is up and sends the leader its directory."""
    world = cluster.world
    while not cluster.checkers.voters.is_upgraded and world.now_us < end_us:
        upgrade(cluster)
        world.run_until(world.now_us + _LOOK_MS * w.US_PER_MS)
    return None if cluster.checkers.voters.is_upgraded else "kraft.version is still 0"


def _last_words(cluster: Cluster, end_us: int) -> str | None:
    """Create a new topic and wait until every replica has it; brokers that were fenced may need a moment."""
    world, client = cluster.world, cluster.clients[0]
    for attempt in range(1000):
        topic = f"peace{attempt}"
        client.ask("create", topic)
        while client.busy is not None and world.now_us < end_us:
            world.run_until(world.now_us + _LOOK_MS * w.US_PER_MS)
        operation = cluster.checkers.history.operations[-1]
        if operation.outcome == "NONE" or world.now_us >= end_us:
            break
    unrested: str | None = f"a new topic is answered {operation.outcome or 'not at all'}"
    if operation.outcome != "NONE":
        return unrested
    while (unrested := unrest(cluster)) is not None and world.now_us < end_us:
        world.run_until(world.now_us + _LOOK_MS * w.US_PER_MS)
    return unrested
