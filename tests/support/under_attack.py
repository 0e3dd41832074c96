"""A running controller before and after an attack."""

from __future__ import annotations

import asyncio
import os
import random
import urllib.request
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from benchmarks.side import page, resident_mb, samples
from quorum.cli.demo.cluster import Node
from tests.support.fresh_seed import fresh_seed

T = TypeVar("T")
MOST_GROWTH_MB = 250.0
"""Waiting requests take 64 MB, responses 128 MB; the rest is what the interpreter keeps of them."""
MOST_LOG_BYTES = 1_000_000


FUZZ_COUNT = 100_000 if os.environ.get("LONG") else 2_000
"""Mutated requests of one kind in one test."""
FUZZ_TIMEOUT_S = 7200 if os.environ.get("LONG") else 600


class UnderAttack:
    """Its elections, memory and log at the beginning; `check` compares them with the present ones."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._state = _state_of(node)
        self._resident_mb = resident_mb(node.pid)
        self._log_bytes = node.log_file.stat().st_size

    def check(self, *, elections: bool = False) -> None:
        """Fail if the node ended, hangs, logged a traceback or grew; or held an election, unless `elections`."""
        node = self._node
        text = node.log_file.read_text(errors="replace")
        assert node.is_running, text[-3_000:]
        assert "Traceback" not in text, text[text.index("Traceback") - 1_000 :][:4_000]
        with urllib.request.urlopen(f"http://{node.http_address}/livez", timeout=20) as answer:
            assert answer.status == 200
        if not elections:
            assert _state_of(node) == self._state
        assert resident_mb(node.pid) - self._resident_mb < MOST_GROWTH_MB
        assert node.log_file.stat().st_size - self._log_bytes < MOST_LOG_BYTES


def _state_of(node: Node) -> dict[str, float]:
    found = samples(page(node.http_address, "/metrics"))
    names = ("kraft_raft_elections_total", "kraft_raft_current_epoch", "kraft_raft_current_leader")
    return {name: found[name] for name in names}


def refused(node: Node) -> dict[str, float]:
    """Return the connections that a node's listeners have refused, by the metric's labels."""
    found = samples(page(node.http_address, "/metrics"))
    return {name: value for name, value in found.items() if name.startswith("kraft_connections_refused_total")}


def attack_with_mutations(
    node: Node,
    made: Callable[[random.Random], Sequence[T]],
    send: Callable[[Sequence[T]], Coroutine[Any, Any, None]],
    is_among_controllers: Callable[[T], bool],
) -> None:
    """Send all mutations that `made` draws.

    Requests among controllers come last: they may begin elections, the others may not.
    """
    seed = fresh_seed("FUZZ_SEED")
    print(f"\nFUZZ_SEED={seed}")
    mutations = made(random.Random(seed))
    before = UnderAttack(node)
    asyncio.run(send([each for each in mutations if not is_among_controllers(each)]))
    before.check()
    assert any("malformed" in name for name in refused(node))
    asyncio.run(send([each for each in mutations if is_among_controllers(each)]))
    before.check(elections=True)
