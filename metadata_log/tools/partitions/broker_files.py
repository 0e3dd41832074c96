"""The files in which a broker stores an offset for each partition of a disk: `*-offset-checkpoint`.

Decides: the valid form: version 0, a count, and that many lines `topic partition offset`, each partition once. Must not
know: which partitions there are, and whether an offset is right.

A broker creates each file empty at its first start, and later replaces it whole. So it has written no file that Kafka's
own reader rejects, nor one with a partition twice or an offset below 0. Something else changed such a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.counts import lines_follow
from metadata_log.directory.clean_shutdown import CLEAN_SHUTDOWN_FILE, CleanShutdown
from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.java_text import java_lines
from metadata_log.offsets import LARGEST_OFFSET
from metadata_log.tools.findings.finding import Finding, finding, unreadable
from metadata_log.tools.findings.remedy import Advice, no_start
from metadata_log.tools.partitions.partition_advice import CLEAN_SHUTDOWN, OFFSETS
from metadata_log.tools.read.disks import OFFSET_FILES
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.replica_set import ReplicaSet

_VERSION: Final = "0"
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_LINE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}) (0|[1-9][0-9]{0,9}) (-?[0-9]{1,19})")
_MAX_PARTITION: Final = 2**31 - 1
_SHOWN: Final = 60
_LOST_OFFSETS: Final = {
    "recovery-point-offset-checkpoint": "nothing is lost, but it reads more of its partitions through as it starts",
    "log-start-offset-checkpoint": (
        "records that were deleted before their retention (kafka-delete-records), and whose segment is still there, "
        "come back"
    ),
    "replication-offset-checkpoint": (
        "nothing is lost, but what it leads is hidden from consumers until the replicas in sync have fetched it again"
    ),
    "cleaner-offset-checkpoint": "nothing is lost, but compacted topics are cleaned from their beginning again",
}
"""What the broker loses without each of these files; it completes the advice `OFFSETS`."""


def check_offset_files(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield a finding for each of these files that is invalid or cannot be read."""
    for name in OFFSET_FILES:
        advice = no_start(OFFSETS.format(lost=_LOST_OFFSETS[name]))
        yield from check_on_disks(nodes, name, _parse, advice, with_links=True)


def _parse(data: bytes, path: str, node: NodeSource) -> object:
    return parse_offsets(data, path)


def parse_offsets(data: bytes, path: str) -> dict[tuple[str, int], int]:
    """Return the offsets in such a file, by topic and partition.

    Raises:
        CorruptFileError: the data has another form.
    """
    if not data:
        return {}
    ended = java_lines(data)
    if ended is None:
        raise CorruptFileError(path, "it does not end with a line feed: it was cut, or is no list of offsets")
    lines = [line.decode("latin-1") for line in ended]
    if lines[0] != _VERSION:
        raise CorruptFileError(path, f"it begins with {_shown(lines[0])}, where version {_VERSION} must stand")
    if len(lines) < 2 or not _COUNT.fullmatch(lines[1]):
        raise CorruptFileError(path, "there is no count of its lines behind its version")
    if int(lines[1]) != len(lines) - 2:
        raise CorruptFileError(path, f"its count is {int(lines[1])}, and {lines_follow(len(lines) - 2)}")
    offsets: dict[tuple[str, int], int] = {}
    for line in lines[2:]:
        topic, partition, offset = _parse_line(line, path)
        if (topic, partition) in offsets:
            raise CorruptFileError(path, f"partition {topic}-{partition} is listed twice")
        offsets[topic, partition] = offset
    return offsets


def _parse_line(line: str, path: str) -> tuple[str, int, int]:
    found = _LINE.fullmatch(line)
    if found is None or int(found[2]) > _MAX_PARTITION or int(found[3]) > LARGEST_OFFSET:
        raise CorruptFileError(path, f"{_shown(line)} is no topic, partition and offset")
    if found[3].startswith("-"):
        raise CorruptFileError(path, f"the offset of {found[1]}-{int(found[2])} is {found[3]}, below 0")
    return found[1], int(found[2]), int(found[3])


def _shown(line: str) -> str:
    return repr(line[:_SHOWN]) + ("..." if len(line) > _SHOWN else "")


_NEVER_REGISTERED: Final = -1


def check_clean_shutdowns(nodes: Sequence[NodeSource], view: ReplicaSet) -> Iterator[Finding]:
    """Yield a finding for each `.kafka_cleanshutdown` that is invalid or cannot be read."""
    ends = {id(replica.source): replica.facts.end_offset for replica in view.replicas}

    def check(data: bytes, path: str, node: NodeSource) -> None:
        fault = _fault(data, ends.get(id(node)))
        if fault is not None:
            raise CorruptFileError(path, fault)

    yield from check_on_disks(nodes, CLEAN_SHUTDOWN_FILE, check, CLEAN_SHUTDOWN)


def _fault(data: bytes, end: int | None) -> str | None:
    """Return why the file is invalid, or None. `end`: end offset of the broker's own log, or None if that is not
    here."""
    if not data:
        return None
    try:
        said = decode_json(data, CleanShutdown)
    except msgspec.DecodeError as error:
        return f"it is no version and broker epoch in JSON: {error}"
    if said.version != 0:
        return f"it is of version {said.version}, and there is only 0"
    if said.broker_epoch < _NEVER_REGISTERED:
        return f"its brokerEpoch is {said.broker_epoch}, which is no broker epoch"
    if end is not None and said.broker_epoch >= end:
        return f"its brokerEpoch is {said.broker_epoch}, and the broker's own log ends at offset {end}, before that"
    return None


def check_on_disks(
    nodes: Sequence[NodeSource],
    name: str,
    parse: Callable[[bytes, str, NodeSource], object],
    advice: Advice | str,
    *,
    with_links: bool = False,
) -> Iterator[Finding]:
    """Yield a finding for each file of that name that is invalid or cannot be read.

    Args:
        parse: raises CorruptFileError; takes the bytes, the path and the node that owns the disk.
        advice: the remedy for an invalid file.
        with_links: report a dangling link, too (`check_link`).
    """
    for node in nodes:
        for disk in node.log_directories:
            path = disk.path / name
            if is_export(disk.path):
                continue
            try:
                parse(read_small_file(OsFiles(), str(path)), str(path), node)
            except FileNotFoundError:
                yield from check_link(path, node.node_id) if with_links else ()
            except CorruptFileError as error:
                yield finding("corrupt_file", error.what, node_id=node.node_id, file=str(path), advice=advice)
            except OSError as error:
                yield unreadable(error, str(path), node_id=node.node_id)


def check_link(path: Path, node_id: int | None) -> Iterator[Finding]:
    """Yield a finding if `path` is a dangling link.

    Kafka creates a missing file, but fails at a dangling link, which exists and cannot be read (`CheckpointFile`).
    """
    if path.is_symlink() and not path.exists():
        what = f"it is a link to {path.readlink()}, where nothing is: a broker fails at it"
        yield finding("unreadable_file", what, node_id=node_id, file=str(path))
