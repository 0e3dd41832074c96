"""Files in partition directories that keep a broker from starting, whatever the metadata says.

Decides: the valid forms of `partition.metadata`, `leader-epoch-checkpoint` and the files' names. Must not know: which
topics exist, and the data: segments and indexes of partitions are not read.

At its start Kafka reads these files of every partition directory before it looks at the directory's suffix. So a
directory with the suffix -stray or -delete fails the whole disk, too. Without a partition.metadata, or with an empty
leader-epoch-checkpoint, the broker starts (4.3: `LogManager`, `UnifiedLog`, `LogLoader`; all were tried).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.directory.lock import LOCK_FILE
from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.tools.findings.finding import Finding, finding, unreadable
from metadata_log.tools.partitions.broker_files import check_link
from metadata_log.tools.partitions.directories import HeldPartitions, PartitionDirectory, strange_directories
from metadata_log.tools.partitions.partition_advice import ASIDE_ID, PARTITION_EPOCHS
from metadata_log.tools.read.manifest import is_export
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.file_names import is_beyond_offsets

_OF_A_LOG: Final = re.compile(r".*\.(log|index|timeindex|txnindex|snapshot|swap|cleaned)", re.DOTALL)
_BY_OFFSET: Final = re.compile(r"\d{20}\..*", re.ASCII)


def check_partition_files(nodes: Sequence[NodeSource], held: HeldPartitions) -> Iterator[Finding]:
    """Yield a finding for each invalid file on the disks of these nodes, which are brokers."""
    for node in nodes:
        for disk in node.log_directories:
            for directory in held.get(disk.path, ()):
                yield from _topic_id(node, directory)
                if not directory.is_closed and not is_export(
                    disk.path
                ):  # in a closed directory most likely no file can be read; one finding suffices
                    yield from _epochs(node, directory)
                    yield from _names(node, directory.path)


def _topic_id(node: NodeSource, directory: PartitionDirectory) -> Iterator[Finding]:
    if directory.complaint is not None:
        yield finding(
            "unreadable_file" if directory.is_closed else "corrupt_file",
            directory.complaint,
            node_id=node.node_id,
            file=str(directory.path / PARTITION_METADATA_FILE),
            advice=None if directory.is_in_use or directory.is_closed else ASIDE_ID,
        )


def _epochs(node: NodeSource, directory: PartitionDirectory) -> Iterator[Finding]:
    path = str(directory.path / EPOCH_FILE)
    try:
        data = read_small_file(OsFiles(), path)
        if data:
            parse_epochs(data, path)
    except FileNotFoundError:
        yield from check_link(directory.path / EPOCH_FILE, node.node_id)
    except NotADirectoryError:
        return
    except CorruptFileError as error:
        yield finding("corrupt_file", error.what, node_id=node.node_id, file=path, advice=PARTITION_EPOCHS)
    except OSError as error:
        yield unreadable(error, path, node_id=node.node_id)


def _names(node: NodeSource, directory: Path) -> Iterator[Finding]:
    try:
        names = OsFiles().listdir(str(directory))
    except FileNotFoundError:
        return  # a running broker deleted it meanwhile
    except OSError as error:
        yield unreadable(error, str(directory), node_id=node.node_id)
        return
    for name in names:
        is_by_offset = _BY_OFFSET.fullmatch(name) and not is_beyond_offsets(name)
        if _OF_A_LOG.fullmatch(name) and not is_by_offset and (directory / name).is_file():
            what = "its name ends as that of a part of the partition's log, and does not begin with an offset"
            yield finding("strange_file", what, node_id=node.node_id, file=str(directory / name))


_NO_LOCK: Final = (
    "find out who made it, and remove it while the node is stopped: as it starts the node makes the file in its place"
)


def check_strange(nodes: Sequence[NodeSource], brokers: Sequence[NodeSource]) -> Iterator[Finding]:
    """Yield a finding for each directory whose name is no partition's. `brokers`: those of the nodes that are
    brokers."""
    for node in nodes:
        is_broker = node in brokers
        for disk in () if node.is_bare else node.log_directories:
            for path in strange_directories(disk):
                if path.name == LOCK_FILE:
                    what = "a directory, where a node makes the file that it locks: it does not start"
                    yield finding("strange_directory", what, node_id=node.node_id, file=str(path), advice=_NO_LOCK)
                elif is_broker:
                    what = (
                        f"{path.name!r} is no name of a topic and a partition: the broker does not start with it in "
                        "one of log.dirs"
                    )
                    yield finding("strange_directory", what, node_id=node.node_id, file=str(path))
