"""The draws of one seed: the cluster's size, its load, the speed of links and disks, and its faults.

Decides: the ranges (swarm testing: each seed leaves out some kinds of fault and has many of others). Must not know: how
a fault is done. Only `scenario_of` turns a seed into a scenario.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

import msgspec

from metadata_log.storage.file_log import LogConfig
from quorum.node.core.retention import SnapshotConfig
from quorum.raft.config import RaftConfig
from tests.simulation.fault_names import (
    FAULTS,
    FOREIGN_FAULTS,
    LEADER_FAULTS,
    ROT,
    SNAPSHOT_FAULTS,
    UPGRADE_FAULTS,
    VOTER_FAULTS,
    VOTER_PLANS,
)

_CHANGES: Final = ("add voter", *VOTER_FAULTS)
CALM_MS: Final = 400
"""The time before the first fault."""
_FOREIGN: Final = 0xF02_001
_IDLE: Final = 0x1D1_FAC0
_STATIC: Final = 0x57A_79B
"""Drawn so that the red seeds, and the seeds in the table of planted bugs, keep their scenarios."""


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One fault: its time (ms of true time), its name, and 48 bits from which it makes all its choices."""

    at_ms: int
    fault: str
    pick: int


class LinkManners(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The links' behaviour: delay in microseconds, losses and duplicates as fractions."""

    least_us: int = 200
    spread_us: int = 800
    drop: float = 0.0
    duplicate: float = 0.0


class DiskManners(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The disks' behaviour: the time until a group of writes is durable, in microseconds."""

    least_us: int = 300
    spread_us: int = 1200


class Setup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything that a scenario is made of, besides randomness."""

    seed: int
    voters: int
    observers: int
    paper_brokers: int
    clients: int
    topics: int
    think_ms: int
    duration_ms: int
    link: LinkManners
    disk: DiskManners
    log: LogConfig
    snapshots: SnapshotConfig
    raft: RaftConfig
    drift: int
    """The most, in parts per million, by which clocks run too fast or too slow."""
    session_timeout_ms: int
    delete_delay_ms: int
    batches_in_flight: int
    steps: tuple[Step, ...]
    spares: int = 0
    """The number of controllers that are no voters at first."""
    changes_voters: bool = False
    auto_join: bool = False
    static_voters: bool = False
    """True if the voters are in the configuration at first (kraft.version 0)."""
    readers: int = 0
    """The number of additional clients that only read."""
    private_clients: int = 0
    """The number of clients with topics of their own, which no other client uses."""
    administrators: int = 0
    """The number of administrators: configs, reassignments, elections, ACLs and more, but no topics."""
    patience_ms: int = 3_000
    """The response timeout of a client."""
    max_idle_interval_ms: int | None = None
    """The idle time after which an active controller writes a NoOp; None: never."""


def scenario_of(seed: int) -> Setup:
    """Return the scenario of a seed. Each part of the mix has its own random draws, so that no part depends on
    another."""
    setup = _base(random.Random(seed ^ 0x5EED_0F_5708135), seed)
    setup = _with_waits(setup, random.Random(seed ^ 0x3A1_75))
    setup = _with_snapshots(setup, random.Random(seed ^ 0x5A_9540_7))
    setup = _with_plans(setup, random.Random(seed ^ 0x1EAD_E25))
    setup = _with_other_voters(setup, random.Random(seed ^ 0x0_7E25_0F_C0DE))
    setup = _with_administrators(setup, random.Random(seed ^ 0xAD_41_157))
    setup = _with_one_plan(setup, random.Random(seed ^ 0xF0C_05))
    setup = _with_static_voters(setup, random.Random(seed ^ _STATIC))
    setup = _with_idleness(setup, random.Random(seed ^ _IDLE))
    return _with_another_quorum(setup, random.Random(seed ^ _FOREIGN))


def _with_other_voters(setup: Setup, chance: random.Random) -> Setup:
    """Let operators add and remove voters and replace disks in one scenario in four, beside all other faults.

    No bits flip there: how many copies of a committed record may be lost depends on the voters.
    """
    if chance.randrange(4):
        return setup
    steps, at_ms = [step for step in setup.steps if step.fault not in ROT], CALM_MS
    kinds = (*_CHANGES, *(fault for fault in VOTER_PLANS if chance.randrange(2)))
    every_ms = chance.choice((80, 200, 600))
    while at_ms < setup.duration_ms:
        at_ms += 1 + int(chance.expovariate(1 / every_ms))
        steps.append(Step(at_ms=at_ms, fault=chance.choice(kinds), pick=chance.getrandbits(48)))
    return msgspec.structs.replace(
        setup,
        voters=chance.choice((1, 2, 3, 3, 3, 4)),
        spares=chance.choice((1, 1, 2)),
        changes_voters=True,
        auto_join=chance.randrange(3) == 0,
        steps=_sorted(step for step in steps if step.at_ms < setup.duration_ms),
    )


def _with_static_voters(setup: Setup, chance: random.Random) -> Setup:
    """Begin one scenario in ten with static voters, and an administrator who moves them into the log.

    Half of these scenarios have no other faults. In most, a leader soon gives up waiting for the commit of a change.
    """
    if chance.randrange(10):
        return setup
    kinds = [kind for kind in UPGRADE_FAULTS if chance.randrange(2)] or list(UPGRADE_FAULTS)
    if chance.randrange(2):
        setup = planned(setup, chance.choice(kinds), chance)
    every_ms, at_ms, steps = chance.choice((200, 800, 2_500)), CALM_MS, list(setup.steps)
    while (at_ms := at_ms + 1 + int(chance.expovariate(1 / every_ms))) < setup.duration_ms:
        steps.append(Step(at_ms=at_ms, fault=chance.choice(kinds), pick=chance.getrandbits(48)))
    raft = msgspec.structs.replace(setup.raft, request_timeout_ms=chance.choice((100, 400, 2_000)))
    return msgspec.structs.replace(setup, static_voters=True, raft=raft, steps=_sorted(steps))


def _with_another_quorum(setup: Setup, chance: random.Random) -> Setup:
    """Let another quorum answer agents, one scenario in ten."""
    if chance.randrange(10):
        return setup
    every_ms, at_ms, steps = chance.choice((300, 900)), CALM_MS, list(setup.steps)
    while (at_ms := at_ms + 1 + int(chance.expovariate(1 / every_ms))) < setup.duration_ms:
        steps.append(Step(at_ms=at_ms, fault=chance.choice(FOREIGN_FAULTS), pick=chance.getrandbits(48)))
    return msgspec.structs.replace(setup, observers=max(setup.observers, 1), steps=_sorted(steps))


def _with_administrators(setup: Setup, chance: random.Random) -> Setup:
    """Add administrators to one scenario in three."""
    return msgspec.structs.replace(setup, administrators=chance.choice((0, 0, 0, 0, 1, 2)))


def _with_one_plan(setup: Setup, chance: random.Random) -> Setup:
    """Make two scenarios in five about one kind of plan alone, which other faults would mostly cut short."""
    if chance.randrange(5) < 3:
        return setup
    return planned(setup, chance.choice((*LEADER_FAULTS, *VOTER_PLANS, "depose", "two changes")), chance)


def planned(setup: Setup, fault: str, chance: random.Random) -> Setup:
    """Return three voters, busy and impatient clients, and this plan four times."""
    changes = fault in VOTER_PLANS
    patience_ms = chance.choice((300, 6_000))
    return msgspec.structs.replace(
        setup,
        voters=3,
        spares=int(changes),
        changes_voters=changes,
        auto_join=changes and setup.auto_join,
        observers=0,
        paper_brokers=1,
        clients=3,
        private_clients=1,
        readers=2,
        administrators=0,
        patience_ms=300 if fault == "late proof" else patience_ms,  # otherwise no client reads while a response is late
        think_ms=2,
        topics=chance.choice((1, 8)),
        duration_ms=6_000,
        steps=tuple(Step(at_ms=500 + 1300 * at, fault=fault, pick=chance.getrandbits(48)) for at in range(4)),
    )


def _with_waits(setup: Setup, chance: random.Random) -> Setup:
    """Draw how long a leader parks Fetches: also far longer than any sensible configuration."""
    raft = msgspec.structs.replace(
        setup.raft,
        high_watermark_wait_ms=chance.choice((0, 2, 10, 10, 80)),
        spare_fetch_wait_ms=chance.choice((0, 2, 5, 5, 80)),
    )
    return msgspec.structs.replace(setup, raft=raft, private_clients=chance.choice((0, 0, min(1, setup.clients - 1))))


def _with_idleness(setup: Setup, chance: random.Random) -> Setup:
    """Let idle controllers write NoOps in one scenario in five, mostly far more often than by default."""
    if chance.randrange(5):
        return setup
    return msgspec.structs.replace(setup, max_idle_interval_ms=chance.choice((20, 100, 500)))


def _sorted(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.at_ms))


def _base(chance: random.Random, seed: int) -> Setup:
    voters = chance.choice((1, 2, 3, 3, 3, 3, 4, 5))
    observers = chance.choice((0, 0, 1, 1, 2))
    duration_ms = chance.choice((2_000, 4_000, 8_000))
    setup = Setup(
        seed=seed,
        voters=voters,
        observers=observers,
        paper_brokers=1 if observers == 0 else chance.choice((0, 1)),
        clients=chance.choice((1, 2, 3, 5)),
        topics=chance.choice((1, 3, 8, 20)),
        think_ms=chance.choice((2, 5, 20, 100)),
        duration_ms=duration_ms,
        link=_link(chance),
        disk=DiskManners(least_us=chance.choice((50, 300, 2000)), spread_us=chance.choice((100, 1500, 12_000))),
        log=LogConfig(
            segment_bytes=chance.choice((600, 2000, 8000, 1 << 30)),
            index_interval_bytes=chance.choice((64, 4096)),
            cache_bytes=chance.choice((300, 2000, 1 << 20)),
        ),
        snapshots=SnapshotConfig(max_new_record_bytes=1 << 40, max_interval_ms=0),
        raft=RaftConfig(
            fetch_max_bytes=chance.choice((1, 400, 1 << 20)),
            max_parked_fetches=chance.choice((1, 10_000)),
        ),
        drift=chance.choice((0, 200, 20_000)),
        session_timeout_ms=chance.choice((1_500, 4_000, 9_000)),
        delete_delay_ms=chance.choice((0, 500, 5_000)),
        batches_in_flight=chance.choice((1, 1, 4)),
        steps=_steps(chance, duration_ms),
    )
    return setup if chance.randrange(4) else _elections(setup, chance)


def _with_plans(setup: Setup, chance: random.Random) -> Setup:
    """Give every second scenario clients that only read, and faults of leaders."""
    if chance.randrange(2) == 0:
        return setup
    kinds = [kind for kind in LEADER_FAULTS if chance.randrange(2)]
    count = chance.choice((1, 3, 8)) if kinds else 0
    steps = [
        Step(
            at_ms=chance.randrange(CALM_MS, setup.duration_ms), fault=chance.choice(kinds), pick=chance.getrandbits(48)
        )
        for _ in range(count)
    ]
    return msgspec.structs.replace(
        setup,
        readers=chance.choice((0, 1, 2)),
        patience_ms=chance.choice((300, 3_000)),
        steps=_sorted((*setup.steps, *steps)),
    )


def _with_snapshots(setup: Setup, chance: random.Random) -> Setup:
    """Let two scenarios in three take snapshots, most of them far too often, and trim; the others take none."""
    if chance.randrange(3) == 0:
        return setup
    sizes = (200, 1_000, 4_000, 1 << 30)
    snapshots = SnapshotConfig(
        max_new_record_bytes=chance.choice(sizes),
        max_interval_ms=chance.choice((0, 100, 1_500)),
        retention_bytes=chance.choice((0, 0, 3_000, -1)),
        retention_ms=chance.choice((-1, 500)),
        settle_ms=0,
    )
    every_ms, at_ms, steps = chance.choice((100, 400, 2_000)), CALM_MS, list(setup.steps)
    while (at_ms := at_ms + 1 + int(chance.expovariate(1 / every_ms))) < setup.duration_ms:
        steps.append(Step(at_ms=at_ms, fault=chance.choice(SNAPSHOT_FAULTS), pick=chance.getrandbits(48)))
    return msgspec.structs.replace(
        setup,
        snapshots=snapshots,
        log=msgspec.structs.replace(setup.log, segment_ms=chance.choice((50, 2_000, 1 << 40))),
        raft=msgspec.structs.replace(setup.raft, fetch_snapshot_max_bytes=chance.choice((300, 2_000, 1 << 20))),
        steps=_sorted(steps),
    )


def _elections(setup: Setup, chance: random.Random) -> Setup:
    """Make one scenario in four about elections alone: little load, messages that overtake each other, one storm after
    another.

    Such a scenario is cheap to run and meets many more elections.
    """
    steps, at_ms = [], CALM_MS
    while at_ms < setup.duration_ms:
        at_ms += 1 + int(chance.expovariate(1 / 120))
        fault = chance.choice(("storm", "storm", "storm", "blink", "cut off", "dead at an effect"))
        steps.append(Step(at_ms=at_ms, fault=fault, pick=chance.getrandbits(48)))
    spread_us = chance.choice((2_000, 10_000, 40_000))
    return msgspec.structs.replace(
        setup,
        voters=chance.choice((3, 3, 5)),
        observers=0,
        paper_brokers=1,
        clients=1,
        think_ms=40,
        link=msgspec.structs.replace(setup.link, spread_us=spread_us),
        steps=tuple(step for step in steps if step.at_ms < setup.duration_ms),
    )


def _link(chance: random.Random) -> LinkManners:
    return LinkManners(
        least_us=chance.choice((50, 200, 1500)),
        spread_us=chance.choice((50, 800, 5000, 40_000)),
        drop=chance.choice((0.0, 0.0, 0.01, 0.05)),
        duplicate=chance.choice((0.0, 0.0, 0.02)),
    )


def _steps(chance: random.Random, duration_ms: int) -> tuple[Step, ...]:
    """Draw the steps: some kinds of fault never, some often; one every 60 to 1200 ms on average."""
    names = sorted(FAULTS)
    weights = [chance.choice((0, 0, 1, 1, 3)) for _ in names]
    if not any(weights):
        weights[chance.randrange(len(weights))] = 1
    every_ms = chance.choice((60, 200, 500, 1200))
    steps = []
    at_ms = CALM_MS
    while True:
        at_ms += 1 + int(chance.expovariate(1 / every_ms))
        if at_ms >= duration_ms:
            return tuple(steps)
        fault = chance.choices(names, weights)[0]
        steps.append(Step(at_ms=at_ms, fault=fault, pick=chance.getrandbits(48)))
