"""Draws requests about topics and their partitions.

Requests that leave the placement of replicas to the controller are drawn too, but no later request depends on it.
"""

from __future__ import annotations

import random
import uuid
from typing import Any, Final

from tests.support.differential.asks import TopicRef, seconds
from tests.support.differential.config_requests import some_configs
from tests.support.differential.world import BROKERS, World, any_name, known_name, some_brokers

_NO_TOPIC: Final = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
_SENTINEL: Final = uuid.UUID(int=1)


def create_topics(chance: random.Random, world: World) -> dict[str, Any]:
    topics = tuple(_creatable(chance) for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 3))))
    if topics and chance.random() < 0.1:
        topics = (*topics, topics[0])
    return {"topics": topics, "timeout": seconds(30), "validate_only": chance.random() < 0.15}


def _creatable(chance: random.Random) -> dict[str, Any]:
    by_hand = chance.random() < 0.4
    both = chance.random() < 0.1
    return {
        "name": any_name(chance),
        "num_partitions": -1 if by_hand and not both else chance.choice((-2, -1, -1, 0, 1, 1, 2, 3, 3, 5)),
        "replication_factor": -1 if by_hand and not both else chance.choice((-2, -1, -1, 0, 1, 2, 2, 3, 3, 4, 32767)),
        "assignments": _assignments(chance) if by_hand else (),
        "configs": some_configs(chance),
    }


def _assignments(chance: random.Random) -> tuple[dict[str, Any], ...]:
    count, size = chance.choice((1, 1, 2, 3)), chance.choice((1, 2, 3))
    rows = [tuple(chance.sample(BROKERS, size)) for _ in range(count)]
    if chance.random() < 0.2:
        rows[-1] = some_brokers(chance)
    indexes = list(range(count))
    if chance.random() < 0.15:
        indexes[-1] = chance.choice((0, -1, 1, 7))
    return tuple({"partition_index": index, "broker_ids": row} for index, row in zip(indexes, rows, strict=True))


def delete_topics(chance: random.Random, world: World) -> dict[str, Any]:
    states = tuple(_deletable(chance, world) for _ in range(chance.choice((0, 1, 1, 1, 2))))
    if states and chance.random() < 0.1:
        states = (*states, states[0])
    names = tuple(state["name"] for state in states if state["name"] is not None)
    return {"topics": states, "topic_names": names, "timeout": seconds(30)}


def _deletable(chance: random.Random, world: World) -> dict[str, Any]:
    name = known_name(chance, world)
    drawn = chance.random()
    if drawn < 0.5:
        return {"name": name, "topic_id": None}
    if drawn < 0.8 and world.given.get(name):
        # Also ids of deleted topics, and of a name that was created again.
        return {"name": None, "topic_id": TopicRef(name, chance.randrange(world.given[name]))}
    if drawn < 0.9 and name in world.topics and world.topics[name].nth is not None:
        return {"name": name, "topic_id": TopicRef(name, world.topics[name].nth or 0)}
    return {"name": None, "topic_id": chance.choice((_NO_TOPIC, _SENTINEL, None))}


def create_partitions(chance: random.Random, world: World) -> dict[str, Any]:
    topics = tuple(_growing(chance, world) for _ in range(chance.choice((0, 1, 1, 1, 2))))
    if topics and chance.random() < 0.1:
        topics = (*topics, topics[0])
    return {"topics": topics, "timeout": seconds(30), "validate_only": chance.random() < 0.15}


def _growing(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw a topic to grow, unless its partitions differ.

    This project gives a new partition as many replicas as partition 0 has. Kafka takes the first partition in the
    order of a hash map instead.
    """
    name = known_name(chance, world)
    if name in world.moved:
        name = "none"
    had = world.topics[name].partitions if name in world.topics else 1
    count = had + chance.choice((-1, 0, 1, 1, 2))
    assignments = None
    if chance.random() < 0.4:
        rows = max(0, count - had) + chance.choice((0, 0, 0, 0, 1))
        assignments = tuple({"broker_ids": some_brokers(chance)} for _ in range(rows))
    return {"name": name, "count": count, "assignments": assignments}


def alter_partition_reassignments(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw replicas by hand, or a cancellation of a reassignment that may not exist."""
    topics = {known_name(chance, world): _moved(chance, world) for _ in range(chance.choice((1, 1, 2)))}
    moved = tuple({"name": name, "partitions": parts} for name, parts in topics.items())
    return {"timeout": seconds(30), "allow_replication_factor_change": chance.random() < 0.8, "topics": moved}


def _moved(chance: random.Random, world: World) -> tuple[dict[str, Any], ...]:
    indexes = sorted({chance.choice((0, 0, 0, 1, 2, 9)) for _ in range(chance.choice((1, 1, 2)))})
    return tuple(
        {"partition_index": index, "replicas": None if chance.random() < 0.15 else some_brokers(chance)}
        for index in indexes
    )


def elect_leaders(chance: random.Random, world: World) -> dict[str, Any]:
    """Draw partitions whose leader both clusters must choose alike."""
    known = sorted(world.led_alike)
    drawn = {chance.choice(known) for _ in range(chance.choice((1, 2)))} if known else set()
    if chance.random() < 0.2:
        drawn.add((any_name(chance), 9))
    topics: dict[str, list[int]] = {}
    for name, index in sorted(drawn):
        topics.setdefault(name, []).append(index)
    asked = tuple({"topic": name, "partitions": tuple(indexes)} for name, indexes in topics.items())
    return {"election_type": chance.choice((0, 0, 0, 1)), "topic_partitions": asked, "timeout": seconds(30)}
