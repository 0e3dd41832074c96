"""Kafka's own command-line tools, run in one long-lived JVM."""

from __future__ import annotations

import hashlib
import select
import struct
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from tests.support.kafka.jars import NEWEST, PREVIOUS, cache_directory, class_path, held_class, kafka_jars
from tests.support.made_once import made_once

_TOOLS: Final = "org.apache.kafka.tools"
# A tool's main class moved between releases: the first one in the jars is used.
MAINS: Mapping[str, tuple[str, ...]] = {
    "acls": (f"{_TOOLS}.AclCommand", "kafka.admin.AclCommand"),
    "cluster": (f"{_TOOLS}.ClusterTool", "kafka.tools.ClusterTool"),
    "configs": (f"{_TOOLS}.ConfigCommand", "kafka.admin.ConfigCommand"),
    "console-producer": (f"{_TOOLS}.ConsoleProducer", "kafka.tools.ConsoleProducer"),
    "console-consumer": (f"{_TOOLS}.consumer.ConsoleConsumer", "kafka.tools.ConsoleConsumer"),
    "delegation-tokens": (f"{_TOOLS}.DelegationTokenCommand", "kafka.admin.DelegationTokenCommand"),
    "dump-log": (f"{_TOOLS}.DumpLogSegments", "kafka.tools.DumpLogSegments"),
    "features": (f"{_TOOLS}.FeatureCommand", "kafka.admin.FeatureCommand"),
    "jmx": (f"{_TOOLS}.JmxTool",),
    "leader-election": (f"{_TOOLS}.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    "metadata-quorum": (f"{_TOOLS}.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    "metadata-shell": ("org.apache.kafka.shell.MetadataShell",),
    "producer-performance": (f"{_TOOLS}.ProducerPerformance",),
    "reassign-partitions": (f"{_TOOLS}.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand"),
    "storage": ("kafka.tools.StorageTool",),
    "topics": (f"{_TOOLS}.TopicCommand", "kafka.admin.TopicCommand"),
}
_EXIT: Final = "org.apache.kafka.common.utils.Exit"
_EXITS: Final = (_EXIT, "org.apache.kafka.common.utils.internals.Exit")


_SHELL_TRIES: Final = 10
_SHELL_S: Final = 60.0
_TOOL_S: Final = 150.0
"""More than twice the time that any of them waits for a response."""
_NOTHING_READ: Final = "metadataVersion:\n      Optional.empty"
"""In every tree before the first image is published; every checkpoint and log has a metadata.version."""


class ToolFailedError(RuntimeError):
    """One of Kafka's tools ended with a status other than 0."""


def main_class(version: str, tool: str) -> str:
    """Return the class that `kafka-<tool>.sh` of this release runs."""
    return held_class(kafka_jars(version), MAINS[tool])


def _compiled(jars: Path, version: str) -> Path:
    """Return the directory of our Java classes, compiled against these jars and kept until their sources change."""
    names = ["ToolServer.java"]
    if version == PREVIOUS:  # that of another release is assembled differently
        names.append("LoadedTree.java")
    moved = {_EXIT: held_class(jars, _EXITS)}
    sources = {name: _source(name, moved) for name in names}
    digest = hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:12]

    def compile_to(partial: Path) -> None:
        with tempfile.TemporaryDirectory() as directory:
            files = [Path(directory) / name for name in sources]
            for file in files:
                file.write_text(sources[file.name], encoding="utf-8")
            words = ["javac", "-proc:none", "-cp", class_path(jars), "-d", str(partial), *map(str, files)]
            subprocess.run(words, check=True)

    return made_once(cache_directory() / f"tools-{version}-{digest}", compile_to)


