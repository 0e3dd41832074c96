"""The faults of one kind each that are planted in the logs of any cluster: what `kraft check` and Spark both find.

Each takes writable copies of a cluster's nodes, by node id, and draws where it is planted.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from metadata_log.directory import (
    META_PROPERTIES_FILE,
    METADATA_DIRECTORY,
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
    MetaProperties,
    format_meta_properties,
    parse_meta_properties,
)
from metadata_log.errors import RecordError
from metadata_log.format.batch import CRC_POSITION, batch_records, batch_values, parse_header
from metadata_log.ids import METADATA_TOPIC_ID, ZERO_DIRECTORY_ID, ZERO_TOPIC_ID, NodeId, TopicId, id_text
from metadata_log.records import (
    LeaderChangeMessage,
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_control,
    decode_record,
)
from tests.spark.plant import (
    Replica,
    base_offset,
    flipped,
    leader_change,
    other_bytes,
    split,
    with_epoch,
    with_topic_named,
)

Scene: TypeAlias = dict[int, Replica]
UNUSED: Final = TopicId(bytes(range(16)))


class DoesNotApply(Exception):
    """The cluster has nothing that the fault could be planted in."""


def copy_scene(cluster: Path, into: Path) -> Scene:
    """Copy the nodes of a cluster that have a metadata log, each as `node-N`."""
    scene = {}
    for node in sorted(cluster.glob("node-*")):
        target = into / node.name
        shutil.copytree(node, target, copy_function=shutil.copyfile)
        for metadata in sorted(target.rglob(METADATA_DIRECTORY)):
            number = int(node.name.removeprefix("node-"))
            scene[number] = Replica(node_id=number, directory=metadata.parent)
    return scene


def _one(scene: Scene, draw: random.Random) -> Replica:
    return scene[draw.choice(sorted(scene))]


def _inner(replica: Replica, draw: random.Random) -> tuple[list[bytes], int]:
    """Return the batches of a segment, and the number of one with batches on both sides."""
    batches = replica.batches()
    if len(batches) < 5:
        raise DoesNotApply
    return batches, draw.randrange(2, len(batches) - 2)


def _in_one_batch(change: Callable[[bytes], bytes]) -> Callable[[Scene, random.Random], None]:
    def plant(scene: Scene, draw: random.Random) -> None:
        replica = _one(scene, draw)
        batches, number = _inner(replica, draw)
        replica.write([*batches[:number], change(batches[number]), *batches[number + 1 :]])

    return plant


def _with_crc_turned(batch: bytes) -> bytes:
    return batch[:CRC_POSITION] + bytes((batch[CRC_POSITION] ^ 1,)) + batch[CRC_POSITION + 1 :]


def _torn(scene: Scene, draw: random.Random) -> None:
    replica = _one(scene, draw)
    batches = replica.batches()
    replica.write([*batches[:-1], batches[-1][: draw.randrange(1, len(batches[-1]))]])


def _missing(scene: Scene, draw: random.Random) -> None:
    replica = _one(scene, draw)
    batches, number = _inner(replica, draw)
    replica.write([*batches[:number], *batches[number + 1 :]])


def _twice(scene: Scene, draw: random.Random) -> None:
    replica = _one(scene, draw)
    batches, number = _inner(replica, draw)
    replica.write([*batches[: number + 1], *batches[number:]])


def _gap(scene: Scene, draw: random.Random) -> None:
    replica = _one(scene, draw)
    batches, number = _inner(replica, draw)
    later = [struct.pack(">q", base_offset(batch) + 7) + batch[8:] for batch in batches[number:]]
    replica.write([*batches[:number], *later])


def _epoch_back(scene: Scene, draw: random.Random) -> None:
    replica = _one(scene, draw)
    batches, number = _inner(replica, draw)
    raised = with_epoch(batches[number], int(parse_header(batches[-1]).partition_leader_epoch) + 1)
    replica.write([*batches[:number], raised, *batches[number + 1 :]])


def _two_leaders(scene: Scene, draw: random.Random) -> None:
    if len(scene) < 2:
        raise DoesNotApply
    ends = {number: parse_header(replica.batches()[-1]) for number, replica in scene.items()}
    epoch = max(int(end.partition_leader_epoch) for end in ends.values()) + 1
    for number in draw.sample(sorted(scene), 2):
        change = leader_change(int(ends[number].next_offset), epoch, number, ends[number].max_timestamp)
        scene[number].write([*scene[number].batches(), change])


def _majority_cut(scene: Scene, draw: random.Random) -> None:
    if len(scene) < 3:
        raise DoesNotApply
    for number in draw.sample(sorted(scene), len(scene) // 2 + 1):
        batches = scene[number].batches()
        kept = batches[: len(batches) // 2]
        # Back to an earlier epoch, if one is there: the file of epochs then shows the loss. Else it looks like a lag.
        scene[number].write([batch for batch in kept if _epoch_of(batch) < _epoch_of(batches[-1])] or kept)


def _epoch_of(batch: bytes) -> int:
    return int(parse_header(batch).partition_leader_epoch)


def _append(scene: Scene, draw: random.Random, *records: MetadataRecord) -> None:
    replica = _one(scene, draw)
    replica.append(*records, epoch=_epoch_of(replica.batches()[-1]))


def _appended(*records: MetadataRecord) -> Callable[[Scene, random.Random], None]:
    return lambda scene, draw: _append(scene, draw, *records)


def _partition(isr: tuple[int, ...] = (1,), leader: int = 1) -> PartitionRecord:
    return PartitionRecord(
        partition_id=0, topic_id=UNUSED, replicas=(NodeId(1),), isr=tuple(map(NodeId, isr)), removing_replicas=(),
        adding_replicas=(), leader=NodeId(leader), leader_epoch=0, partition_epoch=0,
    )  # fmt: skip


def _checkpoint(scene: Scene, draw: random.Random, *, with_topics: bool) -> Path:
    found = [path for replica in scene.values() for path in sorted(replica.metadata.glob("*.checkpoint"))]
    fit = [path for path in found if not with_topics or any(map(_has_topic, split(path)))]
    if not fit:
        raise DoesNotApply
    return draw.choice(fit)


def _has_topic(batch: bytes) -> bool:
    header = parse_header(batch)
    if header.is_control:
        return False
    for value in batch_values(batch, header, 0):
        try:
            if isinstance(decode_record(value), TopicRecord):
                return True
        except RecordError:
            continue
    return False


def _checkpoint_differs(scene: Scene, draw: random.Random) -> None:
    path = _checkpoint(scene, draw, with_topics=True)
    batches = split(path)
    at = next(number for number, batch in enumerate(batches) if _has_topic(batch))
    path.write_bytes(b"".join([*batches[:at], with_topic_named(batches[at], "never-made"), *batches[at + 1 :]]))


def _no_footer(scene: Scene, draw: random.Random) -> None:
    path = _checkpoint(scene, draw, with_topics=False)
    path.write_bytes(b"".join(split(path)[:-1]))


def _wrong_topic_id(scene: Scene, draw: random.Random) -> None:
    path = _one(scene, draw).metadata / PARTITION_METADATA_FILE
    path.write_text(f"version: 0\ntopic_id: {id_text(UNUSED)}")


def _elections(replica: Replica) -> Iterator[tuple[int, LeaderChangeMessage]]:
    for path in sorted(replica.metadata.glob("*.log")):
        for batch in split(path):
            header = parse_header(batch)
            for record in batch_records(batch, header, 0) if header.is_control else ():
                control = decode_control(record.key or b"", record.value or b"")
                if isinstance(control, LeaderChangeMessage):
                    yield int(header.partition_leader_epoch), control


def _two_votes(scene: Scene, draw: random.Random) -> None:
    """Let a voter that elected the last leader have voted for another voter in that epoch."""
    *_, (epoch, change) = _elections(scene[min(scene)])
    granting = {int(voter.voter_id) for voter in change.granting_voters}
    voters = {int(voter.voter_id) for voter in change.voters}
    able = sorted(granting & set(scene) - {int(change.leader_id)}) or sorted(granting & set(scene))
    others = sorted(voters - {int(change.leader_id)})
    if not able or not others:
        raise DoesNotApply
    number = draw.choice(able)
    path = scene[number].metadata / QUORUM_STATE_FILE
    state = json.loads(path.read_text())
    voted = draw.choice(others)
    state |= {"leaderId": -1, "leaderEpoch": epoch, "votedId": voted}
    if "votedDirectoryId" in state and voted in scene:
        state["votedDirectoryId"] = id_text(_identity(scene[voted]).directory_id or ZERO_DIRECTORY_ID)
    path.write_text(json.dumps(state))


def _identity(replica: Replica) -> MetaProperties:
    path = replica.directory / META_PROPERTIES_FILE
    return parse_meta_properties(path.read_bytes(), str(path))


def _give_identity(replica: Replica, identity: MetaProperties) -> None:
    (replica.directory / META_PROPERTIES_FILE).write_bytes(format_meta_properties(identity, 0))


def _foreign(scene: Scene, draw: random.Random) -> None:
    if len(scene) < 2:
        raise DoesNotApply
    replica = _one(scene, draw)
    _give_identity(replica, msgspec.structs.replace(_identity(replica), cluster_id="another-cluster"))


def _same_directory_id(scene: Scene, draw: random.Random) -> None:
    named = [number for number in scene if _identity(scene[number]).directory_id is not None]
    if len(named) < 2:
        raise DoesNotApply
    one, other = draw.sample(sorted(named), 2)
    directory_id = _identity(scene[one]).directory_id
    _give_identity(scene[other], msgspec.structs.replace(_identity(scene[other]), directory_id=directory_id))


class Fault(msgspec.Struct, frozen=True):
    """One fault: how it is planted, and the kinds of findings of which at least one names it."""

    plant: Callable[[Scene, random.Random], None]
    kinds: tuple[str, ...]


FAULTS: Final = {
    "a bit flipped in a batch": Fault(_in_one_batch(flipped), ("corrupt_batch",)),
    "a checksum": Fault(_in_one_batch(_with_crc_turned), ("corrupt_batch",)),
    "a torn tail": Fault(_torn, ("torn_tail", "log_cut", "corrupt_batch")),
    "a batch missing": Fault(_missing, ("offset_gap",)),
    "a batch twice": Fault(_twice, ("offset_repeated",)),
    "a batch with other bytes": Fault(_in_one_batch(other_bytes), ("log_mismatch", "malformed_record", "two_leaders")),
    "an offset gap": Fault(_gap, ("offset_gap",)),
    "an epoch that goes back": Fault(_epoch_back, ("epoch_went_back", "epoch_without_leader")),
    "two leaders in an epoch": Fault(_two_leaders, ("two_leaders",)),
    "a committed prefix lost on a majority": Fault(_majority_cut, ("committed_lost", "log_cut", "log_missing")),
    "one id on two topics": Fault(
        _appended(TopicRecord(name="one", topic_id=UNUSED), TopicRecord(name="two", topic_id=UNUSED)),
        ("topic_id_reused",),
    ),
    "the null id": Fault(_appended(TopicRecord(name="none", topic_id=ZERO_TOPIC_ID)), ("topic_id_null",)),
    "the sentinel's id": Fault(
        _appended(TopicRecord(name="thief", topic_id=METADATA_TOPIC_ID)), ("topic_id_sentinel",)
    ),
    "a partition of an unknown topic": Fault(_appended(_partition()), ("unknown_topic",)),
    "a change after the removal": Fault(
        _appended(TopicRecord(name="gone", topic_id=UNUSED), RemoveTopicRecord(topic_id=UNUSED), _partition()),
        ("change_after_removal",),
    ),
    "an ISR member that is no replica": Fault(
        _appended(TopicRecord(name="made", topic_id=UNUSED), _partition(isr=(1, 99))), ("isr_outside_replicas",)
    ),
    "a leader that is no replica": Fault(
        _appended(TopicRecord(name="made", topic_id=UNUSED), _partition(leader=99)), ("leader_outside_replicas",)
    ),
    "a checkpoint that is not the log": Fault(_checkpoint_differs, ("checkpoint_disagrees", "topic_name_reused")),
    "a checkpoint without a footer": Fault(_no_footer, ("checkpoint_incomplete",)),
    "a wrong id in partition.metadata": Fault(_wrong_topic_id, ("foreign_metadata_topic",)),
    "two votes in an epoch": Fault(_two_votes, ("two_votes", "two_leaders")),
    "another cluster's meta.properties": Fault(_foreign, ("foreign_cluster",)),
    "one directory id on two nodes": Fault(_same_directory_id, ("duplicate_directory_id",)),
}
"""By what is planted."""
