"""Checking the directories of running controllers: what is written meanwhile is never taken for damage."""

from __future__ import annotations

import asyncio
from pathlib import Path

from metadata_log.tools.check.check import CheckReport, check_paths
from quorum.api.topics import CreatableTopic, CreateTopics
from tests.support.running_nodes import RunningNode, RunningNodes

_TOPICS = 40


async def _write(nodes: RunningNodes, leader: RunningNode) -> None:
    for number in range(_TOPICS):
        topic = CreatableTopic(name=f"topic-{number}", num_partitions=1, replication_factor=1)
        await nodes.ask(leader, CreateTopics(topics=(topic,)))


async def _watched(path: Path) -> list[CheckReport]:
    """Check a quorum again and again while it creates topics."""
    nodes = RunningNodes(path)
    for node_id in (1, 2, 3):
        nodes.start(node_id)
    leader = await nodes.add_broker()
    writing = asyncio.create_task(_write(nodes, leader))
    paths = [Path(nodes.directory(node_id)) for node_id in (1, 2, 3)]
    reports = []
    while not writing.done():
        reports.append(await asyncio.to_thread(check_paths, paths))
    await writing
    await nodes.stop()
    return reports


def test_running_controllers_are_silent(tmp_path: Path) -> None:
    reports = asyncio.run(_watched(tmp_path))
    last = check_paths([tmp_path])

    assert reports
    assert [report.findings for report in [*reports, last]] == [()] * (len(reports) + 1)
    assert [(node.records or 0) > 2 * _TOPICS for node in last.nodes] == [True] * 3
