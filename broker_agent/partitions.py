"""One agent's partition directories, kept in step with the image: this module carries out plans and logs each move.

Decides: the order of the moves. Must not know: how the image came. Its calls block on the disk; the caller makes one
call at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec
import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from broker_agent import storage
from broker_agent.changes import NO_TOPIC_CHANGES, TopicChanges
from broker_agent.comparison import Comparison, compared
from broker_agent.journal import Journal
from broker_agent.proof import Proof
from broker_agent.reconciler import Make, NotUnderstood, Plan, SetAside, Stage, plan
from broker_agent.removal import Removals
from broker_agent.storage import LogDirFailedError, PartitionDirectory, StagedDirectory
from metadata_log.errors import MetadataLogError
from metadata_log.files.port import Files
from metadata_log.ids import DirectoryId, NodeId, TopicId, id_text
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset
from metadata_log.tools.times import time_text
from quorum.node.core.view import NodeView
from quorum.node.process.health import Check

log = structlog.get_logger("broker_agent")


T = TypeVar("T")


class Partitions:
    """The partition directories of one agent: in use, staged for removal, or quarantined."""

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
        identity: Callable[[str], DirectoryId | None] | None = None,
        offline: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the ports and the configuration; `open` reads the disks.

        Args:
            log_dirs: working log directories, by their ids.
            identity: reads the id in a log directory. The agent compares it to notice an unmounted disk.
            offline: log directories that have failed already, and why.
        """
        self.log_dirs: dict[DirectoryId, str] = dict(log_dirs)
        """Replaced as a whole when one fails: other threads read it."""
        self.offline: dict[str, str] = dict(offline or {})
        """Failed log directories, and why. A directory stays offline until the agent is restarted."""
        self.comparisons = 0
        self.lost = 0
        """The number of partition directories that another process removed or renamed during this run."""
        self._identity = identity
        self._aside = 0
        self._files = files
        self._broker_id = broker_id
        self._removals = Removals(files, journal, delay_ms=delete_delay_ms, wall_ms=wall_ms, monotonic_ms=monotonic_ms)
        self._new_token = new_token
        self._in_use: dict[str, PartitionDirectory] = {}
        self._judged_all = False
        self._proof = Proof(journal, broker_id)
        self.not_understood: dict[tuple[TopicId, int], str] = {}
        """Replicas that get no directory, and why. Each is logged once."""

    @property
    def in_use(self) -> tuple[PartitionDirectory, ...]:
        """Every partition directory, by path."""
        held = dict(self._in_use)  # a copy: other threads call this while the dict changes
        return tuple(held[path] for path in sorted(held))

    @property
    def staged(self) -> tuple[StagedDirectory, ...]:
        """Directories that wait for removal, the first due first."""
        return self._removals.staged

    def topic_id_in(self, name: str) -> TopicId | None:
        """Return the topic id in the directory in use with this name, or None."""
        for log_dir in self.log_dirs.values():
            found = self._in_use.get(f"{log_dir}/{name}")
            if found is not None:
                return found.topic_id
        return None

    def quarantined(self, log_dir: str) -> list[str]:
        """Return the names of quarantined directories in a log directory; none if it cannot be read."""
        try:
            names = self._files.listdir(log_dir)
        except OSError:
            return []
        return [storage.printable(name) for name in names if name.endswith("-stray")]

    def check(self, view: NodeView) -> tuple[Check, ...]:
        """Return the check `log-dirs`, which names offline directories. It always passes: the others are served."""
        if not self.offline:
            return (Check(name="log-dirs", is_ok=True, what=f"{len(self.log_dirs)} in use"),)
        named = "; ".join(f"{path}: {why}" for path, why in sorted(self.offline.items()))
        return (Check(name="log-dirs", is_ok=True, what=f"{len(self.log_dirs)} in use, OFFLINE: {named}"),)

    def metrics(self) -> Iterator[Metric]:
        """Yield the agent's own metrics; may be called in another thread."""
        for name, text, value in (
            ("kraft_agent_log_dirs", "Log directories in use", len(self.log_dirs)),
            ("kraft_agent_log_dirs_offline", "Log directories that failed, until the next start", len(self.offline)),
            ("kraft_agent_partition_directories", "Partition directories in use", len(self._in_use)),
            ("kraft_agent_staged_directories", "Stale directories that wait for removal", len(self.staged)),
            ("kraft_agent_replicas_not_understood", "Replicas without a directory", len(self.not_understood)),
        ):
            yield GaugeMetricFamily(name, text, value=float(value))
        yield CounterMetricFamily("kraft_agent_directories_set_aside", "Directories quarantined", self._aside)
        yield CounterMetricFamily("kraft_agent_comparisons", "Comparisons of disks and image", self.comparisons)
        yield CounterMetricFamily("kraft_agent_directories_lost", "Directories gone under the agent", self.lost)

    def open(self) -> None:
        """Read every log directory, and remove partition directories that a crash left half made.

        Raises:
            OSError: a log directory cannot be read.
        """
        self._proof.open()
        for log_dir in tuple(self.log_dirs.values()):
            self._on_disk(log_dir, self._open_log_dir, log_dir)

    def _open_log_dir(self, log_dir: str) -> None:
        for name in storage.clear_unfinished(self._files, log_dir):
            log.info("removed a directory that was never finished", log_dir=log_dir, name=name)
        found, unknown = storage.scan(self._files, log_dir)
        for name in unknown:
            log.warning("a directory that is no partition's is left alone", log_dir=log_dir, name=name)
        self._removals.open(log_dir)
        self._in_use |= {directory.path: directory for directory in found}

    def reconcile(self, image: MetadataImage, changes: TopicChanges, received_end: Offset | None = None) -> Plan:
        """Make, stage and quarantine directories as the image requires, and return the plan.

        The first call judges all directories, later calls those of changed topics. A log directory that fails
        meanwhile goes offline.

        Args:
            image: the metadata to reconcile with.
            changes: topics that differ from the image of the previous call.
            received_end: end offset of the received snapshot that the image's log begins with, or None.

        Raises:
            OSError: the metadata's log directory failed, or the last one. The next call plans the rest again.
        """
        topic_ids: set[TopicId] = set(changes.changed)
        if self._judged_all:
            names = {topic.name for each in topic_ids if (topic := image.topics.topic(each)) is not None}
            present = [one for one in self._in_use.values() if one.topic_id in topic_ids or one.topic in names]
        else:
            topic_ids = set(image.topics.by_id)
            present = list(self._in_use.values())
        new = self._proof.take(image, topic_ids, present, changes.removed, received_end)
        self._judge_staged()
        todo = plan(image, self._broker_id, self.log_dirs, present, topic_ids, self._proof.proves)
        if self.offline:  # a known replica may lie on the failed disk: a second directory would hide its data
            todo = msgspec.structs.replace(
                todo, make=tuple(make for make in todo.make if (make.topic_id, make.partition) in new)
            )
        self._carry_out(todo)
        if not self._judged_all and not self.offline:
            staged = [each.replica for each in self.staged if each.replica is not None]
            used = [(each.topic_id, each.partition) for each in self._in_use.values() if each.topic_id is not None]
            self._proof.keep_only({*staged, *used})
        self._judged_all = True
        return todo

    def _carry_out(self, todo: Plan) -> None:
        for stage in todo.stage:
            self._on_disk(stage.directory.log_dir, self._stage, stage)
        for aside in todo.set_aside:
            self._on_disk(aside.directory.log_dir, self._set_aside, aside)
        for log_dir in {make.log_dir for make in todo.make}:
            self._on_disk(log_dir, self._check_mounted, log_dir)
        for make in todo.make:
            self._on_disk(make.log_dir, self._make, make)
        for strange in todo.not_understood:
            self._say_not_understood(strange)

    def compare(self, image: MetadataImage, received_end: Offset | None = None) -> Comparison:
        """Read every log directory again, log lost partition directories, then reconcile all topics.

        Raises:
            OSError: as `reconcile`.
        """
        self.comparisons += 1
        before = dict(self._in_use)
        for log_dir in tuple(self.log_dirs.values()):
            self._on_disk(log_dir, self._scan_again, log_dir)
        online = set(self.log_dirs.values())
        gone = sorted(path for path, each in before.items() if path not in self._in_use and each.log_dir in online)
        for path in gone:
            self.lost += 1
            log.error(
                "partition directory is gone: something else removed or renamed it",
                path=path,
                topic_id=_id(before[path].topic_id),
                what="it is made again, empty, if the image assigns it",
            )
        self._judged_all = False
        todo = self.reconcile(image, NO_TOPIC_CHANGES, received_end)
        return compared(before, self._in_use, gone, todo, self.offline)

    def differs(self, log_dir: str, name: str) -> bool:
        """Return True if this entry is not as the agent knows it, so that a comparison is needed."""
        known = self._in_use.get(f"{log_dir}/{name}")
        return log_dir in self.log_dirs.values() and storage.differs(self._files, log_dir, name, known)

    def _scan_again(self, log_dir: str) -> None:
        self._check_mounted(log_dir)
        found, _ = storage.scan(self._files, log_dir)
        others = {path: each for path, each in self._in_use.items() if each.log_dir != log_dir}
        self._in_use = others | {directory.path: directory for directory in found}

    def _check_mounted(self, log_dir: str) -> None:
        """Raise LogDirFailedError if the log directory has no longer the id with which it was opened."""
        if self._identity is None:
            return
        try:
            found = self._identity(log_dir)
        except MetadataLogError as error:
            raise LogDirFailedError(log_dir, error) from error
        if found is None or self.log_dirs.get(found) != log_dir:
            raise LogDirFailedError(log_dir, "its meta.properties names another directory.id")

    def _on_disk(self, log_dir: str, act: Callable[[T], None], what: T) -> None:
        """Call `act` on one log directory unless it is offline; a failure of its disk takes it offline."""
        if log_dir in self.offline:
            return
        try:
            with storage.on_disk(log_dir):
                act(what)
        except LogDirFailedError as error:
            self._fail(error)

    def _fail(self, error: LogDirFailedError) -> None:
        if error.log_dir == self._proof.journal.directory:
            raise error  # the metadata log's own disk: a Kafka broker also stops
        left = {directory_id: path for directory_id, path in self.log_dirs.items() if path != error.log_dir}
        if not left:
            raise LogDirFailedError(error.log_dir, f"{error.why}; no other log directory is left") from error
        self.offline[error.log_dir] = error.why
        self.log_dirs = left
        self._in_use = {path: each for path, each in self._in_use.items() if each.log_dir != error.log_dir}
        self._removals.forget(error.log_dir)
        log.error(
            "log directory is offline",
            path=error.log_dir,
            why=error.why,
            what="the others go on; repair or mount the disk, then restart this agent",
        )

    def remove_due(self) -> int | None:
        """Remove due directories; return in how many ms the next is due, or None if none waits.

        A removal needs a reconciled image that does not assign the replica, and a journal entry that proves that the
        replica was this broker's.

        Raises:
            OSError: as `reconcile`.
        """
        try:
            due = self._removals.due(self._proof.may_go)
        except LogDirFailedError as error:
            self._fail(error)
            due = []
        for each in due:
            self._on_disk(each.log_dir, self._removals.remove, each)
        return self._removals.next_ms(self._proof.may_go)

    def _judge_staged(self) -> None:
        """Restart the delay of staged replicas that the image assigns again; log the ones that stay staged.

        The delay restarts again when the image stops assigning them.
        """
        try:
            self._removals.on_image(self._proof.is_assigned)
        except LogDirFailedError as error:
            self._fail(error)
        if self._judged_all:
            return
        for each in self._removals.kept(self._proof.may_go):
            log.warning(
                "a staged directory is not removed",
                path=each.path,
                why="nothing proves that it was this broker's, or the metadata log assigns it again",
                what="remove it by hand, or move it back under its partition's name",
            )

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
        self._aside += 1
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