def _source(name: str, moved: Mapping[str, str]) -> str:
    """Return one of our Java sources with the imports that this release needs."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for class_name, here in moved.items():
        text = text.replace(f"import {class_name};", f"import {here};")
    return text


class KafkaTools:
    """`kafka-<tool>` as a call. Calls from several threads take turns."""

    def __init__(self, version: str = NEWEST) -> None:
        self.jars = kafka_jars(version)
        self.version = version
        self._lock = threading.Lock()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        classes = _compiled(self.jars, self.version)
        return subprocess.Popen(
            [
                "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+DisplayVMOutputToStderr",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{classes}:{class_path(self.jars)}",
                "ToolServer",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def call(self, tool: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Run `kafka-<tool> arguments`; return its status, standard output, and standard error."""
        return self._call(main_class(self.version, tool), *arguments, stdin=stdin.encode())

    def run(self, tool: str, *arguments: str, check: bool = True, stdin: str = "") -> str:
        """Return the standard output of `kafka-<tool> arguments`, which reads `stdin`.

        Raises:
            ToolFailedError: the status is not 0, unless `check` is off.
            TimeoutError: it does not end; with the stacks of its threads.
        """
        status, out, err = self.call(tool, *arguments, stdin=stdin)
        if check and status != 0:
            raise ToolFailedError(f"kafka-{tool} {arguments} ended with {status}: {out[-2000:]}{err[-2000:]}")
        return out

    def dump_log(self, *files: Path) -> str:
        """Return what `kafka-dump-log --cluster-metadata-decoder` prints for metadata logs and checkpoints."""
        return self.run("dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, files)))

    def shell_tree(self, file: Path) -> str:
        """Return Kafka's image of a checkpoint, or of a log that starts at offset 0, as its metadata shell prints it.

        The shell waits a moment and then prints what it has read so far, on a busy machine nothing. Sometimes it waits
        forever for what it has read already. In both cases it is run again.
        """
        words = (main_class(self.version, "metadata-shell"), "--snapshot", str(file), "tree", "/")
        for _ in range(_SHELL_TRIES):
            try:
                status, shown, err = self._call(*words, patience_s=_SHELL_S)
            except TimeoutError:
                continue
            if status != 0:
                raise ToolFailedError(f"Kafka's shell did not read {file}: {shown[-2000:]}{err[-2000:]}")
            if _NOTHING_READ not in shown:
                return shown
        raise ToolFailedError(f"Kafka's shell has read nothing of {file} in {_SHELL_TRIES} tries")

    def loaded_tree(self, file: Path, last_offset: int) -> str:
        """Return `shell_tree` of a log of any length: the shell's own program prints before it has read a long one.

        `last_offset` is that of the last record that is not a control record.
        """
        status, out, err = self._call("LoadedTree", str(file), str(last_offset))
        if status != 0:
            raise ToolFailedError(f"Kafka's shell did not read {file} up to {last_offset}: {out[-2000:]}{err[-2000:]}")
        return out

    def _call(self, *words: str, patience_s: float = _TOOL_S, stdin: bytes = b"") -> tuple[int, str, str]:
        encoded = [word.encode() for word in words]
        request = struct.pack(">i", len(words)) + b"".join(struct.pack(">H", len(word)) + word for word in encoded)
        request += struct.pack(">i", len(stdin)) + stdin
        with self._lock:
            requests, stdout = self._process.stdin, self._process.stdout
            if requests is None or stdout is None:
                raise ToolFailedError("the JVM that runs Kafka's tools has no pipes")
            requests.write(request)
            requests.flush()
            # Each output is read to its end, so that nothing of this one is in the buffer already.
            if not select.select([stdout], [], [], patience_s)[0]:
                raise TimeoutError(f"{' '.join(words)} has not ended in {patience_s} s:\n{self._replace()}")
            status = _read_int(stdout)
            out, err = (stdout.read(_read_int(stdout)).decode(errors="replace") for _ in range(2))
        return status, out, err

    def _replace(self) -> str:
        """Start another JVM, since a waiting tool cannot be stopped; return the stacks of this one's threads."""
        asked = subprocess.run(
            ["timeout", "30", "jstack", str(self._process.pid)], capture_output=True, text=True, check=False
        )
        self.close()
        self._process = self._start()
        return asked.stdout + asked.stderr

    def close(self) -> None:
        """End the JVM."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> KafkaTools:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _read_int(stream: IO[bytes]) -> int:
    raw = stream.read(4)
    if len(raw) < 4:
        raise ToolFailedError("the JVM that runs Kafka's tools is gone")
    return int(struct.unpack(">i", raw)[0])
