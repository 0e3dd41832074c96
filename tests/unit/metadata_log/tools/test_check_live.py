"""Checking the directories of running controllers: what is written meanwhile is never taken for damage."""

from __future__ import annotations

import asyncio
from pathlib import Path

from metadata_log.tools.check import CheckReport, check_paths
from quorum.controller.requests.topics import CreatableTopic, CreateTopics
from tests.support.running_nodes import RunningNodes

_CHECKS = 8


async def _checks(paths: list[Path]) -> list[CheckReport]:
    return [await asyncio.to_thread(check_paths, paths) for _ in range(_CHECKS)]


async def _watched(path: Path) -> tuple[list[CheckReport], int]:
    """Check a quorum again and again while it creates topics; the reports, and how many topics."""
    nodes = RunningNodes(path)
    for node_id in (1, 2, 3):
        nodes.start(node_id)
    leader = await nodes.add_broker()
    checks = asyncio.create_task(_checks([Path(nodes.directory(node_id)) for node_id in (1, 2, 3)]))
    made = 0
    while not checks.done():
        topic = CreatableTopic(name=f"topic-{made}", num_partitions=1, replication_factor=1)
        await nodes.ask(leader, CreateTopics(topics=(topic,)))
        made += 1
    reports = await checks
    await nodes.stop()
    return reports, made


def test_running_controllers_are_silent(tmp_path: Path) -> None:
    reports, made = asyncio.run(_watched(tmp_path))
    last = check_paths([tmp_path])

    assert made > _CHECKS
    assert [report.findings for report in [*reports, last]] == [()] * (_CHECKS + 1)
    assert [(node.records or 0) > made for node in last.nodes] == [True] * 3
