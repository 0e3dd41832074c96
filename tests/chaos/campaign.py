"""One campaign: rounds of faults drawn from a seed, under a load of clients, until the time is over; then all stops.

Decides: which faults come together, how long they last, and that the quorum works again after each round. Must not
know: the faults, and what the history and the logs must show afterwards (`proof.py`).
"""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.chaos.clients import NAMES_LIVE_S
from tests.chaos.cluster import CLIENTS, CONTROLLERS, KRAFT, HostedCluster
from tests.chaos.faults import ACTS, NETWORK, PATIENCE_S, Scene, await_in_looks
from tests.chaos.history import Progress
from tests.chaos.hosts import Hosts

_SHORTEST_S, _LONGEST_S = 1.0, 6.0
_MOST_BETWEEN, _MOST_BETWEEN_S = 40, 5.0
"""The next round begins after a random number of acknowledged writes below this, or after this time."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one round, its start and end (s from the start), and the time without acknowledgements after it."""

    network: str
    act: str
    began_s: float
    ended_s: float
    answered_s: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The rounds and the result of a campaign."""

    seed: int
    rounds: list[Round]
    writes: int
    packets: dict[str, int]
    directory_ids: dict[int, str]
    statuses: dict[int, int]
    """Exit statuses of the clean stop."""


class Load:
    """The clients' processes, one for each host, while it is entered. They write `root`/history-HOST.jsonl."""

    def __init__(self, cluster: HostedCluster, hosts: Hosts, seed: int, root: Path, names_live_s: float) -> None:
        self._histories = {host: root / f"history-{host}.jsonl" for host in CLIENTS}
        self.progress: Final = Progress(*self._histories.values())
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        began = str(time.monotonic())
        for index, (host, history) in enumerate(self._histories.items()):
            words = [
                "--bootstrap", ",".join(cluster.bootstrap), "--cluster-id", cluster.cluster_id, "--seed", str(seed),
                "--history", str(history), "--first", str(host * 10), "--began", began,
                "--names-live", str(names_live_s),
                *(() if index else ("--brings-broker",)),
            ]  # fmt: skip
            with history.with_suffix(".log").open("wb") as log:
                self._processes[host] = subprocess.Popen(
                    hosts.command(host, [sys.executable, "-m", "tests.chaos.clients", *words]),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                )  # fmt: skip
            await_in_looks("the first acknowledged write", self._has_begun)

    def __enter__(self) -> Load:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def check(self) -> None:
        """Raise if a process has ended."""
        for host, process in self._processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"the clients of host {host} ended with {process.returncode}: {self._said(host)}")

    def stop(self, whole: Path) -> None:
        """Let all open requests end; `whole` then holds the history of all clients."""
        self.check()
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for host, process in self._processes.items():
            if process.wait(PATIENCE_S) != 0:
                raise RuntimeError(f"the clients of host {host} ended with an error: {self._said(host)}")
        whole.write_bytes(b"".join(history.read_bytes() for history in self._histories.values()))

    def _has_begun(self) -> bool:
        self.check()
        return self.progress.look() > 0

    def _said(self, host: int) -> str:
        return self._histories[host].with_suffix(".log").read_text()[-3000:]


def run_campaign(
    root: Path,
    seed: int,
    seconds: float,
    *,
    launcher: str = KRAFT,
    only: Sequence[tuple[str, str]] = (),
    hold_s: float | None = None,
    names_live_s: float = NAMES_LIVE_S,
    by_kafkas: bool = False,
) -> Summary:
    """Run one below `root`: history.jsonl, the nodes' logs, and below `kept` the content of their disks.

    With `only`, run these rounds (network, act) and no others, however long they take; with `hold_s`, each for this
    time. Clients use other names after `names_live_s`. `by_kafkas`: controllers send each other requests in Kafka's
    protocol.
    """
    dice = random.Random(f"campaign-{seed}")
    small, loop = dice.sample(CONTROLLERS, 2)
    with Hosts((*CONTROLLERS, *CLIENTS), seed) as hosts:
        cluster = HostedCluster(root / "cluster", hosts, launcher=launcher, small=small, loop=loop, by_kafkas=by_kafkas)
        try:
            cluster.format()
            cluster.start()
            with Load(cluster, hosts, seed, root, names_live_s) as load:
                scene = Scene(cluster=cluster, hosts=hosts, progress=load.progress, dice=dice, hold_s=hold_s)
                rounds = list(_rounds(scene, load, only or _drawn(dice, seconds)))
                load.stop(root / "history.jsonl")
            cluster.await_level()
            statuses = cluster.stop()
        finally:
            cluster.kill_all()
        cluster.keep(root / "kept")
        hosts.relay.check()
    summary = Summary(
        seed=seed,
        rounds=rounds,
        writes=load.progress.look(),
        packets=msgspec.structs.asdict(hosts.relay.counts),
        directory_ids={node: key.hex() for node, key in cluster.directory_ids.items()},
        statuses=statuses,
    )
    (root / "summary.json").write_bytes(msgspec.json.encode(summary))
    return summary


def _rounds(scene: Scene, load: Load, drawn: Iterable[tuple[str, str]]) -> Iterator[Round]:
    began = time.monotonic()
    for network, act in drawn:
        at = time.monotonic() - began
        print(f"{at:7.1f} s  {network}, {act}", flush=True)
        _disturb(scene, network, act)
        ended = time.monotonic()
        scene.await_write()
        answered = time.monotonic()
        load.check()
        scene.hosts.relay.check()
        for node in scene.cluster.controllers.values():
            node.check_running()
        scene.let_write(scene.dice.randrange(_MOST_BETWEEN), _MOST_BETWEEN_S)
        yield Round(network=network, act=act, began_s=at, ended_s=ended - began, answered_s=answered - ended)


def _disturb(scene: Scene, network: str, act: str) -> None:
    """Do the faults of one round, and end them all before it returns; links first or last."""
    NETWORK[network](scene)
    time.sleep(scene.dice.uniform(0.0, _SHORTEST_S))
    finish = ACTS[act](scene)
    scene.hold(_SHORTEST_S, _LONGEST_S)
    if scene.dice.random() < 0.5:
        scene.hosts.heal()
    finish()
    scene.hosts.heal()


def _drawn(dice: random.Random, seconds: float) -> Iterator[tuple[str, str]]:
    """Yield rounds for this time, and until each fault has come: all equally often, in changing combinations."""
    end, least = time.monotonic() + seconds, max(len(NETWORK), len(ACTS))
    networks, acts = _deck(NETWORK, dice), _deck(ACTS, dice)
    for count in itertools.count():
        if count >= least and time.monotonic() >= end:
            return
        yield next(networks), next(acts)


def _deck(names: Iterable[str], dice: random.Random) -> Iterator[str]:
    """Yield all of them in a random order, then again in another."""
    while True:
        cards = list(names)
        dice.shuffle(cards)
        yield from cards
