"""`python -m tests.chaos.moves ROOT [--by-kafkas] [--times N]`: controllers that come back under other addresses.

The voters are known by name, and a name server returns each one's present address. A follower is killed and starts on
another host, as a pod does in Kubernetes. Nothing responds at its former address. Then it must lead: first by a
transfer of leadership, next because its leader dies. It prints a JSON object of class `Moves`.

Decides: the order of events, and what is counted. Must not know: the right result (`test_moves.py`).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from quorum.cli.demo.cluster import NodeFailedError, wait_until
from tests.chaos import enter
from tests.chaos.cluster import CONTROLLERS, HostedCluster, HostedNode
from tests.chaos.hosts import Hosts, address_of
from tests.chaos.names import ask_only, write_zone
from tests.chaos.relay import Link

_NAMES_HOST: Final = 7
_CLIENTS_HOST: Final = 8
_FREE_HOST: Final = 4
"""A host without a node at first."""
_PATIENCE_S: Final = 60.0
_PATIENT: Final = {
    "controller.quorum.election.timeout.ms": "3000",
    "controller.quorum.fetch.timeout.ms": "4000",
    "controller.quorum.request.timeout.ms": "4000",
}
"""A busy machine may stall a node for a second or two: with the default timeouts that causes an election."""
_LEADS: Final = re.compile(r"transition .*role=leader epoch=(\d+) ")


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One controller that came back under another address."""

    handed_over: int
    """Leaders elected from the request for the transfer until a write was acknowledged."""
    handed_over_s: float
    leader_died: int
    """The same, from the death of the leader after that transfer."""
    leader_died_s: float


class Moves(msgspec.Struct, frozen=True, kw_only=True):
    """The moves of one run."""

    moves: list[Move]


