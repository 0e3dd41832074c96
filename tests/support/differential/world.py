"""The topics that both clusters have, as far as the responses show.

Decides: what is remembered. Must not know: which requests there are.
"""

from __future__ import annotations

import random
from typing import Final, TypeAlias

import msgspec

BROKERS: Final = (11, 12, 13)
LONG_NAME: Final = "t" * 249
NAMES: Final = ("orders", "a.b", "a_b", "x", "billing-2", "events", LONG_NAME)
QuotaEntity: TypeAlias = frozenset[tuple[str, str | None]]
"""Types and names, as in a request for quotas."""

_BAD_NAMES: Final = ("", ".", "..", "with space", "t" * 250, "sl/ash", "ünï", "__cluster_metadata", "nul\0")


class Topic(msgspec.Struct):
    """A topic that both clusters have; without `nth` if no response gave its id."""

    partitions: int
    nth: int | None


class World:
    """The topics and quotas so far, by the responses."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.given: dict[str, int] = {}
        self.by_hand: set[tuple[str, int]] = set()
        """Partitions (by name and index) whose replicas the requests have named: equal in both clusters."""

        self.moved: set[str] = set()
        """Topics whose partitions were reassigned, and may differ in their number of replicas."""

        self.quotas_apart: set[QuotaEntity] = set()
        """Entities whose quotas differ by intention; deleting topics does not undo this."""

    def on_created(self, name: str, partitions: int, *, told_id: bool) -> None:
        """Note a created topic."""
        nth = self.given.get(name, 0) if told_id else None
        if nth is not None:
            self.given[name] = nth + 1
        self.topics[name] = Topic(partitions=partitions, nth=nth)

    @property
    def led_alike(self) -> set[tuple[str, int]]:
        """Return those partitions that still exist."""
        return {(name, index) for name, index in self.by_hand if name in self.topics}

    def clear(self) -> None:
        """Forget all topics and ids."""
        self.topics.clear()
        self.given.clear()
        self.by_hand.clear()
        self.moved.clear()

    def on_deleted(self, name: str) -> None:
        """Note a deleted topic."""
        del self.topics[name]
        self.moved.discard(name)
        self.by_hand = {(topic, index) for topic, index in self.by_hand if topic != name}


def any_name(chance: random.Random) -> str:
    """Draw a topic's name, sometimes an invalid one."""
    return chance.choice(_BAD_NAMES) if chance.random() < 0.12 else chance.choice(NAMES)


def known_name(chance: random.Random, world: World) -> str:
    """Draw a name, mostly of an existing topic."""
    return chance.choice(tuple(world.topics)) if world.topics and chance.random() < 0.8 else any_name(chance)


def some_brokers(chance: random.Random) -> tuple[int, ...]:
    """Draw replicas of a partition, mostly valid ones."""
    if chance.random() < 0.12:
        return chance.choice(((), (11, 11), (11, 99), (-1,), (99,)))
    return tuple(chance.sample(BROKERS, chance.choice((1, 2, 2, 2, 2, 3))))
