"""Act: one record in a copy of a replica's log is changed, checksum included; Spark must name the offset."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.format.batch import batch_values, build_batch
from metadata_log.records import TopicRecord, decode_versioned, encode_record
from metadata_log.storage.segment import LocatedBatch, segment_bases, segment_file
from metadata_log.tools.read.manifest import read_manifest, write_manifest
from quorum.cli.demo.place import as_written
from quorum.cli.demo.replica_files import FoundTopic, ReplicaFiles
from quorum.cli.demo.stage import Stage
from quorum.cli.demo.story import CheckFailedError, check
from quorum.cli.demo.take_up import PAYMENTS
from quorum.cli.demo.verdict import analyse

HEADING = "A divergence is planted in a copy of one replica's log"

_CHANGED: Final = "paymants"
_MEANT: Final = ("log_mismatch", "committed_prefix_differs")


def run(stage: Stage) -> None:
    """Copy, change and analyse. The verdict must name the replica, the offset and the fault."""
    story, victim = stage.story, stage.killed_controller
    planted = stage.directory / "planted"
    shutil.copytree(stage.exports, planted)
    topic = plant(planted / victim.root.name)
    story.say(
        f"In {planted.name}/{victim.root.name} the topic {PAYMENTS} at offset {topic.offset} is now called {_CHANGED}: "
        "checksum, lengths and manifest are right."
    )
    page = stage.directory / "verdict-planted.html"
    verdict = analyse(stage, planted, page)
    found = [finding for finding in verdict.findings if finding.counts]
    check(bool(found), f"Spark found nothing, but offset {topic.offset} of {victim.name} is not what others have")
    strangers = [finding for finding in found if finding.node_id != victim.node_id]
    check(not strangers, f"Spark accuses node {[each.node_id for each in strangers]}, but {victim.name} was changed")
    named = [
        finding
        for finding in found
        if finding.kind in _MEANT
        and finding.offset is not None
        and topic.batch_start <= finding.offset < topic.batch_end
    ]
    check(bool(named), f"Spark did not name offset {topic.offset} of {victim.name}: {[each.meaning for each in found]}")
    story.proved(f"Spark names the replica (node {victim.node_id}), the offset ({named[0].offset}) and the fault.")
    story.say(f"The page: {as_written(page)}")


def plant(export: Path) -> FoundTopic:
    """Rename a topic in an export. The log stays valid: only a comparison with another replica shows the change.

    Raises:
        CheckFailedError: the topic does not exist, or the changed batch has another size.
    """
    log = ReplicaFiles(export)
    topic = next((each for each in log.topics() if each.name == PAYMENTS), None)
    if topic is None:
        raise CheckFailedError(f"{export} holds no topic {PAYMENTS}")
    batch = next(batch for batch in log.batches if batch.header.base_offset == topic.batch_start)
    changed = _with_other_name(batch)
    check(len(changed) == batch.header.size_in_bytes, "the changed batch has another size")
    bases = segment_bases([path.name for path in export.iterdir()])
    path = export / segment_file(max(base for base in bases if base <= topic.batch_start))
    with path.open("r+b") as file:
        file.seek(batch.position)
        file.write(changed)
    _mend_manifest(export, path)
    return topic


def _with_other_name(batch: LocatedBatch) -> bytes:
    values: list[bytes] = []
    for value in batch_values(batch.buffer, batch.header, batch.at):
        record, version = decode_versioned(value)
        if isinstance(record, TopicRecord) and record.name == PAYMENTS:
            values.append(encode_record(msgspec.structs.replace(record, name=_CHANGED), version))
        else:
            values.append(value)
    return build_batch(
        base_offset=batch.header.base_offset,
        epoch=batch.header.partition_leader_epoch,
        timestamp_ms=batch.header.max_timestamp,
        values=values,
    )


def _mend_manifest(export: Path, path: Path) -> None:
    manifest = read_manifest(export)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    files = tuple(
        msgspec.structs.replace(file, sha256=digest) if file.name == path.name else file for file in manifest.files
    )
    write_manifest(export, msgspec.structs.replace(manifest, files=files))
