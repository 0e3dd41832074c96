"""The toolkit beside Apache Kafka's own tools, on the same made logs, in the same run.

    python -m benchmarks.toolkit_bench [--records N] [--rounds N] [--json FILE]

Processes are timed end to end, start of Python or Java included, with the output read by `cat`. Kafka's are started by
`java` itself, without the shell scripts around it. They have the scripts' heap of 256 MiB; its shell needs 2 GiB.
Python's are started once before, so that its modules are compiled, as an installed package's are. The
sides take turns within each round; figures are medians, to be compared within one run only. `cpu` is the processor time
of all a process's threads. Speeds of verification and replay are processor time of one core, in this process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.exclusive import run_alone
from benchmarks.processes import Cost, timed
from benchmarks.toolkit_logs import LOG, no_op_log, topic_checkpoint, topic_log
from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.tools.read.history import open_history
from metadata_log.tools.verify.verify_log import Depth, verify_file
from tests.support.kafka.jars import class_path, kafka_jars

_SMALL: Final = 100
_SMALL_ROUNDS: Final = 3
"""A short log is measured so many times as often as a long one."""
_CHECKPOINT_RECORDS: Final = 843_000
_REPLAYED_TOPICS: Final = 100_000

Row = dict[str, object]


def _kraft(*words: str | Path) -> list[str]:
    return [str(Path(sys.executable).parent / "kraft"), *map(str, words)]


def _java(main: str, heap: str, *words: str | Path) -> list[str]:
    return [
        "java", f"-Xmx{heap}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
        class_path(kafka_jars("4.3.0")), main, *map(str, words),
    ]  # fmt: skip


def _kafkas_dump(log: Path) -> list[str]:
    return _java("org.apache.kafka.tools.DumpLogSegments", "256m", "--cluster-metadata-decoder", "--files", log)


def _medians(runs: Sequence[Cost]) -> Cost:
    return Cost(wall_s=median(run.wall_s for run in runs), cpu_s=median(run.cpu_s for run in runs))


def beside(measure: str, ours: list[str], kafkas: list[str], rounds: int) -> Row:
    """A row of both sides, in turns."""
    timed(ours)
    pairs = [(timed(ours), timed(kafkas)) for _ in range(rounds)]
    one, other = (_medians(side) for side in zip(*pairs, strict=True))
    return _row(
        measure,
        f"{one.wall_s:.3f} s (cpu {one.cpu_s:.3f})",
        f"{other.wall_s:.2f} s (cpu {other.cpu_s:.2f})",
        f"{other.wall_s / one.wall_s:.1f} (cpu {other.cpu_s / one.cpu_s:.1f})",
    )


def _row(measure: str, ours: str, kafka: str = "-", ratio: str = "-") -> Row:
    return {"measure": measure, "ours": ours, "kafka": kafka, "ratio": ratio}


def peak_mib(words: list[str]) -> float:
    """Return the peak memory of a command in MiB: that of its largest process."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return int(subprocess.check_output([sys.executable, "-c", code, *words])) / 1024


def dumps(work: Path, records: int, rounds: int) -> Iterator[Row]:
    """Dump beside dump, of a long log and of a short one; and what Python alone takes to start."""
    for count, times in ((records, rounds), (_SMALL, rounds * _SMALL_ROUNDS)):
        log = _made(work, f"topic_log-{count}", partial(topic_log, records=count))
        name = f"dump -o text, {count:,} records, {log.stat().st_size / 1e6:.2f} MB"
        yield beside(name, _kraft("log", "dump", log), _kafkas_dump(log), times)
    for name, flags in (("python -c pass, as it is installed here", []), ("python -I -S -c pass", ["-I", "-S"])):
        found = _medians([timed([sys.executable, *flags, "-c", "pass"]) for _ in range(rounds * _SMALL_ROUNDS)])
        yield _row(name, f"{found.wall_s:.3f} s (cpu {found.cpu_s:.3f})")


def helps(rounds: int) -> Iterator[Row]:
    """Help of the commands that import most."""
    for words in (("log", "dump"), ("shell",), ("check",)):
        timed(_kraft(*words, "--help"))
        found = _medians([timed(_kraft(*words, "--help")) for _ in range(rounds)])
        yield _row(f"kraft {' '.join(words)} --help", f"{found.wall_s:.3f} s (cpu {found.cpu_s:.3f})")


def memory(work: Path, records: int) -> Iterator[Row]:
    """The most memory, of logs of which one is ten times the other."""
    few, many = records // 10, records
    for name, make, words in (
        ("dump -o text", topic_log, ("log", "dump")),
        ("dump -o jsonl", topic_log, ("log", "dump", "-o", "jsonl")),
        ("verify --quick", topic_log, ("log", "verify", "--quick")),
        ("verify of NoOps", no_op_log, ("log", "verify")),
    ):
        logs = [_made(work, f"{make.__name__}-{count}", partial(make, records=count)) for count in (few, many)]
        small, large = (peak_mib(_kraft(*words, log)) for log in logs)
        yield _row(f"memory of {name}, {few:,} and {many:,} records", f"{small:.0f} and {large:.0f} MiB")


