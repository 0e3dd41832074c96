"""The watch on log directories: what others do needs a comparison, what the agent does needs none."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest
from inotify_simple import INotify
from structlog.testing import capture_logs

from broker_agent.changes import NO_TOPIC_CHANGES, TopicChanges
from broker_agent.partitions import Partitions
from broker_agent.watch import Watch, new_inotify, watch_log_dirs
from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_NAME, id_text
from metadata_log.image import MetadataImage
from metadata_log.records import RemoveTopicRecord
from tests.support.image_records import image_of, partition, topic, topic_id
from tests.unit.broker_agent.test_offline import _formatted, opened_agent

OWN = topic(900, METADATA_TOPIC_NAME)
ASSIGNED = (OWN, topic(1, "orders"), *(partition(1, each) for each in range(4)))


class Rig:
    """Two log directories on the real disk, with an agent's partitions in them."""

    def __init__(self, root: Path) -> None:
        self.paths = [str(root / "a"), str(root / "b")]
        files = OsFiles()
        _formatted(files, *self.paths)
        self.partitions: Partitions = opened_agent(files, *self.paths, meta=str(root / "meta"))
        self.image: MetadataImage = image_of(*ASSIGNED)

    def differing(self, watch: Watch) -> list[str] | None:
        """Return the entries that need a comparison, of those that have come or gone; None for any."""
        entries = watch.take()
        return None if entries is None else sorted(f"{at}/{name}" for at, name in entries if self.differs(at, name))

    def differs(self, log_dir: str, name: str) -> bool:
        """Return the decision."""
        return self.partitions.differs(log_dir, name)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def _changed(watch: Watch) -> None:
    await asyncio.wait_for(watch.has_changed.wait(), 30)


def test_own_moves_need_no_comparison(rig: Rig) -> None:
    async def story() -> None:
        watch = Watch(new_inotify(), rig.paths)
        rig.partitions.reconcile(rig.image, NO_TOPIC_CHANGES)
        await _changed(watch)
        assert rig.differing(watch) == []
        removed = TopicChanges(changed=frozenset({topic_id(1)}), removed=frozenset({topic_id(1)}))
        rig.partitions.reconcile(image_of(*ASSIGNED, RemoveTopicRecord(topic_id=topic_id(1))), removed)
        assert len(rig.partitions.staged) == 4
        rig.partitions.remove_due()
        await _changed(watch)
        assert rig.differing(watch) == []
        watch.close()

    asyncio.run(story())


def test_what_others_do_needs_one_and_what_follows_from_it_none(rig: Rig) -> None:
    async def story() -> None:
        watch = Watch(new_inotify(), rig.paths)
        rig.partitions.reconcile(rig.image, NO_TOPIC_CHANGES)
        await _changed(watch)
        assert rig.differing(watch) == []
        gone, moved, *_ = (each.path for each in rig.partitions.in_use)
        shutil.rmtree(gone)
        brought = moved.replace("orders-", "strange-")
        os.rename(moved, brought)
        await _changed(watch)
        assert rig.differing(watch) == sorted([gone, moved, brought])
        found = rig.partitions.compare(rig.image)
        assert found.gone == tuple(sorted([gone, moved]))
        await _changed(watch)
        assert rig.differing(watch) == []
        watch.close()

    asyncio.run(story())


def test_a_directory_that_was_replaced_differs(rig: Rig) -> None:
    rig.partitions.reconcile(rig.image, NO_TOPIC_CHANGES)
    held = rig.partitions.in_use[0]
    assert not rig.differs(held.log_dir, held.name)
    Path(held.path, PARTITION_METADATA_FILE).write_text(f"version: 0\ntopic_id: {id_text(topic_id(7))}")
    assert rig.differs(held.log_dir, held.name)


@pytest.mark.parametrize("name", ["deleting", "lost+found", "zero-00", "strange-0", f"orders-0.{'0' * 32}-stray"])
def test_what_no_comparison_would_move_needs_none(rig: Rig, name: str) -> None:
    Path(rig.paths[0], name).mkdir()
    assert not rig.differs(rig.paths[0], name)


def test_a_lost_log_directory_is_compared_whole(rig: Rig) -> None:
    async def story() -> None:
        watch = Watch(new_inotify(), rig.paths)
        shutil.rmtree(rig.paths[1])
        await _changed(watch)
        assert watch.take() is None
        assert watch.take() == set()
        watch.close()

    asyncio.run(story())


class WatchedAgent:
    """An agent that compares nothing."""

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions

    async def compare_if_changed(self, entries: Collection[tuple[str, str]] | None) -> bool:
        return False


def test_without_an_instance_one_warning_is_all(rig: Rig) -> None:
    def refused() -> INotify:
        raise OSError(errno.EMFILE, "Too many open files")

    assert "Too many open files" in _warned_once(WatchedAgent(rig.partitions), refused)


def test_directories_that_cannot_be_watched_are_one_warning(rig: Rig) -> None:
    for path in rig.paths:
        shutil.rmtree(path)
    why = _warned_once(WatchedAgent(rig.partitions), new_inotify)
    assert all(path in why for path in rig.paths)


def _warned_once(agent: WatchedAgent, inotify: object) -> str:
    async def story() -> str:
        with capture_logs() as lines:
            watching = asyncio.create_task(watch_log_dirs(agent, inotify))  # type: ignore[arg-type]
            await asyncio.sleep(0)  # its first step says it
            assert not watching.done()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        (line,) = lines
        assert line["log_level"] == "warning"
        return str(line["why"])

    return asyncio.run(story())
