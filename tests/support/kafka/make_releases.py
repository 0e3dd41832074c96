"""The maker of `tests/fixtures/releases.tar.xz`: small clusters, one of each minor release of Kafka.

    python -m tests.support.kafka.make_releases --write [3.3 4.4 ...]

Each cluster has a controller and two brokers. It creates topics, sets configs, deletes a topic, moves a partition,
loses its controller by a kill, and ends in an orderly way. Without data of partitions, without indexes.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.jars import RELEASES
from tests.support.kafka.tools import KafkaTools
from tests.support.releases_fixture import ARCHIVE, minor_of, unpack_release

_PROPERTIES: Final = {
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "offsets.topic.num.partitions": "1",
}


def live(root: Path, tools: KafkaTools) -> None:
    """Run the cluster's life, so that its stopped nodes are below `root`."""
    static = not RELEASES[tools.version].dynamic_voters
    with KafkaCluster(root, tools, controllers=(1,), static_voters=static, properties=_PROPERTIES) as cluster:
        cluster.start()
        for topic, placed, *config in (
            ("orders", "11:12,12:11,11:12", "--config", "segment.bytes=1048576"),
            ("gone", "11:12"),
            ("moved", "11"),
        ):
            cluster.admin("topics", "--create", "--topic", topic, "--replica-assignment", placed, *config)
        words = ("--entity-type", "topics", "--entity-name", "orders", "--add-config", "retention.ms=3600000")
        cluster.admin("configs", "--alter", *words)
        cluster.admin("topics", "--delete", "--topic", "gone")
        wait_until("the topic to be gone", lambda: "gone" not in cluster.topics())
        _move(cluster, "moved", 12)
        cluster.nodes[1].kill()
        cluster.start(1)
        cluster.admin("topics", "--create", "--topic", "late", "--replica-assignment", "12:11")
        cluster.await_topics("orders", "moved", "late")
        _await_checkpoint(cluster)
        cluster.stop()


def _move(cluster: KafkaCluster, topic: str, to: int) -> None:
    plan = cluster.root / "plan.json"
    moves = [{"topic": topic, "partition": 0, "replicas": [to]}]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    words = ("reassign-partitions", "--reassignment-json-file", str(plan))
    cluster.admin(*words, "--execute")
    wait_until("the partition to be moved", lambda: "is completed" in cluster.admin(*words, "--verify"), timeout_s=60)
    plan.unlink()


def _await_checkpoint(cluster: KafkaCluster) -> None:
    """Wait until the controller has written a checkpoint itself: the formatter of 4.4 writes one of offset 0."""
    log = cluster.nodes[1].metadata_dir
    wait_until("a checkpoint", lambda: any(not p.name.startswith("0" * 20) for p in log.glob("*.checkpoint")))


def _kept(root: Path, minor: str) -> dict[str, bytes]:
    """Return the fixture's content for the nodes below `root`, by name in the archive."""
    kept = dict[str, bytes]()
    for path in sorted(root.glob("node-*/data/**/*")):
        within = path.relative_to(root)
        is_log = within.parent.name == "__cluster_metadata-0"
        left_out = {".index", ".timeindex"} if is_log else {".index", ".timeindex", ".log", ".snapshot", ".txnindex"}
        if path.is_file() and path.suffix not in left_out and path.name != ".lock":
            kept[f"{minor}/{within}"] = path.read_bytes()
    return kept


def _write(files: dict[str, bytes]) -> None:
    """Write the archive; the same files give the same bytes."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name, data in sorted(files.items(), key=lambda file: (file[0].split("/", 1)[1], file[0])):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def main() -> None:
    """Make the clusters of the chosen minor releases, and keep the others."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--write", action="store_true", required=True)
    arguments.add_argument("minors", nargs="*", metavar="minor")
    chosen = arguments.parse_args().minors
    with tempfile.TemporaryDirectory() as directory:
        files = dict[str, bytes]()
        for version in RELEASES:
            minor = minor_of(version)
            root = Path(directory) / minor
            if chosen and minor not in chosen and ARCHIVE.exists():
                unpack_release(minor, Path(directory))
            else:
                with KafkaTools(version) as tools:
                    live(root, tools)
            files.update(_kept(root, minor))
            print(minor, len(files), flush=True)
        _write(files)


if __name__ == "__main__":
    main()
