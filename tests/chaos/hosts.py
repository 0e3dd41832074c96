"""Hosts: network namespaces with one address each, joined by the relay. Linux, root, iproute2 and /dev/net/tun.

Decides: names, addresses, routes. Must not know: what runs on a host, and its faults. Everything lives in the
mount and network namespace of this process (`enter.py`), so the kernel removes it when the process is gone.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from tests.chaos.relay import Relay

_TUNSETIFF: Final = 0x4004_54CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_DEVICE: Final = "/dev/net/tun"
_NETWORK: Final = "10.77.0"


def address_of(host: int) -> str:
    """Return its IP address."""
    return f"{_NETWORK}.{host}"


class Hosts:
    """Namespaces for these hosts, and the relay between them, while it is entered."""

    def __init__(self, hosts: Sequence[int], seed: int) -> None:
        self._hosts = tuple(hosts)
        self._devices = {host: os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC) for host in hosts}
        self.relay: Final = Relay(self._devices, seed)
        self._blackholes: set[tuple[int, int]] = set()

    def __enter__(self) -> Self:
        for host, descriptor in self._devices.items():
            self._join(host, descriptor)
        self.relay.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.relay.__exit__(kind, error, traceback)
        for descriptor in self._devices.values():
            os.close(descriptor)

    def command(self, host: int, words: Sequence[str]) -> list[str]:
        """Return the command that runs `words` on that host, in the same process."""
        return ["nsenter", f"--net=/run/netns/{_name(host)}", *words]

    def blackhole(self, source: int, destination: int) -> None:
        """Let the kernel of `source` silently drop packets to `destination`."""
        if (source, destination) not in self._blackholes:
            self._ip("-n", _name(source), "route", "add", "blackhole", address_of(destination))
            self._blackholes.add((source, destination))

    def heal(self) -> None:
        """Let every host reach every other over links without faults."""
        for source, destination in sorted(self._blackholes):
            self._ip("-n", _name(source), "route", "del", "blackhole", address_of(destination))
        self._blackholes.clear()
        self.relay.heal()

    def _join(self, host: int, descriptor: int) -> None:
        name = _name(host)
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
        self._ip("netns", "add", name)
        self._ip("link", "set", name, "netns", name)
        self._ip("-n", name, "link", "set", "lo", "up")
        self._ip("-n", name, "addr", "add", f"{address_of(host)}/24", "dev", name)
        self._ip("-n", name, "link", "set", name, "up")

    @staticmethod
    def _ip(*words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _name(host: int) -> str:
    return f"host{host}"
