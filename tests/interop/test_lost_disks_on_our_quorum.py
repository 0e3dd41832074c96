"""A stock JBOD broker of Kafka loses one of its disks while it runs, with three of our controllers.

The disk fails as in Kafka's own tests: a file replaces the log directory, and the next checkpoint fails. The broker
reports the failure, and the controllers move its leaders. It returns with the disk, and with an empty one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support.kafka.changes import Change, changes, directory_ids, placed
from tests.support.kafka.data import await_partition, consume, partition, produce
from tests.support.kafka.either import AT_ONCE, QUORUMS, Either, brokers_on
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(400)]

LOSER, OTHER = 11, 12
TOPIC, PARTITIONS = "orders", 4
RECORDS = [f"message-{number}" for number in range(40)]
BROKERS = {**AT_ONCE, "replica.high.watermark.checkpoint.interval.ms": "500"}


@pytest.fixture(scope="module", params=QUORUMS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools
) -> Iterator[Either]:
    """A topic of which each partition is led by the broker that is to lose a disk, on both its disks, with messages."""
    root = tmp_path_factory.mktemp("disks")
    with brokers_on(request.param, root, kafka_tools, broker_properties=BROKERS, jbod=True) as cluster:
        placement = ",".join([f"{LOSER}:{OTHER}"] * PARTITIONS)
        cluster.kafka.admin("topics", "--create", "--topic", TOPIC, "--replica-assignment", placement)
        for index in range(PARTITIONS):
            await_partition(cluster.tools, cluster.kafka.nodes[OTHER], TOPIC, index, Leader=str(LOSER), Isr="11,12")
        _write(cluster)
        yield cluster


def _write(cluster: Either) -> None:
    produce(cluster.tools, cluster.kafka.nodes[OTHER], TOPIC, RECORDS)


def _read(cluster: Either, times: int) -> None:
    """All that was written so far, through either broker."""
    for broker in cluster.kafka.brokers:
        assert sorted(consume(cluster.tools, broker, TOPIC, times * len(RECORDS))) == sorted(times * RECORDS)


def _disk(cluster: Either) -> Path:
    return cluster.kafka.log_dirs(LOSER)[1]


def _on(disk: Path) -> list[int]:
    """The topic's partitions there."""
    return sorted(int(path.name.rpartition("-")[2]) for path in disk.glob(f"{TOPIC}-*"))


def _await_placed(cluster: Either) -> None:
    """Until the controller knows in which directory each replica is."""
    known = [directory_ids(cluster.kafka.log_dirs(broker_id)) for broker_id in (LOSER, OTHER)]

    def is_so() -> bool:
        found = placed(cluster.metadata_dir, TOPIC)
        return len(found) == PARTITIONS and all(
            where in ids for directories in found.values() for where, ids in zip(directories, known, strict=True)
        )

    wait_until("the controller to know the directories", is_so, timeout_s=60)


def _lose(cluster: Either, to: Path) -> list[int]:
    """The disk fails; what was on it is moved there. The partitions that were on it."""
    _await_placed(cluster)
    disk = _disk(cluster)
    lost = _on(disk)
    assert 0 < len(lost) < PARTITIONS
    disk.rename(to)
    disk.touch()
    for index in lost:
        await_partition(cluster.tools, cluster.kafka.nodes[OTHER], TOPIC, index, Leader=str(OTHER), Isr=str(OTHER))
    assert f"Stopping serving replicas in dir {disk}" in cluster.kafka.nodes[LOSER].said()
    return lost


def _bring_back(cluster: Either) -> None:
    """Start the broker again; wait until it is in sync everywhere, and leads."""
    cluster.start_brokers(LOSER)
    for index in range(PARTITIONS):
        await_partition(cluster.tools, cluster.kafka.nodes[OTHER], TOPIC, index, Isr="11,12")
    cluster.kafka.admin("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    for index in range(PARTITIONS):
        await_partition(cluster.tools, cluster.kafka.nodes[LOSER], TOPIC, index, Leader=str(LOSER))


def _of_directories(cluster: Either) -> list[list[Change]]:
    """The batches that change a broker's directories."""
    return [batch for batch in changes(cluster.metadata_dir) if any("log_dirs" in fields for *_, fields in batch)]


def test_what_was_on_a_lost_disk_is_led_by_others_and_the_broker_comes_back_with_it(
    cluster: Either, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    kept = directory_ids([cluster.kafka.nodes[LOSER].log_dir])
    lost = _lose(cluster, away)
    for index in set(range(PARTITIONS)) - set(lost):
        await_partition(cluster.tools, cluster.kafka.nodes[LOSER], TOPIC, index, Leader=str(LOSER), Isr="11,12")
    (at_once,) = wait_until("the change in the leader's file", lambda: _of_directories(cluster))
    moved: list[Change] = [(TOPIC, index, {"isr": (OTHER,), "leader": OTHER}) for index in lost]
    assert sorted(at_once[:-1], key=lambda change: change[1]) == moved
    assert at_once[-1] == ("broker", LOSER, {"log_dirs": tuple(kept)})
    _write(cluster)
    _read(cluster, times=2)

    cluster.kafka.nodes[LOSER].stop()
    _disk(cluster).unlink()
    away.rename(_disk(cluster))
    _bring_back(cluster)
    assert _on(_disk(cluster)) == lost
    _read(cluster, times=2)


def test_the_broker_comes_back_without_the_lost_disk_and_then_with_an_empty_one(
    cluster: Either, tmp_path: Path
) -> None:
    lost = _lose(cluster, tmp_path / "broken")
    _write(cluster)
    broker, other = cluster.kafka.nodes[LOSER], cluster.kafka.nodes[OTHER]
    broker.stop()
    for index in range(PARTITIONS):
        await_partition(cluster.tools, other, TOPIC, index, Leader=str(OTHER), Isr=str(OTHER))
    cluster.start_brokers(LOSER)
    for index in set(range(PARTITIONS)) - set(lost):
        await_partition(cluster.tools, other, TOPIC, index, Isr="11,12")
    for index in lost:
        assert partition(cluster.tools, other, TOPIC, index)["Isr"] == str(OTHER)

    broker.stop()
    shutil.rmtree(tmp_path / "broken")
    _disk(cluster).unlink()
    words = ("-t", cluster.kafka.cluster_id, "-c", str(broker.properties), "--ignore-formatted")
    cluster.tools.run("storage", "format", *words)
    _bring_back(cluster)
    assert sorted(_on(broker.log_dir) + _on(_disk(cluster))) == list(range(PARTITIONS))
    _await_placed(cluster)
    _read(cluster, times=3)
