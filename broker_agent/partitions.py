"""One agent's partition directories, kept in step with the image: plans are carried out here, and told.

Decides: the order of the moves, and what is logged of them. Must not know: how the image came. Its calls block on the
disk and are made one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from broker_agent import storage
from broker_agent.reconciler import Make, Plan, SetAside, Stage, plan
from broker_agent.storage import PartitionDirectory, StagedDirectory
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.tools.times import time_text

log = structlog.get_logger("broker_agent")


class Partitions:
    """The directories in use, those that wait for removal, and those set aside."""

    def __init__(
        self,
        files: Files,
        broker_id: NodeId,
        log_dirs: Mapping[DirectoryId, str],
        *,
        delete_delay_ms: int,
        wall_ms: Callable[[], int],
        new_token: Callable[[], bytes],
    ) -> None:
        self.log_dirs: Final = dict(log_dirs)
        self._files = files
        self._broker_id = broker_id
        self._delay_ms = delete_delay_ms
        self.wall_ms: Final = wall_ms
        self._new_token = new_token
        self._in_use: dict[str, PartitionDirectory] = {}
        self._staged: list[StagedDirectory] = []
        self._judged_all = False

    @property
    def in_use(self) -> tuple[PartitionDirectory, ...]:
        """Every partition directory, by path."""
        return tuple(self._in_use[path] for path in sorted(self._in_use))

    @property
    def staged(self) -> tuple[StagedDirectory, ...]:
        """What waits for removal, the first due first."""
        return tuple(sorted(self._staged, key=lambda each: (each.remove_at_ms, each.path)))

    def topic_id_in(self, name: str) -> TopicId | None:
        """The topic id in the directory in use with this name; None when there is none."""
        for log_dir in self.log_dirs.values():
            found = self._in_use.get(f"{log_dir}/{name}")
            if found is not None:
                return found.topic_id
        return None

    def quarantined(self, log_dir: str) -> list[str]:
        """Names of what was set aside in a log directory."""
        return [name for name in self._files.listdir(log_dir) if name.endswith("-stray")]

    def open(self) -> None:
        """Read what is there; finish or undo what a crash left half done.

        Raises:
            OSError: a log directory cannot be read.
        """
        for log_dir in self.log_dirs.values():
            for name in storage.clear_unfinished(self._files, log_dir):
                log.info("removed a directory that was never finished", log_dir=log_dir, name=name)
            found, unknown = storage.scan(self._files, log_dir)
            self._in_use |= {directory.path: directory for directory in found}
            for name in unknown:
                log.warning("a directory that is no partition's is left alone", log_dir=log_dir, name=name)
            self._staged += storage.staged(self._files, log_dir, self.wall_ms() + self._delay_ms)
        for each in self._staged:
            log.warning("stale partition waits for removal", path=each.path, remove_at=time_text(each.remove_at_ms))

    def reconcile(self, image: MetadataImage, changed: Iterable[TopicId]) -> Plan:
        """Bring the directories in step with the image; the first time all of them, then those of changed topics.

        Raises:
            OSError: the disk failed; what was done is done, the rest is planned again by the next call.
        """
        if self._judged_all:
            topic_ids = set(changed)
            names = {topic.name for each in topic_ids if (topic := image.topics.topic(each)) is not None}
            present = [one for one in self._in_use.values() if one.topic_id in topic_ids or one.topic in names]
        else:
            topic_ids = set(image.topics.by_id)
            present = list(self._in_use.values())
        todo = plan(image, self._broker_id, self.log_dirs, present, topic_ids)
        for stage in todo.stage:
            self._stage(stage)
        for aside in todo.set_aside:
            self._set_aside(aside)
        for make in todo.make:
            self._make(make)
        self._judged_all = True
        return todo

    def remove_due(self) -> int | None:
        """Remove what is due; return when the next is (wall clock, ms), or None.

        Raises:
            OSError: the disk failed; it stays staged.
        """
        now = self.wall_ms()
        for each in [staged for staged in self._staged if staged.remove_at_ms <= now]:
            storage.remove(self._files, each)
            self._staged.remove(each)
            log.info("removed a stale partition", path=each.path)
        return min((each.remove_at_ms for each in self._staged), default=None)

    def _stage(self, stage: Stage) -> None:
        remove_at_ms = self.wall_ms() + self._delay_ms
        staged = storage.stage(self._files, stage.directory, remove_at_ms)
        del self._in_use[stage.directory.path]
        self._staged.append(staged)
        log.warning(
            "stale partition staged for deletion",
            partition=stage.directory.name,
            topic_id=_id(stage.directory.topic_id),
            why=stage.why,
            path=staged.path,
            remove_at=time_text(remove_at_ms),
        )

    def _set_aside(self, aside: SetAside) -> None:
        directory = aside.directory
        name = storage.quarantine(self._files, directory.log_dir, directory.name, self._new_token())
        del self._in_use[directory.path]
        log.warning(
            "partition directory set aside, not deleted",
            path=directory.path,
            why=aside.why,
            now=f"{directory.log_dir}/{name}",
        )

    def _make(self, make: Make) -> None:
        made = storage.create(self._files, make.log_dir, make.topic, make.partition, make.topic_id)
        self._in_use[made.path] = made
        log.info("partition directory made", partition=made.name, topic_id=_id(make.topic_id), path=made.path)


def _id(topic_id: TopicId | None) -> str:
    return "none" if topic_id is None else id_text(topic_id)
