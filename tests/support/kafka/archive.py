"""Kafka's loaded and verified classes in a file that later JVMs map: this halves the cost of a start.

It holds the classes of one node that was a broker and a controller. It is made once for a class path and a Java, and
is kept beside the jars. Java calls it dynamic class data sharing (JEP 350).
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from tests.support.kafka.jars import cache_directory, class_path, kafka_jars
from tests.support.made_once import made_once

_FLAGS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_S: Final = 90.0
_STOP_S: Final = 60.0


def java(version: str, *, heap: str = "256m", log_level: str = "info") -> list[str]:
    """Return the command that runs a class of this Kafka, without the class."""
    archive = _archive(version)
    return [*_plain(version, heap, log_level), f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable"]


def _plain(version: str, heap: str, log_level: str) -> list[str]:
    return [
        "java", f"-Xmx{heap}", *_FLAGS, f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}",
        "-cp", class_path(kafka_jars(version)),
    ]  # fmt: skip


@lru_cache
def _archive(version: str) -> Path:
    classes = class_path(kafka_jars(version))
    java_version = subprocess.run(["java", "-version"], capture_output=True, check=True).stderr
    digest = hashlib.sha256(classes.encode() + java_version).hexdigest()[:12]

    def make(partial: Path) -> None:
        with tempfile.TemporaryDirectory() as directory:
            _live_shortly(Path(directory), [*_plain(version, "256m", "info"), f"-XX:ArchiveClassesAtExit={partial}"])

    return made_once(cache_directory() / f"kafka-{version}-{digest}.jsa", make)


def _live_shortly(directory: Path, command: Sequence[str]) -> None:
    """Start one node and stop it cleanly: at its end the JVM writes the classes that it loaded."""
    broker, controller = free_ports(2)
    properties = directory / "server.properties"
    properties.write_text(
        "node.id=1\nprocess.roles=broker,controller\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://{LOOPBACK}:{broker},CONTROLLER://{LOOPBACK}:{controller}\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"controller.quorum.voters=1@{LOOPBACK}:{controller}\nlog.dirs={directory / 'data'}\n"
    )
    words = ["kafka.tools.StorageTool", "format", "-t", "TmV3bHlNYWRlQ2x1c3Rlcg", "-c", str(properties)]
    formatting = [word for word in command if not word.startswith("-XX:ArchiveClassesAtExit")]
    subprocess.run([*formatting, *words], check=True, capture_output=True)
    log = directory / "server.log"
    with log.open("wb") as said:
        process = subprocess.Popen([*command, "kafka.Kafka", str(properties)], stdout=said, stderr=subprocess.STDOUT)
    try:
        wait_until(
            "a node to start", lambda: b"Kafka Server started" in log.read_bytes(), timeout_s=_START_S, every_s=0.1
        )
        process.terminate()
        process.wait(_STOP_S)
    finally:
        process.kill()
        process.wait()
