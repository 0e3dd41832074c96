"""Checkpoints with orphaned configs of a Kafka node, beside logs of real clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from metadata_log.format.batch import parse_header
from metadata_log.image import ConfigResource, ConfigsImage, ResourceType
from metadata_log.image.checkpoint import records_of
from metadata_log.image.maps import Map
from metadata_log.records import encode_record
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name
from metadata_log.tools.read.history import open_history
from tests.support.damage import split, write

GONE = {"sensors-51": {"min.insync.replicas": "1"}}
"""A config of a topic that the log of `stray` created and removed at offset 83."""
AGAIN = {"mail-90": {"min.insync.replicas": "1"}}
"""A config of a topic that it removed at offset 82 and created again without it at offset 86."""
AFTER = 95
"""The end of a batch after all these records."""


def checkpoint_with(metadata: Path, configs: Mapping[str, Mapping[str, str]], at: int = AFTER) -> Path:
    """Write the checkpoint that a node with these additional topic configs would write at offset `at`."""
    history = open_history(metadata)
    state = history.state_at(at)
    image, quorum = state.image, state.quorum
    by_resource = dict(image.configs.by_resource)
    for topic, values in configs.items():
        resource = ConfigResource(resource_type=ResourceType.TOPIC, name=topic)
        by_resource[resource] = Map({**by_resource.get(resource, {}), **values})
    image = msgspec.structs.replace(image, configs=ConfigsImage(by_resource=Map(by_resource)))
    last_ms = image.last_contained_timestamp_ms
    batches = build_checkpoint(
        [encode_record(record, version) for record, version in records_of(image)],
        epoch=image.offset_and_epoch.epoch,
        times=CheckpointTimes.at(last_ms, last_contained_ms=last_ms),
        kraft_version=quorum.kraft_version,
        voters=quorum.voters,
    )
    path = metadata / checkpoint_name(image.offset_and_epoch)
    path.write_bytes(b"".join(batches))
    return path


def cut_to(metadata: Path, start: int) -> None:
    """Remove the log's records before `start`, as a node with a checkpoint there does."""
    first, *_ = segments = sorted(metadata.glob("*.log"))
    if len(segments) > 1:
        raise ValueError(f"{metadata} has more than one segment")
    batches = [batch for batch in split(first) if parse_header(batch).base_offset >= start]
    for path in metadata.glob(f"{first.stem}.*"):
        path.unlink()
    write(metadata / f"{start:020d}.log", batches)
    epoch = parse_header(batches[0]).partition_leader_epoch
    later = [header for batch in batches if (header := parse_header(batch)).partition_leader_epoch > epoch]
    starts = {epoch: start}
    for header in later:
        starts.setdefault(header.partition_leader_epoch, header.base_offset)
    lines = ["0", str(len(starts)), *(f"{number} {offset}" for number, offset in starts.items()), ""]
    (metadata / "leader-epoch-checkpoint").write_text("\n".join(lines))
