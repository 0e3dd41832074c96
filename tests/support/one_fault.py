"""One fault on one node of a real cluster, drawn by a seed: flipped bits, forged records and files, foreign logs.

Must not know: what `kraft check` reports.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE
from metadata_log.format.batch import batch_values, build_control_batch, parse_header
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    ControlRecord,
    FenceBrokerRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    PartitionRecord,
    TopicRecord,
    decode_record,
    encode_control,
    encode_record,
)
from tests.support.damage import Cluster, append, copy_cluster, other_bytes, sealed, split, with_bytes, write
from tests.support.damage_voters import change_controls, of_voters
from tests.support.image_records import topic_id

_SCENARIOS: Final = ("basic", "basic-4.4", "every-record", "failovers", "failovers-4.4", "static-3.9", "upgrade-path")
_FOREIGN: Final = "foreign log"
Fault: TypeAlias = Callable[[Path, random.Random], bool]
"""Damages the node with this metadata directory; returns False if it has nothing to damage in this way."""


def metadata_of(root: Path) -> dict[int, Path]:
    """Return the metadata directories of a scenario's nodes, by node id."""
    found = {}
    for node in sorted(root.glob("node-*")):
        directories = sorted(node.glob(f"*/{METADATA_DIRECTORY}"))
        if directories:
            found[int(node.name.removeprefix("node-"))] = directories[0]
    return found


def segments_of(metadata: Path) -> list[Path]:
    """Return the segments that hold a batch, in order."""
    return [path for path in sorted(metadata.glob("*.log")) if path.stat().st_size]


def _flipped(first: int, last: int) -> Fault:
    """Flip a bit of a header field that no checksum covers, in any batch."""

    def plant(metadata: Path, draw: random.Random) -> bool:
        path = draw.choice(segments_of(metadata))
        batches = split(path)
        number = draw.randrange(len(batches))
        at = draw.randint(first, last)
        batch = batches[number]
        batches[number] = with_bytes(batch, at, bytes([batch[at] ^ 1 << draw.randrange(8)]))
        write(path, batches)
        return True

    return plant


def flipped_at(path: Path, number: int, at: int, bit: int) -> None:
    """Flip one bit of a batch, by its number in the segment."""
    batches = split(path)
    batch = batches[number]
    batches[number] = with_bytes(batch, at, bytes([batch[at] ^ 1 << bit]))
    write(path, batches)


def _rewritten(metadata: Path, draw: random.Random) -> bool:
    """Replace a batch by a valid batch with other bytes."""
    path = draw.choice(segments_of(metadata))
    batches = split(path)
    numbers = [number for number, batch in enumerate(batches) if not parse_header(batch).is_control]
    if not numbers:
        return False
    number = draw.choice(numbers)
    batches[number] = other_bytes(batches[number])
    write(path, batches)
    return True


def _dropped(metadata: Path, draw: random.Random) -> bool:
    path = draw.choice(segments_of(metadata))
    batches = split(path)
    del batches[draw.randrange(len(batches))]
    write(path, batches)
    return True


def _repeated(metadata: Path, draw: random.Random) -> bool:
    path = draw.choice(segments_of(metadata))
    batches = split(path)
    number = draw.randrange(len(batches))
    batches.insert(number, batches[number])
    write(path, batches)
    return True


def forged_checkpoint(metadata: Path, draw: random.Random) -> bool:
    """Let the newest checkpoint name one voter with another directory."""
    paths = sorted(metadata.glob("*.checkpoint"))
    if not paths:
        return False
    before = paths[-1].read_bytes()
    change_controls(paths[-1], of_voters(lambda voters: _moved(voters, draw.randrange(9))))
    return paths[-1].read_bytes() != before


def _moved(voters: tuple, number: int) -> tuple:  # type: ignore[type-arg]
    if not voters:
        return voters
    number %= len(voters)
    moved = msgspec.structs.replace(voters[number], voter_directory_id=DirectoryId(b"a forged disk 01"))
    return (*voters[:number], moved, *voters[number + 1 :])


def _another_leader(metadata: Path, draw: random.Random) -> bool:
    """Let the log's last LeaderChange name another voter as leader."""
    path = draw.choice(segments_of(metadata))
    before = path.read_bytes()
    change_controls(path, lambda record: _led_by_another(record, draw))
    return path.read_bytes() != before


def _led_by_another(record: ControlRecord, draw: random.Random) -> ControlRecord:
    if not isinstance(record, LeaderChangeMessage):
        return record
    others = [voter.voter_id for voter in record.voters if voter.voter_id != record.leader_id]
    return msgspec.structs.replace(record, leader_id=draw.choice(others)) if others else record


def add_leader_change(path: Path, leader_id: int, granting: tuple[int, ...], voters: tuple[int, ...], up: int) -> int:
    """Append a LeaderChange, `up` epochs above the log's last; return its offset."""
    last = parse_header(split(path)[-1])
    record = LeaderChangeMessage(
        leader_id=NodeId(leader_id),
        voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in voters),
        granting_voters=tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in granting),
    )
    batch = build_control_batch(
        base_offset=Offset(last.next_offset),
        epoch=Epoch(last.partition_leader_epoch + up),
        timestamp_ms=last.max_timestamp,
        records=[encode_control(record)],
    )
    path.write_bytes(path.read_bytes() + batch)
    return int(last.next_offset)


def _lone_leader(metadata: Path, draw: random.Random) -> bool:
    voters = (1, 2, 3)
    leader_id = draw.choice(voters)
    add_leader_change(segments_of(metadata)[-1], leader_id, voters, voters, draw.randint(0, 1))
    return True


