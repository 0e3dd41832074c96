"""The choice of the image that may judge a broker's directories, and its limits.

Decides: which of the named logs judges, and why it may not suffice. Must not know: directories.

A broker creates a directory because its own replica of the log assigns it. So an image that reaches at least as far as
that replica can judge the directory. Otherwise, or if the extent of that replica is unknown, a topic id that the image
never saw counts as unknown, not as deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.errors import MetadataLogError, WrongUseError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import TopicId
from metadata_log.image import MetadataImage
from metadata_log.tools.findings.finding import Cause, Finding, Severity
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.partitions.committed_proof import is_beyond, never_given
from metadata_log.tools.partitions.directories import PartitionDirectory
from metadata_log.tools.partitions.placement import lacked_records, newest_image
from metadata_log.tools.partitions.required_replicas import OwnLog, own_log
from metadata_log.tools.read.sources import LogDirectory, NodeSource
from metadata_log.tools.replicas.diff import diff_and_odd
from metadata_log.tools.replicas.replica import Replica, read_replica
from metadata_log.tools.replicas.replica_set import ReplicaSet
from metadata_log.tools.replicas.reread_lagging import with_lagging_reread
from metadata_log.tools.rules.records import RecordRules
from metadata_log.tools.verify.log_extent import epochs_beside
from metadata_log.tools.verify.lost_end import SHORT_LOG

_OF_THE_LOG: Final = (Cause.READING, Cause.BYTES, Cause.ORDER, Cause.RECORDS, Cause.CHECKPOINTS)
_ALWAYS: Final = (*SHORT_LOG, "open_transaction")


class AuditError(MetadataLogError):
    """An audit has no directories to judge, or no log to judge them by."""


class NoBrokerError(AuditError, WrongUseError):
    """The named directories are not one broker's, or none of them holds metadata."""


class Judges(msgspec.Struct, frozen=True, kw_only=True):
    """The image that judges, and its limits.

    Attributes:
        holder: the replica with that image.
        own: the broker's own replica, if it is intact and goes on after the holder's end; its verdict counts, too.
        sound: the broker's own replica, if it is intact.
        view: all logs that were read.
        covers_broker: the image reaches everything that the broker's own replica knew.
        newer: a sentence on records of a later release in the holder's log, or None.
        doubts: why no directory may be moved by this image; empty if moves are allowed.
        notes: further remarks for the reader of the verdicts.
    """

    image: MetadataImage
    holder: Replica
    own: Replica | None
    sound: Replica | None
    view: ReplicaSet
    covers_broker: bool
    newer: str | None
    doubts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def rules(self) -> list[RecordRules]:
        """Return, for each log, the history of its topics."""
        return [replica.facts.rules for replica in self.view.replicas]

    def beyond(self, directory: PartitionDirectory, disk: LogDirectory, node: NodeSource) -> str | None:
        """Return why the directory proves records that all of these logs lack, as `check` reports it, or None if it
        does not."""
        topic_id = directory.facts.topic_id
        if topic_id is None or not is_beyond(directory, disk, node, self.view, self.image):
            return None
        end = max(replica.reach for replica in self.view.replicas)
        lack = never_given(directory.facts, topic_id, node.label, self.view)
        return (
            f"no log here, up to offset {end}, ever {lack}, and a broker makes a directory only for what is committed: "
            "it may be all that is left of that, and stays"
        )

    def own_log(self) -> OwnLog | None:
        """Return the directories that the broker must hold by its own replica, or None if that is not intact."""
        return None if self.sound is None else own_log(self.sound, FindingSink())

    def was_ever(self, topic_id: TopicId) -> bool:
        """Return True if a record of the image's log assigned a topic this id."""
        return self.holder.facts.rules.was_ever(topic_id)


