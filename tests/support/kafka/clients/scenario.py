"""One scenario for every client: topics created, described, deleted and created again; data written and read in every
way.

Must not know: which client runs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

PARTITIONS = 3
REPLICAS = 2
PATIENCE_S = 60.0
_LOOK_S = 0.1
_LOOKS = 10
"""Each look asks any broker: a state that all brokers know is seen this often in a row."""


class Player(Protocol):
    """One client behind a small interface; each raises its own errors."""

    def create(self, name: str, partitions: int, replicas: int) -> None:
        """Create a topic."""

    def delete(self, name: str) -> None:
        """Delete a topic by name."""

    def describe(self, name: str) -> dict[str, Any] | None:
        """Return `partitions`, and `id` if the client knows it; None if there is no such topic."""

    def describe_by_id(self, topic_id: str) -> str | None:
        """Return the topic's name; None if the client cannot describe by id."""

    def delete_by_id(self, topic_id: str) -> None:
        """Delete a topic by id, if the client can."""

    def produce(self, name: str, words: Sequence[str]) -> None:
        """Produce idempotently, and wait for the acknowledgement."""

    def transact(self, name: str, words: Sequence[str], *, commit: bool) -> None:
        """Produce in one transaction, and commit or abort it."""

    def consume(self, name: str, group: str, until: Callable[[list[str]], bool], *, commit: bool = True) -> list[str]:
        """Return words, without those of an open or aborted transaction, read in a group from its position or the
        beginning.

        It reads until the condition holds or the timeout ends; then the group exists, if `commit`.
        """


def play(player: Player, name: str) -> dict[str, Any]:
    """Run the scenario; the result is the same for each client, except for what it cannot ask."""
    player.create(name, PARTITIONS, REPLICAS)
    first = _until_there(player, name, None)
    told: dict[str, Any] = {
        "partitions": first["partitions"],
        "created_twice": _error(lambda: player.create(name, 1, 1)),
        "too_many_replicas": _error(lambda: player.create(f"{name}-wide", 1, 9)),
        "bad_name": _error(lambda: player.create(f"{name}/bad", 1, 1)),
    }
    told |= _write_and_read(player, name)
    told |= _make_again(player, name, first.get("id"))
    return told


def _write_and_read(player: Player, name: str) -> dict[str, Any]:
    early, late = [f"early-{number}" for number in range(60)], [f"late-{number}" for number in range(30)]
    player.produce(name, early)
    read = player.consume(name, f"{name}-group", lambda words: len(words) >= len(early))
    player.produce(name, late)
    went_on = player.consume(name, f"{name}-group", lambda words: len(words) >= len(late))
    shared = _share(player, name, len(early) + len(late))
    player.transact(name, ["undone"], commit=False)
    player.transact(name, ["done"], commit=True)
    whole = player.consume(name, f"{name}-another", lambda words: "done" in words and len(words) > 90)
    return {
        "read_in_a_group": sorted(read) == sorted(early),
        "the_group_went_on": sorted(went_on) == sorted(late),
        "two_of_a_group_read_all": shared == {*early, *late},
        "of_transactions": sorted(set(whole) - {*early, *late}),
    }


def _share(player: Player, name: str, count: int) -> set[str]:
    """Return what two members of one group have read together; they join and leave at about the same time."""
    seen: dict[int, list[str]] = {}

    def member(number: int) -> None:
        def is_all_read(words: list[str]) -> bool:
            seen[number] = words
            return len({word for each in list(seen.values()) for word in each}) >= count

        player.consume(name, f"{name}-shared", is_all_read, commit=False)

    with ThreadPoolExecutor(2) as members:
        list(members.map(member, range(2)))
    return {word for words in seen.values() for word in words}


def _make_again(player: Player, name: str, first_id: str | None) -> dict[str, Any]:
    by_id = first_id is not None and player.describe_by_id(first_id) == name
    if by_id and first_id is not None:
        player.delete_by_id(first_id)
    else:
        player.delete(name)
    _until("the topic to be gone everywhere", lambda: all(player.describe(name) is None for _ in range(_LOOKS)))
    deleted_twice = _error(lambda: player.delete(name))
    player.create(name, 1, REPLICAS)
    second = _until_there(player, name, first_id)
    player.produce(name, ["new"])
    words = player.consume(name, f"{name}-later", lambda words: "new" in words)
    return {
        "by_id": by_id,
        "deleted_twice": deleted_twice,
        "partitions_when_made_again": second["partitions"],
        "read_when_made_again": words,
        "another_id": None if first_id is None else second.get("id") not in (None, first_id),
    }


def _until_there(player: Player, name: str, other_than: str | None) -> dict[str, Any]:
    """Return the topic's description once every partition has a leader and its id differs from the former one."""

    def found() -> dict[str, Any] | None:
        described = player.describe(name)
        return None if described is None or (other_than and described.get("id") == other_than) else described

    return _until("the topic to be there", found)


def _until(what: str, holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (held := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {PATIENCE_S:g} s still waiting for {what}")
        time.sleep(_LOOK_S)
    return held


def _error(action: Callable[[], None]) -> int | None:
    """Return Kafka's code of the error that the action ended with, or None."""
    try:
        action()
    except Exception as error:
        code = code_of(error)
        if code is None:
            raise
        return code
    return None


def code_of(error: BaseException) -> int | None:
    """Return Kafka's error code in an error of any of the clients."""
    for told in (error, *error.args):
        code = getattr(told, "errno", None)
        if code is None and callable(getattr(told, "code", None)):
            code = told.code()
        if isinstance(code, int):
            return code
    return None
