"""Consecutive free ports, for a cluster that is given only its first port."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator

from quorum.cli.demo.cluster import LOOPBACK


@contextlib.contextmanager
def free_row(count: int) -> Iterator[int]:
    """Yield the first of `count` consecutive free ports, outside those of `free_ports`.

    Meanwhile the UDP ports of the same numbers are bound, which marks them for other processes that look here.
    """
    for first in random.sample(range(10_000, 19_000), 1_000):
        with contextlib.ExitStack() as marks:
            try:
                for number in range(first, first + count):
                    marks.enter_context(socket.socket(type=socket.SOCK_DGRAM)).bind((LOOPBACK, number))
                    with socket.socket() as probe:
                        probe.bind((LOOPBACK, number))
            except OSError:
                continue
            yield first
            return
    raise AssertionError(f"there are not {count} free ports in a row")
