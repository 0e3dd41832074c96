"""One controller as a real process, its topics, and its end when it must not run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from metadata_log.ids import TopicId
from quorum.api.topics import CreatableReplicaAssignment, DescribedTopic
from quorum.cli.demo.cluster import Node, wait_until
from quorum.client.client import Client
from quorum.client.errors import OutcomeUnknownError, UnavailableError
from tests.support.local_cluster import Cluster
from tests.support.log_history import read_history
from tests.support.paper_broker import PaperBroker

BROKER = 101
_TIMEOUT_S = 20.0
_HURT_AFTER = 30


def standalone(root: Path) -> Cluster:
    """Return a formatted quorum of one, not started. Enter it, so that no process is left."""
    cluster = Cluster(root, controllers=(1,), agents=())
    cluster.format()
    return cluster


def start(node: Node) -> None:
    """Start it, and wait until it listens."""
    node.start()
    node.wait_listening()


def create(cluster: Cluster, names: Iterable[str]) -> dict[str, TopicId]:
    """Create topics one after another; return their ids by name."""
    return asyncio.run(_create(cluster, names))


def create_past(cluster: Cluster, names: Iterable[str]) -> dict[str, TopicId]:
    """Create topics while a leader fails, which may leave one of unknown outcome; return the ids of the others."""
    return asyncio.run(_create(cluster, names, unknown=1))


def create_through(
    cluster: Cluster, names: Iterable[str], hurt: Callable[[], None], *, partitions: int = 1
) -> dict[str, TopicId]:
    """Create topics until one is not acknowledged, with `hurt` called after some; return the acknowledged ones."""
    return asyncio.run(_create(cluster, names, hurt, partitions=partitions))


async def _create(
    cluster: Cluster,
    names: Iterable[str],
    hurt: Callable[[], None] | None = None,
    *,
    unknown: int = 0,
    partitions: int = 1,
) -> dict[str, TopicId]:
    acknowledged: dict[str, TopicId] = {}
    assignments = [CreatableReplicaAssignment(partition_index=at, broker_ids=(BROKER,)) for at in range(partitions)]
    is_hurt = False
    async with (
        Client(cluster.bootstrap, timeout_s=_TIMEOUT_S) as client,
        PaperBroker(client, cluster.cluster_id, BROKER),
    ):
        for name in names:
            try:
                created = await client.create_topic(name, assignments=assignments, timeout_s=_TIMEOUT_S)
            except (OutcomeUnknownError, UnavailableError) as error:
                if is_hurt:
                    break
                if unknown == 0 or not isinstance(error, OutcomeUnknownError):
                    raise
                unknown -= 1
                continue
            acknowledged[name] = created.topic_id
            if hurt is not None and len(acknowledged) == _HURT_AFTER:
                hurt()
                is_hurt = True
    return acknowledged


def leader_id(cluster: Cluster) -> int:
    """Return the leader's id from the first controller that responds; -1 if no leader is known."""

    async def ask() -> int:
        async with Client(cluster.bootstrap) as client:
            return (await client.describe_quorum()).leader_id

    return asyncio.run(ask())


def leader_of(cluster: Cluster) -> Node:
    """Return the controller that leads, once there is one."""
    return wait_until("a leader", lambda: cluster.controllers.get(leader_id(cluster)))


def listed(cluster: Cluster) -> dict[str, TopicId]:
    """Return all topics by name, as the controller lists them."""
    return {topic.name: topic.topic_id for topic in asyncio.run(_describe(cluster)) if topic.name is not None}


async def _describe(cluster: Cluster) -> tuple[DescribedTopic, ...]:
    async with Client(cluster.bootstrap, timeout_s=_TIMEOUT_S) as client:
        return await client.describe_topics(all_topics=True)


def written(node: Node) -> dict[str, TopicId]:
    """Return all topics in a stopped node's own files."""
    return dict(read_history(node.metadata_dir).image.topics.by_name.items())


def log_of(node: Node) -> Path:
    """Return its only segment."""
    (log,) = node.metadata_dir.glob("*.log")
    return log


def complaint(node: Node, *, already_running: bool = False, environment: dict[str, str] | None = None) -> str:
    """Start it unless it runs, wait for its end, and return the one line that it printed for the operator."""
    if not already_running:
        node.start(environment=environment)
    status = node.wait()
    text = node.log_file.read_text()
    assert status == 1, f"exit status {status}:\n{text}"
    assert "Traceback" not in text, text
    said = [line for line in text.splitlines() if line.startswith("kraft: ")]
    assert len(said) == 1, text
    assert text.splitlines()[-1] == said[0], text
    return said[0]
