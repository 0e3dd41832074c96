"""Lines in a node's log that the acts show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from quorum.cli.demo.cluster import Node
from quorum.cli.demo.story import CheckFailedError

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_TRANSITION: Final = re.compile(r"^(?P<time>\S+)Z .*\btransition\b.* role=(?P<role>\w+) epoch=(?P<epoch>\d+)")
_BEFORE_IT: Final = ("prospective", "candidate")
"""A node that repeats pre-votes in one epoch does not log each round."""


def node_log_lines(node: Node, *words: str, start: int = 0) -> list[str]:
    """Return the lines that hold all `words`, from byte `start` of the node's log on."""
    if not node.log_file.exists():
        return []
    text = _COLOURS.sub("", node.log_file.read_bytes()[start:].decode(errors="replace"))
    return [line for line in text.splitlines() if all(word in line for word in words)]


def log_size(node: Node) -> int:
    """Return the size of the node's log in bytes."""
    return node.log_file.stat().st_size if node.log_file.exists() else 0


def log_sizes(nodes: Iterable[Node]) -> dict[str, int]:
    """Return the size of each node's log in bytes, by name."""
    return {node.name: log_size(node) for node in nodes}


def how_it_was_elected(node: Node, since: Mapping[str, int] | None = None) -> str:
    """Return the states through which the node became leader the last time, and the time that took.

    `since`: by node, the size of its log before the former leader was killed; older lines do not count.
    """
    start = 0 if since is None else since[node.name]
    moves = [found for line in node_log_lines(node, "transition", start=start) if (found := _TRANSITION.match(line))]
    while moves and moves[-1]["role"] != "leader":
        moves.pop()
    if not moves:
        raise CheckFailedError(f"{node.name} leads, but its log {node.log_file} does not say how it came to")
    path = [moves.pop()]
    while moves and moves[-1]["role"] in _BEFORE_IT:
        path.insert(0, moves.pop())
    took = datetime.fromisoformat(path[-1]["time"]) - datetime.fromisoformat(path[0]["time"])
    states = ", ".join(move["role"] for move in path[:-1])
    if path[0]["role"] != _BEFORE_IT[0]:
        states += f" after several rounds as {_BEFORE_IT[0]}"
    return (
        f"{node.name.capitalize()} was {states}, then leader of epoch {path[-1]['epoch']} "
        f"within {took.total_seconds() * 1000:.0f} ms."
    )