def exports(work: Path, records: int) -> Iterator[Row]:
    """Yield rows of an export with decoded tables, run once for each form: its time is mostly the disk's."""
    log = _made(work, f"topic_log-{records}", partial(topic_log, records=records))
    node = work / f"node-{records}"
    (node / METADATA_DIRECTORY).mkdir(parents=True)
    (node / METADATA_DIRECTORY / LOG).hardlink_to(log)
    (node / META_PROPERTIES_FILE).write_text("version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\n", "utf-8")
    for form in ("parquet", "jsonl"):
        found = timed(_kraft("log", "export", node, work / f"export-{form}", "-o", form))
        yield _row(f"export -o {form}, {records:,} records", f"{found.wall_s:.1f} s (cpu {found.cpu_s:.1f})")


def _made(work: Path, name: str, make: Callable[[Path], None]) -> Path:
    path = work / name / LOG
    if not path.exists():
        path.parent.mkdir()
        make(path)
    return path


def verification(work: Path, records: int) -> Iterator[Row]:
    """Speeds of verify, best of three."""
    large = _made(work, "verify-64k", partial(topic_log, records=records, per_batch=800))
    empty = _made(work, f"no_op_log-{records}", partial(no_op_log, records=records))
    size, taken, batches, _ = _verified(large, Depth.BYTES)
    yield _row("verify --quick, batches of 64 KiB", f"{size / taken / 1e9:.2f} GB/s, {batches / taken / 1e3:.0f} k/s")
    for name, depth in (("verify --quick", Depth.BYTES), ("verify", Depth.RECORDS)):
        _, taken, batches, _ = _verified(empty, depth)
        yield _row(f"{name}, batches of one NoOp", f"{batches / taken / 1e6:.2f} M batches/s")
    for name, depth in (("verify, each record decoded", Depth.RECORDS), ("verify --replay", Depth.REPLAY)):
        _, taken, _, count = _verified(large, depth)
        yield _row(name, f"{taken / count * 1e6:.1f} us/record")


def _verified(path: Path, depth: Depth) -> tuple[int, float, int, int]:
    """Bytes, seconds, batches and records."""
    best, report = 1e9, None
    for _ in range(3):
        began = time.process_time()
        report = verify_file(path, depth=depth)
        best = min(best, time.process_time() - began)
    if report is None or report.findings:
        raise RuntimeError(f"{path} is not sound")
    return path.stat().st_size, best, report.batches, report.records


def replay(work: Path) -> Iterator[Row]:
    """Opening a log and replaying it into an image."""
    log = _made(work, "replay", partial(topic_log, records=2 * _REPLAYED_TOPICS))
    best, topics = 1e9, 0
    for _ in range(3):
        began = time.process_time()
        topics = len(open_history(log.parent).state_at().image.topics.by_id)
        best = min(best, time.process_time() - began)
    yield _row(f"open and replay {topics:,} topics into an image", f"{best:.2f} s")


def shells(work: Path, rounds: int) -> Iterator[Row]:
    """The first answer of the shell on a large checkpoint: start, open, one topic's partition."""
    (work / "shell").mkdir()
    checkpoint = topic_checkpoint(work / "shell", _CHECKPOINT_RECORDS)
    name = f"shell, one command, {_CHECKPOINT_RECORDS:,} records, {checkpoint.stat().st_size / 1e6:.0f} MB"
    last = f"/image/topics/byName/topic-{_CHECKPOINT_RECORDS // 3 - 1}/0"
    kafkas = _java("org.apache.kafka.shell.MetadataShell", "2g", "--snapshot", checkpoint, "cat", last)
    yield beside(name, _kraft("shell", checkpoint, "cat", last), kafkas, rounds)
    yield _row("memory of the same", f"{peak_mib(_kraft('shell', checkpoint, 'cat', last)):.0f} MiB")


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.toolkit_bench", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None, help="write the figures there too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolkit-bench-") as directory:
        work = Path(directory)
        rows = [
            *dumps(work, chosen.records, chosen.rounds),
            *shells(work, chosen.rounds),
            *helps(chosen.rounds),
            *verification(work, chosen.records),
            *replay(work),
            *memory(work, chosen.records),
            *exports(work, chosen.records),
        ]
    table = Table(title=f"The toolkit beside Apache Kafka 4.3.0's tools, {os.cpu_count()} cores")
    for column in ("measure", "ours", "kafka", "ratio"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=140).print(table)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run_alone("make bench-toolkit", main))