def _cut(metadata: Path, draw: random.Random) -> bool:
    path = segments_of(metadata)[-1]
    batches = split(path)
    if len(batches) < 2:
        return False
    write(path, batches[: draw.randint(1, len(batches) - 1)])
    return True


def set_back(metadata: Path, end: int, epoch: int) -> None:
    """End a log of `failovers` at an offset, with its quorum-state in this epoch; no other file there shows more."""
    for path in segments_of(metadata):
        write(path, [batch for batch in split(path) if parse_header(batch).next_offset <= end])
    for path in metadata.glob("0*"):
        if int(path.name[:20]) > end or path.suffix not in (".log", ".checkpoint"):
            path.unlink()
    (metadata / "leader-epoch-checkpoint").unlink()
    state = metadata / QUORUM_STATE_FILE
    state.write_text(re.sub('"leaderEpoch":[0-9]+', f'"leaderEpoch":{epoch}', state.read_text()))


def repeated_topic(path: Path) -> tuple[int, TopicRecord] | None:
    """Append a topic of a segment again, under another id; return its offset, and the record."""
    values = [
        value
        for batch in split(path)
        if not (header := parse_header(batch)).is_control
        for value in batch_values(batch, header)
    ]
    topics = [record for value in values if isinstance(record := decode_record(value), TopicRecord)]
    made = [record for value in values if isinstance(record := decode_record(value), PartitionRecord)]
    if not topics or not made:
        return None
    again = TopicRecord(name=topics[-1].name, topic_id=topic_id(7))
    partitions = [msgspec.structs.replace(made[-1], topic_id=again.topic_id, partition_id=0)]
    version = 1 if partitions[0].directories else 0
    return append(path, [again, *(encode_record(each, version) for each in partitions)])[0], again


def _repeated_topic(metadata: Path, draw: random.Random) -> bool:
    return repeated_topic(segments_of(metadata)[-1]) is not None


def _impossible(metadata: Path, draw: random.Random) -> bool:
    append(segments_of(metadata)[-1], [FenceBrokerRecord(id=NodeId(99), epoch=5)])
    return True


def _other_vote(metadata: Path, draw: random.Random) -> bool:
    path = metadata / QUORUM_STATE_FILE
    if not path.exists():
        return False
    text = path.read_text()
    changed = re.sub(r'"leaderEpoch":(\d+)', lambda found: f'"leaderEpoch":{int(found[1]) + draw.randint(1, 3)}', text)
    if draw.random() < 0.5:
        changed = re.sub(r'"leaderId":-?\d+', f'"leaderId":{draw.choice((1, 2, 3))}', text)
    path.write_text(changed)
    return changed != text


def _no_file(name: str) -> Fault:
    def plant(metadata: Path, draw: random.Random) -> bool:
        path = metadata / name
        if not path.exists():
            return False
        path.unlink()
        return True

    return plant


def put_foreign_log(metadata: Path, foreign: Path) -> None:
    """Replace this log by another cluster's, under the cluster id of this disk."""
    shutil.rmtree(metadata)
    shutil.copytree(foreign, metadata, copy_function=shutil.copyfile)
    for path in (*metadata.glob("*.log"), *metadata.glob("0*.checkpoint")):
        with_other_voters(path)


def with_other_voters(path: Path) -> None:
    """Give a file's voters other directory ids: the scenarios share theirs, but real clusters do not."""
    write(path, [sealed(batch.replace(b"directory-id-", b"another-disk-")) for batch in split(path)])


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster with one fault, and the node that has it."""

    cluster: Cluster
    scenario: str
    fault: str
    node_id: int

    @property
    def said(self) -> str:
        """The fault and its place, for a failing test."""
        return f"{self.scenario}, {self.fault} on node {self.node_id}"


def with_one_fault(seed: int, clusters: Path, target: Path) -> Planted:
    """Copy a scenario to a path below `target`, and plant a fault; the seed draws both."""
    draw = random.Random(seed)
    scenario = draw.choice(_SCENARIOS)
    cluster = copy_cluster(clusters / scenario, target / scenario)
    nodes = metadata_of(cluster.root)
    node_id = draw.choice(sorted(nodes))
    names = [*FAULTS, _FOREIGN]
    draw.shuffle(names)
    for name in names:
        if name == _FOREIGN:
            other = draw.choice([each for each in _SCENARIOS if each != scenario])
            foreign = metadata_of(clusters / other)
            put_foreign_log(nodes[node_id], foreign[draw.choice(sorted(foreign))])
            break
        if FAULTS[name](nodes[node_id], draw):
            break
    return Planted(cluster=cluster, scenario=scenario, fault=name, node_id=node_id)


FAULTS: Final[dict[str, Fault]] = {
    "base offset": _flipped(0, 7),
    "length": _flipped(8, 11),
    "epoch": _flipped(12, 15),
    "magic": _flipped(16, 16),
    "checksum": _flipped(17, 20),
    "body": _flipped(21, 60),
    "rewritten batch": _rewritten,
    "dropped batch": _dropped,
    "repeated batch": _repeated,
    "forged checkpoint": forged_checkpoint,
    "another leader": _another_leader,
    "lone leader": _lone_leader,
    "cut": _cut,
    "repeated topic": _repeated_topic,
    "impossible record": _impossible,
    "quorum-state": _other_vote,
    "no quorum-state": _no_file(QUORUM_STATE_FILE),
    "no epoch file": _no_file("leader-epoch-checkpoint"),
}
