"""The network between the hosts, in user space: every IP packet passes here, and each direction of a link has faults.

Decides: whether a packet is lost, delayed, duplicated or overtaken. Must not know: its content.

Hosts are numbers, the last byte of their addresses. A packet comes from one TUN device and goes to another. So TCP
in the kernels of both ends meets loss and reordering as on a real network, and resends.
"""

from __future__ import annotations

import heapq
import os
import random
import selectors
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import msgspec

_SOURCE, _DESTINATION = 15, 19
"""The position of each address's last byte in an IPv4 header."""
_LONGEST_PACKET: Final = 65_536
_IPV4: Final = 4
_SHORTEST: Final = 20


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of a link. Times in seconds, the others are probabilities for each packet.

    A packet takes `delay_s` and something below `jitter_s` more; it overtakes others only where `is_unordered`.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0
    duplicates: float = 0.0
    is_unordered: bool = False
    is_cut: bool = False


SOUND: Final = Link()


class Counts(msgspec.Struct, kw_only=True):
    """Packets so far."""

    passed: int = 0
    lost: int = 0
    doubled: int = 0
    cut: int = 0


class Relay:
    """Passes packets between TUN devices, by host, in a separate thread while it is entered."""

    def __init__(self, devices: Mapping[int, int], seed: int) -> None:
        """`devices`: an open file descriptor by host."""
        self.counts: Final = Counts()
        self._devices = dict(devices)
        self._links: dict[tuple[int, int], Link] = {}
        self._random = random.Random(f"relay-{seed}")
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._order = 0
        self._last_due: dict[tuple[int, int], float] = {}
        self._stop_reader, self._stop_writer = os.pipe()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def set_link(self, source: int, destination: int, link: Link) -> None:
        """Set the link from now on; packets under way keep their fate."""
        self._links[source, destination] = link

    def heal(self) -> None:
        """Remove the faults of all links."""
        self._links = {}

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.write(self._stop_writer, b"x")
        self._thread.join()
        for descriptor in (self._stop_reader, self._stop_writer):
            os.close(descriptor)

    def _run(self) -> None:
        try:
            self._relay()
        except BaseException as failure:  # noqa: BLE001  (for the thread that asks)
            self._failure = failure

    def _relay(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop_reader, selectors.EVENT_READ)
            for descriptor in self._devices.values():
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(self._patience()):
                    if key.fd == self._stop_reader:
                        return
                    self._read(key.fd)
                self._deliver()

    def _patience(self) -> float | None:
        return max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None

    def _read(self, descriptor: int) -> None:
        try:
            packet = os.read(descriptor, _LONGEST_PACKET)
        except BlockingIOError:
            return
        if len(packet) >= _SHORTEST and packet[0] >> 4 == _IPV4:
            self._take(packet)

    def _take(self, packet: bytes) -> None:
        way = (packet[_SOURCE], packet[_DESTINATION])
        target = self._devices.get(way[1])
        link = self._links.get(way, SOUND)
        if target is None:
            return
        if link is SOUND:
            self.counts.passed += 1
            self._send(target, packet)
        elif link.is_cut:
            self.counts.cut += 1
        elif self._random.random() < link.loss:
            self.counts.lost += 1
        else:
            self.counts.passed += 1
            self._later(way, link, target, packet)
            if self._random.random() < link.duplicates:
                self.counts.doubled += 1
                self._later(way, link, target, packet)

    def _later(self, way: tuple[int, int], link: Link, target: int, packet: bytes) -> None:
        due = time.monotonic() + link.delay_s + self._random.random() * link.jitter_s
        if not link.is_unordered:
            due = self._last_due[way] = max(due, self._last_due.get(way, 0.0))
        self._order += 1
        heapq.heappush(self._waiting, (due, self._order, target, packet))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, target, packet = heapq.heappop(self._waiting)
            self._send(target, packet)

    def _send(self, target: int, packet: bytes) -> None:
        try:
            os.write(target, packet)
        except BlockingIOError:  # a full queue drops it, as a switch does
            self.counts.lost += 1
