"""A stranger's Vote in the last possible epoch, sent to a real controller of Kafka or of this project.

Must not know: how a quorum recovers from it.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from pathlib import Path

from metadata_log.offsets import LAST_EPOCH
from quorum.cli.demo.cluster import LOOPBACK, wait_until
from tests.support.kafka_voter_requests import vote
from tests.support.kafka_wire import connected_to

STRANGER = 666
_VOTE_VERSION = 2


def end_epochs(ports: Mapping[int, int], cluster_id: str) -> None:
    """Send one Vote to each controller; `ports` are those of Kafka's protocol, by id."""
    asyncio.run(_end_epochs(ports, cluster_id))


async def _end_epochs(ports: Mapping[int, int], cluster_id: str) -> None:
    for node_id, port in ports.items():
        request = vote(
            _VOTE_VERSION,
            cluster_id=cluster_id,
            replica_id=STRANGER,
            replica_epoch=LAST_EPOCH,
            voter_id=node_id,
            voter_directory_id=uuid.UUID(int=0),
            last_offset_epoch=0,
            last_offset=0,
            pre_vote=False,
        )
        async with connected_to(LOOPBACK, port) as client:
            await client.ask(request)


def epoch_in(metadata_dir: Path) -> int:
    """Return the epoch in a node's quorum-state."""
    said: dict[str, int] = json.loads((metadata_dir / "quorum-state").read_text())
    return said["leaderEpoch"]


def await_last_epoch(*metadata_dirs: Path) -> None:
    """Wait until all of these nodes have written the last epoch."""
    wait_until(
        "the last epoch in every quorum-state",
        lambda: all(epoch_in(path) >= LAST_EPOCH for path in metadata_dirs),
        timeout_s=60,
    )