class Scene:
    """The cluster, its names, and the host that has no node."""

    def __init__(self, root: Path, hosts: Hosts, *, by_kafkas: bool) -> None:
        self._hosts = hosts
        self._zone = root / "zone.json"
        self._free_host = _FREE_HOST
        self._writes = 0
        self.cluster = HostedCluster(root / "cluster", hosts, by_kafkas=by_kafkas, name_of=_name_of)
        for node in self.cluster.controllers.values():
            node.properties |= _PATIENT
        self.write_names()

    def write_names(self) -> None:
        """Let each name lead to its node's host."""
        nodes = self.cluster.controllers.values()
        write_zone(self._zone, {_name_of(node.node_id): address_of(node.host) for node in nodes})

    def kraft(self, *words: str) -> str:
        """Return what `kraft words` prints on the clients' host.

        Raises:
            NodeFailedError: it ended with a status other than 0.
        """
        command = self._hosts.command(_CLIENTS_HOST, [sys.executable, "-m", "quorum.cli.main", *words])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NodeFailedError(f"kraft {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    @property
    def bootstrap(self) -> str:
        """Return the names of all controllers."""
        return ",".join(self.cluster.bootstrap)

    def described(self) -> dict[str, Any]:
        """Return the output of `kraft quorum describe`."""
        words = ("quorum", "describe", "--bootstrap-controller", self.bootstrap, "--output", "json", "--timeout", "60")
        return msgspec.json.decode(self.kraft(*words), type=dict[str, Any])

    def leader(self) -> HostedNode:
        """Return the node that leads."""
        return self.cluster.controllers[self.described()["status"]["leader_id"]]

    def write(self) -> None:
        """Make a change, and wait until it is acknowledged."""
        self._writes += 1
        change = ("--entity-default", "--add-config", f"log.cleaner.threads={self._writes}", "--timeout", "60")
        self.kraft("configs", "alter", "--bootstrap-controller", self.bootstrap, "--entity-type", "brokers", *change)

    def leaders_since(self, epoch: int) -> int:
        """Return the number of leaders elected in later epochs, from the nodes' logs."""
        elected = set[int]()
        for node in self.cluster.controllers.values():
            for found in _LEADS.finditer(node.log_file.read_text(errors="replace")):
                elected.add(int(found[1]))
        return sum(1 for each in elected if each > epoch)

    def move(self, node: HostedNode) -> None:
        """Kill it, and start it on the free host. Packets to its former address vanish."""
        former, self._free_host = node.host, node.host
        target = {*range(1, _FREE_HOST + 1)} - {each.host for each in self.cluster.controllers.values()}
        node.kill()
        for host in (*CONTROLLERS, _FREE_HOST, _CLIENTS_HOST):
            self._hosts.relay.set_link(host, former, Link(is_cut=True))
        node.move(target.pop())
        for host in (*CONTROLLERS, _FREE_HOST, _CLIENTS_HOST):
            self._hosts.relay.set_link(host, node.host, Link())
        self.write_names()
        node.start()
        node.wait_listening()

    def await_level(self, node: HostedNode, leader: HostedNode) -> None:
        """Wait until it has the leader's log."""

        def is_level() -> bool:
            return node.metadata_dir.is_dir() and _log_bytes(node) == _log_bytes(leader)

        wait_until(f"{node.name} to have the leader's log", is_level, timeout_s=_PATIENCE_S)


def run(root: Path, *, by_kafkas: bool, times: int) -> Moves:
    """Return the result of `times` moves."""
    moves: list[Move] = []
    with Hosts((*CONTROLLERS, _FREE_HOST, _NAMES_HOST, _CLIENTS_HOST), seed=1) as hosts:
        scene = Scene(root, hosts, by_kafkas=by_kafkas)
        with _names_served(root, hosts):
            try:
                scene.cluster.format()
                scene.cluster.start()
                scene.write()
                for _ in range(times):
                    moves.append(_one_move(scene))
            finally:
                scene.cluster.kill_all()
        hosts.relay.check()
    return Moves(moves=moves)


def _one_move(scene: Scene) -> Move:
    leader = scene.leader()
    moved, other = (node for node in scene.cluster.controllers.values() if node is not leader)
    scene.move(moved)
    scene.write()
    scene.await_level(moved, leader)
    epoch, began = _epoch(scene), time.monotonic()
    scene.kraft("quorum", "transfer", "--bootstrap-controller", scene.bootstrap, "--to", str(moved.node_id))
    scene.write()
    handed_over, handed_over_s = scene.leaders_since(epoch), time.monotonic() - began
    scene.move(other)
    scene.write()
    scene.await_level(other, moved)
    epoch, began = _epoch(scene), time.monotonic()
    scene.leader().kill()
    scene.write()
    died, died_s = scene.leaders_since(epoch), time.monotonic() - began
    dead = next(node for node in scene.cluster.controllers.values() if not node.is_running)
    dead.start()
    dead.wait_listening()
    return Move(handed_over=handed_over, handed_over_s=handed_over_s, leader_died=died, leader_died_s=died_s)


def _epoch(scene: Scene) -> int:
    epoch: int = scene.described()["status"]["leader_epoch"]
    return epoch


def _log_bytes(node: HostedNode) -> int:
    return sum(path.stat().st_size for path in node.metadata_dir.glob("*.log"))


def _name_of(node_id: int) -> str:
    return f"c{node_id}.kraft.test"


@contextmanager
def _names_served(root: Path, hosts: Hosts) -> Iterator[None]:
    address = address_of(_NAMES_HOST)
    ask_only(address, root / "resolv.conf")
    command = [sys.executable, "-m", "tests.chaos.names", str(root / "zone.json"), address]
    with subprocess.Popen(hosts.command(_NAMES_HOST, command), stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or server.stdout.readline() != "listening\n":
                raise NodeFailedError("the name server did not start")
            yield
        finally:
            server.kill()


def main() -> int:
    """Run inside the namespaces of `enter.command`, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.moves")
    parser.add_argument("root", type=Path)
    parser.add_argument("--by-kafkas", action="store_true", help="controllers ask one another by Kafka's protocol")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    enter.prepare()
    print(msgspec.json.encode(run(options.root, by_kafkas=options.by_kafkas, times=options.times)).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
