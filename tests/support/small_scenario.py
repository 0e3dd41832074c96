"""A short life of a small cluster of this project that writes every kind of record that its controllers write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from quorum.api.error_codes import Error
from quorum.api.topics import CreatableTopic
from quorum.client.client import Client
from tests.support.kafka.jars import PREVIOUS, RELEASES
from tests.support.local_cluster import Cluster

_PROPERTIES: Final = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "200"}
_PATIENCE_S: Final = 30.0
_POLL_EVERY_S: Final = 0.05


def live_a_little(root: Path) -> Cluster:
    """Run three controllers and two agents; topics come, go, and lose and regain replicas. Return them stopped.

    The newest published metadata shell of Kafka reads the logs.
    """
    with Cluster(root, properties=_PROPERTIES) as cluster:
        cluster.format("--release-version", RELEASES[PREVIOUS].metadata_version)
        cluster.start()
        asyncio.run(_live(cluster))
        cluster.stop()
    return cluster


async def _live(cluster: Cluster) -> None:
    async with Client(cluster.bootstrap, timeout_s=_PATIENCE_S) as client:
        await _until("two brokers to be registered", lambda: _could_place(client, 2))
        await client.create_topic("plain", num_partitions=3, replication_factor=2)
        await client.create_topic("compacted", num_partitions=1, configs=[("cleanup.policy", "compact")])
        first = await client.create_topic("again", num_partitions=2, replication_factor=1)
        await client.delete_topic("again")
        second = await client.create_topic("again", num_partitions=1, replication_factor=1)
        if first.topic_id == second.topic_id:
            raise RuntimeError("a topic id was given twice")
        await client.delete_topic("compacted")
        # A fenced broker gets replicas too, and joins the ISR once it runs.
        await _until("both agents to be in sync", lambda: _has_isr(client, 2))
        killed, stopped = cluster.agents[11], cluster.agents[12]
        stopped.stop()
        await _until("the stopped agent to leave the ISR", lambda: _has_isr(client, 1))
        stopped.start()
        await _until("it to come back", lambda: _has_isr(client, 2))
        killed.kill()
        await _until("the killed agent to be fenced", lambda: _has_isr(client, 1))


async def _until(what: str, condition: Callable[[], Awaitable[bool]]) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_S
    while not await condition():
        if loop.time() > deadline:
            raise TimeoutError(f"waited {_PATIENCE_S:g} s in vain for {what}")
        await asyncio.sleep(_POLL_EVERY_S)


async def _could_place(client: Client, replicas: int) -> bool:
    probe = CreatableTopic(name="probe", num_partitions=1, replication_factor=replicas)
    (result,) = await client.create_topics([probe], validate_only=True)
    return result.error is Error.NONE


async def _has_isr(client: Client, size: int) -> bool:
    (topic,) = await client.describe_topics(["plain"])
    return all(len(partition.isr) == size for partition in topic.partitions)
