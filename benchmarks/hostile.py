"""Strangers against three controllers: what they do, and what other clients notice of it.

    python -m benchmarks.hostile [ATTACK ...]

Each attack runs in its process, from the address 127.0.0.2, against a fresh quorum on 127.0.0.1. Another process asks
the leader meanwhile: ApiVersions on an open connection every 20 ms, /livez on a new one every 100 ms. The
longest wait for ApiVersions is the longest silence of the leader's loop. Prints one row an attack.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import multiprocessing
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.attacks import ATTACKS, Ports, describe, exactly
from benchmarks.broker import FakeBroker
from benchmarks.side import page, resident_mb, samples
from quorum.cli.demo.cluster import LOOPBACK, Cluster, Node, wait_until

_ASK_EVERY_S: Final = 0.02
_LIVEZ_EVERY: Final = 5
_LOST_S: Final = 5.0
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_HEADS: Final = (
    "attack",
    "probe p50 / p95 / max ms",
    "lost",
    "/livez",
    "RSS before / peak / after MB",
    "log bytes",
    "tracebacks",
    "elections",
    "alive",
    "note",
)


class Probed(NamedTuple):
    """The observations of a client that does no harm."""

    waits_s: list[float]
    lost: int
    livez: int
    livez_failed: int


class Figures(NamedTuple):
    """One row."""

    attack: str
    probe_ms: str
    lost: int
    livez: str
    resident_mb: str
    log_bytes: int
    tracebacks: int
    elections: int
    alive: str
    note: str


# --- the client that does no harm


def _probe(at: Ports, orders: Connection) -> None:
    waits: list[float] = []
    lost = livez = failed = turns = 0
    connection: socket.socket | None = None
    while not orders.poll(_ASK_EVERY_S):
        began = time.monotonic()
        try:
            if connection is None:
                connection = socket.create_connection((LOOPBACK, at.kafka), timeout=_LOST_S)
            connection.sendall(_API_VERSIONS)
            exactly(connection, int.from_bytes(exactly(connection, 4), "big"))
        except OSError:
            lost, connection = lost + 1, None
        waits.append(time.monotonic() - began)
        turns += 1
        if turns % _LIVEZ_EVERY == 0:
            livez += 1
            failed += not _is_alive(at.http)
    orders.send(Probed(waits, lost, livez, failed))


def _is_alive(port: int) -> bool:
    page = http.client.HTTPConnection(LOOPBACK, port, timeout=1)
    try:
        page.request("GET", "/livez")
        return page.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        page.close()


# --- one run


def _attack(name: str, at: Ports, result: Connection) -> None:
    result.send(ATTACKS[name](at))


def run(name: str, root: Path) -> Figures:
    """Do it to a fresh quorum."""
    properties = {"internal.metadata.log.segment.bytes": "4000"} if name == "silent_grpc" else {}
    with Cluster(root, agents=(), properties=properties) as cluster:
        if name == "silent_grpc":
            for node in cluster.controllers.values():
                node.launcher = ("/bin/sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh", *node.launcher)
        cluster.format()
        cluster.start()
        leader = wait_until("a leader", lambda: _leader(cluster))
        broker = FakeBroker(cluster.bootstrap, cluster.cluster_id)
        broker.start()
        time.sleep(1.0)
        before_mb, log_before, elections = resident_mb(leader.pid), _log_bytes(cluster), _elections(cluster)
        at = Ports(leader.ports["CONTROLLER"], leader.ports["GRPC"], leader.ports["HTTP"])
        probed, note, peak_mb = _under_attack(name, at, leader)
        broker.stop()
        time.sleep(2.0)
        alive = [node for node in cluster.controllers.values() if node.is_running]
        after_mb = resident_mb(leader.pid) if leader.is_running else 0.0
        waits = [1000 * wait for wait in probed.waits_s] or [0.0]
        return Figures(
            attack=name,
            probe_ms=f"{statistics.median(waits):.1f} / {_percentile(waits, 95):.0f} / {max(waits):.0f}",
            lost=probed.lost,
            livez=f"{probed.livez - probed.livez_failed} of {probed.livez}",
            resident_mb=f"{before_mb:.0f} / {peak_mb:.0f} / {after_mb:.0f}",
            log_bytes=_log_bytes(cluster) - log_before,
            tracebacks=sum(node.log_file.read_text().count("Traceback") for node in cluster.controllers.values()),
            elections=_elections(cluster) - elections,
            alive=f"{len(alive)} of {len(cluster.controllers)}",
            note=note,
        )


def _under_attack(name: str, at: Ports, leader: Node) -> tuple[Probed, str, float]:
    context = multiprocessing.get_context("spawn")
    orders, prober_end = context.Pipe()
    result, attack_end = context.Pipe()
    prober = context.Process(target=_probe, args=(at, prober_end))
    attacker = context.Process(target=_attack, args=(name, at, attack_end))
    prober.start()
    time.sleep(2.0)
    attacker.start()
    peak_mb = 0.0
    while attacker.is_alive():
        with contextlib.suppress(OSError):
            peak_mb = max(peak_mb, resident_mb(leader.pid))
        time.sleep(0.05)
    note = result.recv() if result.poll() else "the attack failed"
    if name == "silent_grpc":
        note += f", describe: {describe(at)}"
    orders.send("end")
    probed: Probed = orders.recv()
    prober.join()
    return probed, note, peak_mb


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def _leader(cluster: Cluster) -> Node | None:
    for node in cluster.controllers.values():
        with contextlib.suppress(OSError):
            if samples(page(node.http_address, "/metrics")).get("kraft_controller_active_controller_count"):
                return node
    return None


def _elections(cluster: Cluster) -> int:
    total = 0.0
    for node in cluster.controllers.values():
        with contextlib.suppress(OSError):
            total += samples(page(node.http_address, "/metrics")).get("kraft_raft_elections_total", 0.0)
    return int(total)


def _log_bytes(cluster: Cluster) -> int:
    return sum(os.stat(node.log_file).st_size for node in cluster.controllers.values())


def main(words: Sequence[str]) -> None:
    """Run the attacks that are named, or all, and print the rows as a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    chosen = parser.parse_args(words).attacks or list(ATTACKS)
    for name in chosen:
        if name not in ATTACKS:
            parser.error(f"there is no attack {name}: choose from {', '.join(ATTACKS)}")
    print(f"| {' | '.join(_HEADS)} |")
    print("|---" * len(_HEADS) + "|")
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="hostile-") as root:
            print("| " + " | ".join(str(figure) for figure in run(name, Path(root) / "cluster")) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
