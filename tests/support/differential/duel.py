"""Sends the same requests to both clusters, one after another, and reports each difference with request and responses.

Decides: nothing; a difference is said with the request and both answers.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.support.differential.asks import Ask, seconds
from tests.support.differential.explained import is_left_unsaid, is_refusal, quotas_named_twice, without_explained
from tests.support.differential.requests import (
    ALTER_PARTITION_REASSIGNMENTS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    draw_request,
)
from tests.support.differential.sides import CLOSED, Side
from tests.support.differential.world import LONG_NAME, NAMES, World

_NONE = "none"


class Difference(msgspec.Struct, frozen=True):
    """One request with different responses."""

    number: int
    ask: Ask
    ours: Any
    kafkas: Any

    def __str__(self) -> str:
        return f"request {self.number}: {self.ask}\n  ours:    {self.ours}\n  Kafka's: {self.kafkas}".replace(
            LONG_NAME, "t*249"
        )


Address = tuple[str, int]


def _ours(at: Address) -> Side:
    return Side("ours", *at, must_answer=True)


def _kafkas(at: Address) -> Side:
    return Side("Kafka's", *at, must_answer=False)


class Duel:
    """The requests so far, the world that they made, and the differences.

    `found`: every request with different responses. `world`: what Kafka's cluster then has; later requests are about
    it.
    """

    def __init__(self, seed: int, versions: dict[int, range]) -> None:
        self.found: list[Difference] = []
        self.world = World()
        self._chance = random.Random(seed)
        self._versions = versions

    async def play(self, count: int, ours: Address, kafkas: Address) -> None:
        """Send `count` drawn requests to both, at the listener of each active controller."""
        async with _ours(ours) as mine, _kafkas(kafkas) as theirs:
            await self._play(count, mine, theirs)

    async def play_forms(self, forms: Sequence[Sequence[Ask]], ours: Address, kafkas: Address) -> None:
        """Send these requests instead of drawn ones; each form of several requests begins without topics."""
        async with _ours(ours) as mine, _kafkas(kafkas) as theirs:
            for form in forms:
                for number, ask in enumerate(form):
                    await self._ask_both(number, ask, mine, theirs)
                await self._begin_anew(mine, theirs)

    async def _play(self, count: int, ours: Side, kafkas: Side) -> None:
        for number in range(count):
            ask = draw_request(self._chance, self.world, self._versions)
            if not await self._ask_both(number, ask, ours, kafkas):
                await self._begin_anew(ours, kafkas)

    async def _ask_both(self, number: int, ask: Ask, ours: Side, kafkas: Side) -> bool:
        mine, theirs = await ours.ask(ask), await kafkas.ask(ask)
        self.world.quotas_apart |= quotas_named_twice(ask)
        if ask.key == ALTER_PARTITION_REASSIGNMENTS:
            await asyncio.gather(ours.await_moved(), kafkas.await_moved())
        if theirs == CLOSED and (is_refusal(mine) or is_left_unsaid(ask)):
            return True
        if without_explained(ask, mine) == without_explained(ask, theirs):
            _learn(self.world, ask, theirs)
            return True
        self.found.append(Difference(number, ask, mine, theirs))
        return False

    async def _begin_anew(self, *sides: Side) -> None:
        """Delete all topics, so that one difference is reported once, and not again by every request built on it."""
        everything = tuple({"name": name, "topic_id": None} for name in NAMES)
        for side in sides:
            await side.ask(Ask(DELETE_TOPICS, 6, {"topics": everything, "timeout": seconds(30)}))
            side.forget()
        self.world.clear()


def _learn(world: World, ask: Ask, answer: Any) -> None:
    if ask.fields.get("validate_only"):
        return
    if ask.key == CREATE_TOPICS:
        asked = {topic["name"]: topic for topic in ask.fields["topics"]}
        for topic in answer["topics"]:
            if topic["error_code"] == _NONE:
                _learn_created(world, ask, asked[topic["name"]], topic)
    elif ask.key == DELETE_TOPICS:
        for topic in answer["responses"]:
            if topic["error_code"] == _NONE and topic["name"] in world.topics:
                world.on_deleted(topic["name"])
    elif ask.key == ALTER_PARTITION_REASSIGNMENTS:
        world.moved.update(topic["name"] for topic in ask.fields["topics"])
    elif ask.key == CREATE_PARTITIONS:
        asked = {topic["name"]: topic for topic in ask.fields["topics"]}
        for topic in answer["results"]:
            if topic["error_code"] == _NONE:
                _learn_grown(world, asked[topic["name"]])


def _learn_created(world: World, ask: Ask, asked: dict[str, Any], told: dict[str, Any]) -> None:
    name, by_hand = asked["name"], asked["assignments"]
    count = told.get("num_partitions") or len(by_hand) or abs(asked["num_partitions"])
    world.on_created(name, count, told_id="topic_id" in told)
    world.by_hand.update((name, index) for index in range(len(by_hand)))


def _learn_grown(world: World, asked: dict[str, Any]) -> None:
    topic = world.topics[asked["name"]]
    if asked["assignments"] is not None:
        world.by_hand.update((asked["name"], index) for index in range(topic.partitions, asked["count"]))
    topic.partitions = asked["count"]
