"""Formatting by Kafka 4.4's own tool and by ours: the same files, and each one's controllers begin from the other's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from metadata_log.errors import CorruptBatchError
from metadata_log.format.batch import batch_values, iter_batches
from metadata_log.records import FeatureLevelRecord, MetadataRecord, decode_record
from quorum.cli.demo.cluster import LOOPBACK, Cluster, free_ports, wait_until
from quorum.cli.main import run
from tests.support.formatted import formatted_tree
from tests.support.kafka.archive import java
from tests.support.kafka.cluster import CLUSTER_ID, KafkaNode, directory_id

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

VERSION: Final = "4.4.0"
RELEASE: Final = "4.4"
LEVELS: Final = {
    "metadata.version": 33,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
ONE_LOWER: Final = ("--feature", "share.version=1")
"""No default of any release, so that the levels in a log can only come from what was formatted."""
_DIRECTORY_ID = re.compile(rb"directory\.id=.*")


@pytest.mark.parametrize(
    ("role", "voters", "words"),
    [
        ("controller", "bootstrap.servers", ("--initial-controllers", "1@{at}:{id}")),
        ("controller", "bootstrap.servers", ("--initial-controllers", "1@{at}:{id}", *ONE_LOWER)),
        ("controller", "bootstrap.servers", ("--no-initial-controllers",)),
        ("controller", "voters", ()),
        ("broker", "bootstrap.servers", ()),
    ],
    ids=["initial", "features", "joins", "static", "broker"],
)
def test_all_files_are_kafkas_apart_from_times(role: str, voters: str, words: tuple[str, ...], tmp_path: Path) -> None:
    port, own = free_ports(2)
    at = f"{LOOPBACK}:{port}"
    said = [word.format(at=at, id=directory_id(1)) for word in words]
    listener = "CONTROLLER" if role == "controller" else "PLAINTEXT"
    servers = {"voters": f"1@{at}", "bootstrap.servers": at}[voters]
    for owner, more in (("kafka", ""), ("ours", f",GRPC://{LOOPBACK}:{own}")):
        (tmp_path / owner).mkdir()
        (tmp_path / owner / "node.properties").write_text(
            f"process.roles={role}\nnode.id=1\nlisteners={listener}://{at}{more}\ncontroller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT\n"
            f"controller.quorum.{voters}={servers}\nlog.dirs={tmp_path / owner / 'data'}\n"
        )
    kafkas_format(tmp_path / "kafka/node.properties", CLUSTER_ID, said)
    config = str(tmp_path / "ours/node.properties")
    assert run(["storage", "format", "-c", config, "-t", CLUSTER_ID, "-r", RELEASE, *said]) == 0
    kafkas, ours = (formatted_tree(tmp_path / owner / "data") for owner in ("kafka", "ours"))
    if said[:1] != ["--initial-controllers"]:  # each tool draws its own id
        for tree in (kafkas, ours):
            tree["meta.properties"], drawn = _DIRECTORY_ID.subn(b"", tree["meta.properties"])
            assert drawn == 1
    assert ours == kafkas


@pytest.mark.parametrize("way", ["initial", "standalone", "static"])
def test_kafka_begins_from_our_directory(way: str, tmp_path: Path) -> None:
    port, own = free_ports(2)
    node = KafkaNode(tmp_path / "node", 1, port)
    node.directory.mkdir()
    common = (
        f"process.roles=controller\nnode.id=1\nlog.dirs={node.log_dir}\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT\n"
        + (f"controller.quorum.voters=1@{node.address}\n" if way == "static" else "")
        + (f"controller.quorum.bootstrap.servers={node.address}\n" if way != "static" else "")
    )
    node.properties.write_text(f"{common}listeners=CONTROLLER://{node.address}\n")
    config = tmp_path / "ours.properties"
    config.write_text(f"{common}listeners=CONTROLLER://{node.address},GRPC://{LOOPBACK}:{own}\n")
    words = {
        "initial": ["--initial-controllers", f"1@{node.address}:{directory_id(1)}"],
        "standalone": ["--standalone"],
        "static": [],
    }
    assert run(["storage", "format", "-c", str(config), "-t", CLUSTER_ID, "-r", RELEASE, *ONE_LOWER, *words[way]]) == 0
    node.start([*java(VERSION), "kafka.Kafka"])
    try:
        node.wait_started()
        assert levels_in(node.metadata_dir) == LEVELS
    finally:
        node.kill()
    assert run(["check", str(node.log_dir)]) == 0


def test_kafka_goes_on_from_a_restored_backup(tmp_path: Path) -> None:
    """Its directory has no bootstrap records at all: the checkpoint that was restored is not empty."""
    node = KafkaNode(tmp_path / "node", 1, *free_ports(1))
    node.directory.mkdir()
    node.properties.write_text(
        f"process.roles=controller\nnode.id=1\nlog.dirs={node.log_dir}\nlisteners=CONTROLLER://{node.address}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers={node.address}\n"
    )
    kafkas_format(node.properties, CLUSTER_ID, ["--standalone", *ONE_LOWER])
    backup = tmp_path / "one.backup"
    try:
        node.start([*java(VERSION), "kafka.Kafka"])
        node.wait_started()
        assert levels_in(node.metadata_dir) == LEVELS
        node.stop()
        assert run(["snapshot", "save", str(node.log_dir), str(backup)]) == 0
        shutil.rmtree(node.log_dir)
        assert run(["snapshot", "restore", str(backup), str(node.log_dir), "--node-id", "1"]) == 0
        assert not list(node.log_dir.rglob("bootstrap.checkpoint"))
        node.start([*java(VERSION), "kafka.Kafka"])
        node.wait_started()
    finally:
        node.kill()
    assert run(["check", str(node.log_dir)]) == 0
    assert not any(levels_in_segments(node.metadata_dir))


@pytest.mark.parametrize("way", ["initial", "standalone", "static"])
def test_ours_begin_from_kafkas_directory(way: str, tmp_path: Path) -> None:
    ids = (1, 2, 3) if way == "initial" else (1,)
    cluster = Cluster(tmp_path, controllers=ids, agents=())
    voters = ",".join(
        f"{node}@{LOOPBACK}:{at.ports['CONTROLLER']}:{directory_id(node)}" for node, at in cluster.controllers.items()
    )
    words = {"initial": ("--initial-controllers", voters), "standalone": ("--standalone",), "static": ()}
    for node in cluster.controllers.values():
        if way == "static":
            del node.properties["controller.quorum.bootstrap.servers"]
            node.properties["controller.quorum.voters"] = f"1@{LOOPBACK}:{node.ports['CONTROLLER']}"
        node.write_config()
        kafkas_format(node.config_file, cluster.cluster_id, [*words[way], *ONE_LOWER])
    try:
        cluster.start()
        for node in cluster.controllers.values():
            assert levels_in(node.log_dir / "__cluster_metadata-0") == LEVELS
    finally:
        cluster.stop()
    assert run(["check", *(str(node.log_dir) for node in cluster.controllers.values())]) == 0


def kafkas_format(config: Path, cluster_id: str, words: Sequence[str]) -> None:
    """Format by Kafka's own tool."""
    command = [*java(VERSION, log_level="error"), "kafka.tools.StorageTool", "format", "-t", cluster_id]
    done = subprocess.run([*command, "-c", str(config), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def levels_in(metadata_dir: Path) -> dict[str, int]:
    """Return the levels that the log sets, once it holds any."""
    segment = metadata_dir / "00000000000000000000.log"

    def found() -> dict[str, int]:
        try:
            records = list(records_in(segment.read_bytes())) if segment.exists() else []
        except CorruptBatchError:  # the last batch is being written
            return {}
        return {record.name: record.feature_level for record in records if isinstance(record, FeatureLevelRecord)}

    return wait_until("bootstrap records in the log", found, timeout_s=60.0)


def levels_in_segments(metadata_dir: Path) -> Iterator[FeatureLevelRecord]:
    """Yield the records that set a level in segments."""
    for segment in metadata_dir.glob("*.log"):
        yield from (one for one in records_in(segment.read_bytes()) if isinstance(one, FeatureLevelRecord))


def records_in(data: bytes) -> Iterator[MetadataRecord]:
    """Yield the metadata records of a segment."""
    for position, header in iter_batches(data):
        if not header.is_control:
            yield from map(decode_record, batch_values(data, header, position))
