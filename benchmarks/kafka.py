"""Three of Apache Kafka's own controllers, from the published jars, with the heap and collector of Kafka's scripts.

Decides: how they are started and asked, and that a broker is registered which holds nothing. Must not know: what is
measured. Kafka's default of 25 ms for `controller.quorum.append.linger.ms` bounds the rate of one client, so a second
side has linger 0. A controller is warm after 45 s of load; cold it is 3 to 8 times slower.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.maven import need_java
from benchmarks.side import MissingError, send_signal
from quorum.cli.demo.cluster import LOOPBACK, free_ports
from tests.support.kafka.cluster import CLUSTER_ID, KafkaCluster, KafkaNode
from tests.support.kafka.jars import cache_directory, class_path, kafka_jars
from tests.support.kafka.tools import KafkaTools

_VERSION: Final = "4.3.0"
_LINGER: Final = "controller.quorum.append.linger.ms"
_SESSION: Final = {"broker.session.timeout.ms": "60000"}
"""The broker on paper lives through pauses."""
_JVM: Final = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
"""As kafka-server-start.sh and kafka-run-class.sh give them."""


_JMX: Final = (f"host={LOOPBACK}", "authenticate=false", "ssl=false", "local.only=true")


class _Controllers(KafkaCluster):
    """Each with a port for JMX; started without waiting for each other."""

    jmx: Mapping[int, int] = {}

    def java_of(self, node: KafkaNode) -> Sequence[str]:
        port = self.jmx[node.node_id]
        return [
            "java", *_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
            *(f"-Dcom.sun.management.jmxremote.{key}" for key in _JMX), f"-Dcom.sun.management.jmxremote.port={port}",
            f"-Dcom.sun.management.jmxremote.rmi.port={port}",
            f"-Djava.rmi.server.hostname={LOOPBACK}", "-cp", class_path(kafka_jars(_VERSION)), "kafka.Kafka",
        ]  # fmt: skip


class KafkaSide:
    """See `side.Side`."""

    kind = "kafka"
    warm_s = 45.0
    takes_checkpoints = True

    def __init__(self, root: Path, loadgen: Path, *, linger_ms: int | None = 0) -> None:
        """`linger_ms` None: Kafka's default."""
        need_java()
        try:
            kafka_jars(_VERSION)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            raise MissingError(f"Maven cannot bring Kafka {_VERSION}: {error}") from error
        self.title = f"Kafka {_VERSION}, linger {'25 (default)' if linger_ms is None else linger_ms}"
        self._root = root
        self._loadgen = loadgen
        self._linger = {} if linger_ms is None else {_LINGER: str(linger_ms)}
        self._cluster: _Controllers | None = None
        self._broker: subprocess.Popen[str] | None = None
        self._applied: subprocess.Popen[str] | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """See `Side`."""
        return ("1", "2", "3")

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """See `Side`."""
        shutil.rmtree(self._root, ignore_errors=True)
        with KafkaTools(_VERSION) as tools:
            self._cluster = _Controllers(
                self._root, tools, brokers=(), properties={**_SESSION, **self._linger, **(properties or {})}
            )
            self._cluster.jmx = dict(zip((1, 2, 3), free_ports(3), strict=True))
            for node in self._cluster.controllers:
                self._cluster.format(node.node_id)
        for member in self.members:
            self.restart(member)
        for node in self._cluster.controllers:
            node.wait_started()
        self.leader()
        self._applied = _helper(["java", "-cp", str(_compiled()), "AppliedOffset"])
        addresses = ",".join(self.address(member) for member in self.members)
        self._broker = _helper([str(self._loadgen), "-broker", CLUSTER_ID, "-address", addresses])
        if _line(self._broker) != "ready":
            raise RuntimeError(f"Kafka's controllers do not take the broker: {self._said(self._broker)}")

    def stop(self) -> None:
        """See `Side`."""
        for process in (self._broker, self._applied):
            if process is not None:
                process.kill()
                process.wait()
        self._broker = self._applied = None
        if self._cluster is not None:
            for node in self._cluster.controllers:
                node.kill()
            self._cluster = None
        shutil.rmtree(self._root, ignore_errors=True)

    def address(self, member: str) -> str:
        """See `Side`."""
        return self._node(member).address

    def pid(self, member: str) -> int:
        """See `Side`."""
        return self._node(member).process.pid

    def directory(self, member: str) -> Path:
        """See `Side`."""
        return self._node(member).metadata_dir

    def leader(self) -> str:
        """See `Side`."""
        return str(self._running.leader().node_id)

    def signal(self, member: str, number: signal.Signals) -> int:
        """See `Side`."""
        return send_signal(self._node(member).process, number)

    def restart(self, member: str) -> None:
        """See `Side`."""
        node = self._node(member)
        node.start(self._running.java_of(node))

    def await_replayed(self, member: str) -> None:
        """See `Side`."""
        wanted = self._ask(f"{self._jmx(self.leader())}")
        self._ask(f"{self._jmx(member)} {wanted}")

    def syncs(self, member: str) -> int | None:
        """See `Side`: Kafka has no such count."""
        return None

    @property
    def _running(self) -> _Controllers:
        if self._cluster is None:
            raise RuntimeError("not started")
        return self._cluster

    def _node(self, member: str) -> KafkaNode:
        return self._running.nodes[int(member)]

    def _jmx(self, member: str) -> int:
        return self._running.jmx[int(member)]

    def _ask(self, question: str) -> str:
        if self._applied is None or self._applied.stdin is None:
            raise RuntimeError("not started")
        self._applied.stdin.write(question + "\n")
        self._applied.stdin.flush()
        return _line(self._applied)

    @staticmethod
    def _said(process: subprocess.Popen[str]) -> str:
        return process.communicate()[1]


def _helper(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def _line(process: subprocess.Popen[str]) -> str:
    if process.stdout is None:
        raise RuntimeError("the process has no pipe")
    return process.stdout.readline().strip()


def _compiled() -> Path:
    source = Path(__file__).with_name("AppliedOffset.java")
    classes = cache_directory() / "applied-offset"
    compiled = classes / "AppliedOffset.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["javac", "-d", str(classes), str(source)], check=True)
    return classes
