"""Kafka's own command-line tools, run in one long-lived JVM."""

from __future__ import annotations

import hashlib
import select
import struct
import subprocess
import threading
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from tests.support.kafka.jars import cache_directory, class_path, kafka_jars
from tests.support.made_once import made_once

# A tool's main class moved between versions: the first that the jars hold is taken.
_MAINS: Mapping[str, tuple[str, ...]] = {
    "acls": ("org.apache.kafka.tools.AclCommand", "kafka.admin.AclCommand"),
    "cluster": ("org.apache.kafka.tools.ClusterTool",),
    "configs": ("kafka.admin.ConfigCommand",),
    "console-producer": ("org.apache.kafka.tools.ConsoleProducer", "kafka.tools.ConsoleProducer"),
    "console-consumer": ("org.apache.kafka.tools.consumer.ConsoleConsumer",),
    "delegation-tokens": ("org.apache.kafka.tools.DelegationTokenCommand",),
    "dump-log": ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments"),
    "features": ("org.apache.kafka.tools.FeatureCommand",),
    "leader-election": ("org.apache.kafka.tools.LeaderElectionCommand",),
    "metadata-quorum": ("org.apache.kafka.tools.MetadataQuorumCommand",),
    "metadata-shell": ("org.apache.kafka.shell.MetadataShell",),
    "producer-performance": ("org.apache.kafka.tools.ProducerPerformance",),
    "reassign-partitions": ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand",),
    "storage": ("kafka.tools.StorageTool",),
    "topics": ("org.apache.kafka.tools.TopicCommand",),
}


_SHELL_TRIES: Final = 10
_SHELL_S: Final = 60.0
_TOOL_S: Final = 150.0
"""More than twice as long as any of them waits for an answer."""
_NOTHING_READ: Final = "metadataVersion:\n      Optional.empty"
"""In every tree before the first image is published; no checkpoint and no log is without a metadata.version."""


class ToolFailedError(RuntimeError):
    """One of Kafka's tools ended with a status other than 0."""


@lru_cache
def _main_class(jars: Path, tool: str) -> str:
    held: set[str] = set()
    for jar in jars.glob("kafka*.jar"):
        with zipfile.ZipFile(jar) as archive:
            held.update(archive.namelist())
    return next(name for name in _MAINS[tool] if name.replace(".", "/") + ".class" in held)


def _compiled(jars: Path, version: str) -> Path:
    """The directory of our own Java classes, compiled against these jars and kept until their sources change."""
    sources = [Path(__file__).with_name("ToolServer.java")]
    if not version.startswith("3."):  # its shell is another one
        sources.append(Path(__file__).with_name("LoadedTree.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]

    def compile_to(partial: Path) -> None:
        words = ["javac", "-proc:none", "-cp", class_path(jars), "-d", str(partial), *map(str, sources)]
        subprocess.run(words, check=True)

    return made_once(cache_directory() / f"tools-{version}-{digest}", compile_to)


class KafkaTools:
    """`kafka-<tool>` as a call. Calls from several threads take turns."""

    def __init__(self, version: str = "4.3.0") -> None:
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
        """The status of `kafka-<tool> arguments`, its standard output, and its standard error."""
        return self._call(_main_class(self.jars, tool), *arguments, stdin=stdin.encode())

    def run(self, tool: str, *arguments: str, check: bool = True, stdin: str = "") -> str:
        """Standard output of `kafka-<tool> arguments`, which reads `stdin`.

        Raises:
            ToolFailedError: when it ends with another status than 0, unless `check` is off.
            TimeoutError: it does not end; where its threads are is told.
        """
        status, out, err = self.call(tool, *arguments, stdin=stdin)
        if check and status != 0:
            raise ToolFailedError(f"kafka-{tool} {arguments} ended with {status}: {out[-2000:]}{err[-2000:]}")
        return out

    def dump_log(self, *files: Path) -> str:
        """What `kafka-dump-log --cluster-metadata-decoder` says of metadata logs and checkpoints."""
        return self.run("dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, files)))

    def shell_tree(self, file: Path) -> str:
        """Kafka's whole image of a checkpoint, or of a log that starts at offset 0, as its metadata shell prints it.

        The shell waits a moment and then prints what it has read by then, on a busy machine nothing; now and then it
        waits for ever for what it has read already. In both cases it is asked again.
        """
        words = (_main_class(self.jars, "metadata-shell"), "--snapshot", str(file), "tree", "/")
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
        """`shell_tree` of a log of any length: the shell's own program prints before it has read a long one.

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
            # Each answer is read to its end, so that nothing of this one can be in the buffer already.
            if not select.select([stdout], [], [], patience_s)[0]:
                raise TimeoutError(f"{' '.join(words)} has not ended in {patience_s} s:\n{self._replace()}")
            status = _read_int(stdout)
            out, err = (stdout.read(_read_int(stdout)).decode(errors="replace") for _ in range(2))
        return status, out, err

    def _replace(self) -> str:
        """Another JVM, as a tool that waits for ever cannot be told to stop; and what the threads of this one do."""
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
