"""One agent's partition directories, kept in step with the image: plans are carried out here, and told.

Decides: the order of the moves, and what is logged of them. Must not know: how the image came. Its calls block on the
disk and are made one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import structlog

from broker_agent import storage
from broker_agent.changes import TopicChanges, own_id
from broker_agent.journal import Journal
from broker_agent.reconciler import Make, NotUnderstood, Plan, SetAside, Stage, assigned, plan
from broker_agent.removal import Removals
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
        journal: Journal,
        *,
        delete_delay_ms: int,
        wall_ms: Callable[[], int],
        monotonic_ms: Callable[[], int],
        new_token: Callable[[], bytes],
    ) -> None:
        self.log_dirs: Final = dict(log_dirs)
        self._files = files
        self._broker_id = broker_id
        self._removals = Removals(files, journal, delay_ms=delete_delay_ms, wall_ms=wall_ms, monotonic_ms=monotonic_ms)
        self._new_token = new_token
        self._in_use: dict[str, PartitionDirectory] = {}
        self._judged_all = False
        self._journal = journal
        self.not_understood: dict[tuple[TopicId, int], str] = {}
        """Replicas that get no directory, and why: each is said once."""
        self._is_bound = False
        """The last image had the own id that the journal is bound to."""

    @property
    def in_use(self) -> tuple[PartitionDirectory, ...]:
        """Every partition directory, by path."""
        return tuple(self._in_use[path] for path in sorted(self._in_use))

    @property
    def staged(self) -> tuple[StagedDirectory, ...]:
        """What waits for removal, the first due first."""
        return self._removals.staged

    def topic_id_in(self, name: str) -> TopicId | None:
        """The topic id in the directory in use with this name; None when there is none."""
        for log_dir in self.log_dirs.values():
            found = self._in_use.get(f"{log_dir}/{name}")
            if found is not None:
                return found.topic_id
        return None

    def quarantined(self, log_dir: str) -> list[str]:
        """Names of what was set aside in a log directory."""
        return [storage.printable(name) for name in self._files.listdir(log_dir) if name.endswith("-stray")]

    def open(self) -> None:
        """Read what is there; finish or undo what a crash left half done.

        Raises:
            OSError: a log directory cannot be read.
        """
        if self._journal.fault is not None:
            log.warning(
                "the agent's journal is damaged",
                why=self._journal.fault,
                what="stale directories of lost entries are quarantined, not deleted",
            )
        for log_dir in self.log_dirs.values():
            for name in storage.clear_unfinished(self._files, log_dir):
                log.info("removed a directory that was never finished", log_dir=log_dir, name=name)
            found, unknown = storage.scan(self._files, log_dir)
            self._in_use |= {directory.path: directory for directory in found}
            for name in unknown:
                log.warning("a directory that is no partition's is left alone", log_dir=log_dir, name=name)
            self._removals.open(log_dir)

    def reconcile(self, image: MetadataImage, changes: TopicChanges) -> Plan:
        """Bring the directories in step with the image; the first time all of them, then those of changed topics.

        Raises:
            OSError: the disk failed; what was done is done, the rest is planned again by the next call.
        """
        topic_ids: set[TopicId] = set(changes.changed)
        if self._judged_all:
            names = {topic.name for each in topic_ids if (topic := image.topics.topic(each)) is not None}
            present = [one for one in self._in_use.values() if one.topic_id in topic_ids or one.topic in names]
        else:
            topic_ids = set(image.topics.by_id)
            present = list(self._in_use.values())
        self._prove(image, topic_ids, present, changes.removed)
        todo = plan(image, self._broker_id, self.log_dirs, present, topic_ids, self._proves)
        for stage in todo.stage:
            self._stage(stage)
        for aside in todo.set_aside:
            self._set_aside(aside)
        for make in todo.make:
            self._make(make)
        for strange in todo.not_understood:
            self._say_not_understood(strange)
        if not self._judged_all:
            staged = {each.replica for each in self.staged}
            used = {(each.topic_id, each.partition) for each in self._in_use.values()}
            wanted = {*assigned(image, self._broker_id, topic_ids)}
            self._journal.keep_only(lambda each: each in wanted or each in used or each in staged)
        self._judged_all = True
        return todo

    def remove_due(self) -> int | None:
        """Remove what is due; return after how many ms to look again, or None if nothing waits.

        Nothing is removed before an image was reconciled, nor without proof that it was this broker's.

        Raises:
            OSError: the disk failed; it stays staged.
        """
        for each in self._removals.due(self._proves):
            self._removals.remove(each)
        return self._removals.next_ms(self._proves)

    def _prove(
        self,
        image: MetadataImage,
        topic_ids: Iterable[TopicId],
        present: Iterable[PartitionDirectory],
        removed: frozenset[TopicId],
    ) -> None:
        """Note what this image proves, before any directory is made or moved."""
        own = own_id(image)
        self._is_bound = own is not None
        if own is None:
            return
        former, void = self._journal.metadata_topic_id, self._journal.bind(own)
        if void:
            log.warning(
                "the metadata topic has another id: what was assigned under the former proves nothing any more",
                former=_id(former),
                now=id_text(own),
                replicas=void,
                what="directories that this log does not assign are quarantined, not deleted",
            )
        gone = ((each.topic_id, each.partition) for each in present if each.topic_id in removed)
        self._journal.add(
            [*assigned(image, self._broker_id, topic_ids), *((each, index) for each, index in gone if each is not None)]
        )
        if not self._judged_all:
            for each in self._removals.unprovable(self._proves):
                log.warning(
                    "a staged directory is not removed: nothing proves that it was this broker's",
                    path=each.path,
                    what="remove it by hand, or move it back under its partition's name",
                )

    def _proves(self, topic_id: TopicId, partition: int) -> bool:
        return self._is_bound and self._journal.proves(topic_id, partition)

    def _stage(self, stage: Stage) -> None:
        staged = self._removals.stage(stage.directory)
        del self._in_use[stage.directory.path]
        log.warning(
            "stale partition staged for deletion",
            partition=stage.directory.name,
            topic_id=_id(stage.directory.topic_id),
            why=stage.why,
            path=staged.path,
            remove_at=time_text(staged.remove_at_ms),
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
        try:
            made = storage.create(self._files, make.log_dir, make.topic, make.partition, make.topic_id)
        except FileExistsError:
            log.warning(
                "partition directory not made: something else has its name",
                path=f"{make.log_dir}/{make.topic}-{make.partition}",
                topic_id=_id(make.topic_id),
                what="move it away: the directory is made at the next start",
            )
            return
        self._in_use[made.path] = made
        log.info("partition directory made", partition=made.name, topic_id=_id(make.topic_id), path=made.path)

    def _say_not_understood(self, strange: NotUnderstood) -> None:
        replica = (strange.topic_id, strange.partition)
        if replica not in self.not_understood:
            self.not_understood[replica] = strange.why
            log.warning(
                "not understood: a replica in the metadata log gets no directory",
                topic=storage.printable(strange.topic),
                partition=strange.partition,
                topic_id=_id(strange.topic_id),
                why=strange.why,
            )


def _id(topic_id: TopicId | None) -> str:
    return "none" if topic_id is None else id_text(topic_id)