def find_judges(broker: Sequence[NodeSource], named: Sequence[NodeSource]) -> Judges:
    """Choose the judging image among the broker's own replica and the nodes named with --image.

    Raises:
        AuditError: the logs contradict each other, or none has an image.
        OSError: a log cannot be read.
    """
    paths = {node.metadata.resolve() for node in named if node.metadata is not None}
    own = [node for node in broker if node.metadata is not None and node.metadata.resolve() not in paths]
    read = [read_replica(node) for node in (*named, *own) if node.metadata is not None]
    if not read:
        raise NoBrokerError("no metadata log is there to judge by: name a node that has one with --image")
    everyone = ReplicaSet(read)
    mine = {node.metadata.resolve() for node in broker if node.metadata is not None}
    own_copies = [replica for replica in everyone.replicas if _path(replica) in mine]
    broken = [replica for replica in own_copies if _damage(replica) is not None]
    left = [replica for replica in everyone.replicas if not named or replica not in broken]
    if not left:
        raise AuditError(_no_image([replica.source for replica in own_copies]))
    view = with_lagging_reread(ReplicaSet(left), read_replica)
    holder, image = _chosen(view)
    sound = next((replica for replica in own_copies if replica not in broken), None)
    ahead = sound is not None and _extent(sound) > _extent(holder)
    return Judges(
        image=image,
        holder=holder,
        own=sound if ahead else None,
        sound=sound,
        view=view,
        covers_broker=sound is not None and sound.facts.image is not None and not ahead,
        newer=holder.facts.newer.text() if holder.facts.newer else None,
        doubts=tuple(_doubts(holder, broken)),
        notes=tuple(_notes(named, holder, sound, broken, ahead=ahead)),
    )


def _chosen(view: ReplicaSet) -> tuple[Replica, MetadataImage]:
    diff, odd = diff_and_odd(view)
    parted = next((found for found in diff.findings if found.counts), None)
    if parted is not None:
        who = "" if parted.node_id is None else f"on node {parted.node_id}, "
        raise AuditError(
            "the logs to judge by, the broker's own copy among them, contradict each other: "
            f"{who}{parted.meaning} (kraft log diff says more): find out which are right, and name only those"
        )
    image = newest_image(view, odd)
    lacked = lacked_records(view, image)
    if lacked is not None:
        raise AuditError(
            f"a part of the metadata was {lacked}. What those created is not seen, so that no directory can be "
            "judged: use a version of this software that knows that release"
        )
    if image is None:
        raise AuditError(_no_image([replica.source for replica in view.replicas]))
    return next(replica for replica in view.replicas if replica.facts.image is image), image


def _no_image(nodes: Sequence[NodeSource]) -> str:
    names = ", ".join(str(node.metadata) for node in nodes)
    return f"{names}: no image at its end (kraft log verify says why): name another node with --image"


def _doubts(holder: Replica, broken: Sequence[Replica]) -> list[str]:
    doubts = []
    damage = _damage(holder)
    if damage is not None:
        doubts.append(
            f"the log that judges, {holder.source.metadata}, cannot be trusted: {damage.meaning}. What the image "
            f"at offset {holder.reach} does not know may have been created since: name a sound one with --image"
        )
    for replica in broken:
        if _path(replica) == _path(holder):
            continue
        reach, epoch = _proved(replica)
        if holder.reach < reach or holder.last_epoch < epoch:
            doubts.append(
                f"{holder.source.metadata} ends at offset {holder.reach} of epoch {holder.last_epoch}, but files of "
                f"the broker prove that its own copy reached offset {reach} of epoch {epoch}: name a newer one with "
                "--image"
            )
    return doubts


def _notes(
    named: Sequence[NodeSource], holder: Replica, own: Replica | None, broken: Sequence[Replica], *, ahead: bool
) -> list[str]:
    notes = []
    for replica in broken:
        damage = _damage(replica)
        if damage is not None and _path(replica) != _path(holder):
            notes.append(f"the broker's own copy, {replica.source.metadata}, is damaged: {damage.meaning}")
    if own is not None and named and _path(own) == _path(holder):
        notes.append(
            f"the broker's own copy, {own.source.metadata}, is at least as new as what --image names: it judges"
        )
    if own is not None and ahead:
        notes.append(
            f"the broker's own copy goes on to offset {own.reach} of epoch {own.last_epoch}, past the image: what it "
            "says otherwise is not judged"
        )
    return notes


def _damage(replica: Replica) -> Finding | None:
    """Return the finding that disqualifies a log from judging (damage, impossible records or an open transaction), or
    None."""
    for found in replica.facts.findings:
        if found.kind in _ALWAYS or (found.severity is Severity.ERROR and found.cause in _OF_THE_LOG):
            return found
    return None


def _extent(replica: Replica) -> tuple[int, int]:
    return replica.last_epoch, replica.reach


def _proved(replica: Replica) -> tuple[int, int]:
    """Return the offset and the epoch that a damaged replica certainly reached, by its files."""
    directory = replica.facts.directory
    files = OsFiles()
    entries = epochs_beside(files, directory, files.listdir(directory))
    epoch = int(entries[-1].epoch) if entries else -1
    return max(replica.reach, replica.facts.proved_end), max(epoch, replica.last_epoch)


def _path(replica: Replica) -> object:
    return None if replica.source.metadata is None else replica.source.metadata.resolve()
