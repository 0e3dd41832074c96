"""Real directories with a mistake, and the words of `kraft recover` that must be refused on them.

Decides: the mistake in each. Must not know: the message of the refusal.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.directory.lock import DirectoryLock
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.tools.backup.export import export_replica
from quorum.cli.main import run

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
OTHER_CLUSTER = "b3RoZXJjbHVzdGVyaWQwMQ"
NO_WAIT = ("--timeout", "0.3")
HERE = ("--endpoint", "CONTROLLER://localhost:1")


class Bench:
    """Copies of real directories, for one case."""

    def __init__(self, clusters: Path, root: Path) -> None:
        self.clusters = clusters
        self.root = root
        self._locks: list[DirectoryLock] = []

    def running(self, scenario: str, node: int) -> Path:
        """Return a copy of a running node's log directory: its lock is held while this object exists."""
        target = self.node(scenario, node)
        self._locks.append(DirectoryLock(OsFiles(), str(target)))
        return target

    def stop(self) -> None:
        """Stop the running nodes."""
        for lock in self._locks:
            lock.release()

    def node(self, scenario: str, node: int) -> Path:
        """Return a copy of a node's log directory."""
        target = self.root / f"{scenario}-{node}"
        if not target.exists():
            shutil.copytree(self.clusters / scenario / f"node-{node}" / "data", target)
        return target

    def file(self, name: str, text: str = "x") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Case(msgspec.Struct, frozen=True):
    """A misuse: the words, made on the bench, and the expected message of the refusal."""

    name: str
    words: Callable[[Bench], list[object]]
    says: str


def metadata(log_dir: Path) -> Path:
    return log_dir / "__cluster_metadata-0"


def last_segment(log_dir: Path) -> Path:
    return max(metadata(log_dir).glob("*.log"))


def standalone(bench: Bench, node: Path, *words: object) -> list[object]:
    return ["standalone", "--dir", node, "--missing", "rest", *words]


def no_meta(bench: Bench) -> Path:
    node = bench.node("basic", 1)
    (node / "meta.properties").unlink()
    return node


def with_meta(bench: Bench, text: str) -> Path:
    node = bench.node("basic", 1)
    (node / "meta.properties").write_text(text)
    return node


def with_topic(bench: Bench, text: str) -> Path:
    node = bench.node("basic", 1)
    (metadata(node) / "partition.metadata").write_text(text)
    return node


def linked(bench: Bench, target: Path) -> Path:
    """Return another path to the same directory."""
    link = bench.root / "link"
    link.symlink_to(target)
    return link


def appended(bench: Bench, data: Callable[[int], bytes]) -> Path:
    """Return a log with additional bytes at its end."""
    node = bench.node("basic", 1)
    with last_segment(node).open("ab") as log:
        log.write(data(95))
    return node


def newer_record(offset: int) -> bytes:
    value = b"\x01\xe7\x07\x00\x00"
    return build_batch(base_offset=Offset(offset), epoch=Epoch(1), timestamp_ms=1, values=[value])


def flipped(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(bytes(data))


def damaged(bench: Bench) -> Path:
    node = bench.node("basic", 1)
    flipped(last_segment(node), 2000)
    return node


def edited(bench: Bench, node_id: int = 11) -> Path:
    """Return a log with one valid batch in place of another, at the same offset and epoch."""
    node = bench.node("basic", node_id)
    path = last_segment(node)
    data = path.read_bytes()
    at = 0
    while struct.unpack_from(">q", data, at)[0] < 60:
        at += 12 + struct.unpack_from(">i", data, at + 8)[0]
    size = 12 + struct.unpack_from(">i", data, at + 8)[0]
    count = struct.unpack_from(">i", data, at + 57)[0]
    values = [b"\x01\x14\x00\x00"] * count
    base = struct.unpack_from(">q", data, at)[0]
    batch = build_batch(base_offset=Offset(base), epoch=Epoch(1), timestamp_ms=1, values=values)
    path.write_bytes(data[:at] + batch + data[at + size :])
    return node


def only_voter(bench: Bench) -> Path:
    node = bench.node("basic", 1)
    assert run([*map(str, ["recover", *standalone(bench, node), "--apply", *NO_WAIT])]) == 0
    return node


def without_snapshot(bench: Bench) -> Path:
    node = bench.node("failovers", 1)
    flipped(max(metadata(node).glob("*244-*.checkpoint")), 200)
    return node


def empty(bench: Bench, name: str = "empty") -> Path:
    path = bench.root / name
    path.mkdir()
    return path


def from_broker(bench: Bench, target: object, *words: object, node_id: int = 1) -> list[object]:
    return [
        "from-broker", "--broker-dir", bench.node("basic", 11), "--dir", target, "--node-id", node_id,
        "--missing", "rest", *words,
    ]  # fmt: skip


def made_from_broker(bench: Bench) -> Path:
    made = bench.root / "made"
    assert run([*map(str, ["recover", *from_broker(bench, made, *HERE), "--apply", *NO_WAIT])]) == 0
    return made


def formatted(bench: Bench, cluster: str, node_id: int) -> Path:
    path = empty(bench, "formatted")
    (path / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster}\nnode.id={node_id}\ndirectory.id=AAAAAAAAAAAAAAAAAAAx6g\n"
    )
    return path


def lonely_copy(bench: Bench) -> Path:
    """Return a metadata directory without the log directory around it."""
    target = bench.root / "lonely" / "__cluster_metadata-0"
    shutil.copytree(metadata(bench.node("basic", 11)), target)
    return target


def voters(bench: Bench, *sets: str, nodes: tuple[int, ...] = (1, 2, 3)) -> list[object]:
    words: list[object] = ["voters", "--missing", "rest"]
    for node in nodes:
        words += ["--dir", bench.node("basic", node)]
    for text in sets:
        words += ["--set", text]
    return words


def interrupted(bench: Bench) -> Path:
    """Return a directory whose repair was decided before the power was cut."""
    node = only_voter(bench)
    [audit] = (node.parent / f"{node.name}.recovery").glob("*/audit.json")
    record = json.loads(audit.read_text())
    record["state"] = "prepared"
    (node / "kraft-recover.journal").write_text(json.dumps(record))
    return node


def ran_since(bench: Bench) -> Path:
    node = only_voter(bench)
    with last_segment(node).open("ab") as log:
        log.write(b"more")
    return node


def backup_damaged(bench: Bench) -> Path:
    node = only_voter(bench)
    [backup] = (node.parent / f"{node.name}.recovery").glob("*/backup/*/quorum-state")
    flipped(backup, 3)
    return node


def truncate(bench: Bench, node: Path, to: int, *words: object) -> list[object]:
    return ["truncate", "--dir", node, "--to", to, "--missing", "rest", *words]


def exported(bench: Bench, node_id: int = 1, *, manifest: str | None = None) -> Path:
    """Return an export of a node's log by `kraft log export`; `manifest` replaces its manifest."""
    target = bench.root / f"export-{node_id}"
    export_replica(bench.node("basic", node_id), target)
    if manifest is not None:
        (target / "manifest.json").write_text(manifest)
    return target


def foreign(bench: Bench, node_id: int = 12) -> Path:
    """Return a copy with the id of another cluster."""
    node = bench.node("basic", node_id)
    meta = node / "meta.properties"
    meta.write_text(meta.read_text().replace(CLUSTER, OTHER_CLUSTER))
    return node


def contents(root: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file() and p.name != ".lock"}
