"""The toolkit beside Apache Kafka's own tools, on the same made logs, in the same run.

    python -m benchmarks.toolkit_bench [--records N] [--rounds N] [--json FILE]

Processes are timed end to end, start of Python or Java included, with the output read by `cat`; Kafka's have 256 MiB of
heap, as its scripts give them. The sides take turns within each round; figures are medians, to be compared within one
run only. Speeds of verification are of one core, in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from metadata_log.batch import build_batch, build_control_batch
from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    LeaderChangeMessage,
    LeaderChangeVoter,
    MetadataRecord,
    NoOpRecord,
    PartitionRecord,
    TopicRecord,
    encode_control,
    encode_record,
)
from metadata_log.tools.verify import verify_file
from tests.support.kafka.jars import class_path, kafka_jars

LOG: Final = "00000000000000000000.log"
_SMALL: Final = 100
_TIME_MS: Final = 1_700_000_000_000
_BROKERS: Final = (NodeId(11), NodeId(12), NodeId(13))
_DIRECTORIES: Final = tuple(DirectoryId(bytes((0x40 + node,)) * 16) for node in _BROKERS)


def topic_log(path: Path, records: int, per_batch: int = 100) -> None:
    """A log of topics of one partition, two records each."""
    draw = random.Random(records)
    _write_log(path, records, per_batch, lambda at: _topic(at, draw))


def no_op_log(path: Path, records: int) -> None:
    """A log of batches of one NoOp each: all headers."""
    value = encode_record(NoOpRecord(), 0)
    _write_log(path, records, 1, lambda at: [value])


def _topic(at: int, draw: random.Random) -> list[bytes]:
    topic_id = TopicId(draw.randbytes(16))
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=_BROKERS,
        isr=_BROKERS,
        removing_replicas=(),
        adding_replicas=(),
        leader=_BROKERS[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=_DIRECTORIES,
    )
    records: list[tuple[MetadataRecord, int]] = [
        (TopicRecord(name=f"topic-{at}", topic_id=topic_id), 0),
        (partition, 1),
    ]
    return [encode_record(record, version) for record, version in records]


def _write_log(path: Path, records: int, per_batch: int, values_at: Callable[[int], list[bytes]]) -> None:
    voter = LeaderChangeVoter(voter_id=NodeId(1))
    change = LeaderChangeMessage(version=0, leader_id=NodeId(1), voters=(voter,), granting_voters=(voter,))
    with path.open("wb") as writing:
        writing.write(
            build_control_batch(
                base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=_TIME_MS, records=[encode_control(change)]
            )
        )
        offset = 1
        while offset <= records:
            values: list[bytes] = []
            while len(values) < per_batch:
                values += values_at(offset + len(values))
            writing.write(
                build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=_TIME_MS + offset, values=values)
            )
            offset += len(values)


def _ours(log: Path) -> list[str]:
    return [str(Path(sys.executable).parent / "kraft"), "log", "dump", str(log)]


def _kafkas(log: Path) -> list[str]:
    return [
        "java", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", class_path(kafka_jars("4.3.0")),
        "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(log),
    ]  # fmt: skip


def timed(words: list[str]) -> float:
    """Seconds that a process takes whose output is read by another."""
    began = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        subprocess.run(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL, check=True)
    if process.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {process.returncode}")
    return time.perf_counter() - began


def peak_mib(words: list[str]) -> float:
    """The most memory that a process of ours and its children take, each by itself."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return int(subprocess.check_output([sys.executable, "-c", code, *words])) / 1024


def dumps(work: Path, records: int, rounds: int) -> Iterator[dict[str, object]]:
    """Dump beside dump, of a long log and of a short one."""
    for count in (records, _SMALL):
        (work / str(count)).mkdir()
        log = work / str(count) / LOG
        topic_log(log, count)
        pairs = [(timed(_ours(log)), timed(_kafkas(log))) for _ in range(rounds)]
        ours, kafkas = (statistics.median(side) for side in zip(*pairs, strict=True))
        yield {
            "measure": f"dump -o text, {count:,} records, {log.stat().st_size / 1e6:.1f} MB",
            "ours": f"{ours:.2f} s ({peak_mib(_ours(log)):.0f} MiB)",
            "kafka": f"{kafkas:.2f} s",
            "ratio": round(kafkas / ours, 1),
        }


def verification(work: Path, records: int) -> Iterator[dict[str, object]]:
    """Speeds of verify without records, best of three: bytes of large batches, and batches of one record."""
    for name, make in (
        ("verify, bytes in batches of 64 KiB", lambda path: topic_log(path, records, per_batch=800)),
        ("verify, batches of one NoOp", lambda path: no_op_log(path, records)),
    ):
        path = work / name.replace(",", "").replace(" ", "-") / LOG
        path.parent.mkdir()
        make(path)
        best, batches = 1e9, 0
        for _ in range(3):
            began = time.process_time()
            batches = verify_file(path, with_records=False).batches
            best = min(best, time.process_time() - began)
        speed = f"{path.stat().st_size / best / 1e9:.2f} GB/s, {batches / best / 1e6:.2f} M batches/s"
        yield {"measure": name, "ours": speed, "kafka": "-", "ratio": None}


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.toolkit_bench", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="write the figures there too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolkit-bench-") as directory:
        work = Path(directory)
        rows = [*dumps(work, chosen.records, chosen.rounds), *verification(work, chosen.records)]
    table = Table(title=f"The toolkit beside Apache Kafka 4.3.0's tools, {os.cpu_count()} cores")
    for column in ("measure", "ours", "kafka", "ratio"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row.values()))
    Console(width=120).print(table)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
