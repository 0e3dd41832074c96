"""The files in which a broker keeps an offset of each partition on a disk: `*-offset-checkpoint`.

Decides: what such a file must be: version 0, a count, and so many lines `topic partition offset`, each partition once.
Must not know: which partitions there are, and whether an offset is right.

A broker makes each of them empty as it first starts, and replaces it whole from then on. So what is in one that Kafka's
own reader would not take, or takes though no broker writes it (a partition twice, an offset below 0), was changed by
somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from metadata_log.errors import CorruptFileError
from metadata_log.offsets import LARGEST_OFFSET
from metadata_log.tools.disks import OFFSET_FILES
from metadata_log.tools.files_on_disks import check_on_disks
from metadata_log.tools.finding_advice import LOST_OFFSETS, OFFSETS
from metadata_log.tools.findings import Finding
from metadata_log.tools.sources import NodeSource

_VERSION: Final = "0"
_COUNT: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_LINE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}) (0|[1-9][0-9]{0,9}) (-?[0-9]{1,19})")
_MAX_PARTITION: Final = 2**31 - 1
_SHOWN: Final = 60


def check_offset_files(nodes: Sequence[NodeSource]) -> Iterator[Finding]:
    """A finding for each of these files that cannot be right, or cannot be read."""
    for name in OFFSET_FILES:
        advice = OFFSETS.format(lost=LOST_OFFSETS[name])
        yield from check_on_disks(nodes, name, _parse, advice, with_links=True)


def _parse(data: bytes, path: str, node: NodeSource) -> object:
    return parse_offsets(data, path)


def parse_offsets(data: bytes, path: str) -> dict[tuple[str, int], int]:
    """The offsets that such a file holds, by topic and partition.

    Raises:
        CorruptFileError: it is not such a file.
    """
    if not data:
        return {}
    lines = data.decode("latin-1").split("\n")
    if lines.pop() != "":
        raise CorruptFileError(path, "it does not end with a line feed: it was cut, or is no list of offsets")
    if lines[0] != _VERSION:
        raise CorruptFileError(path, f"it begins with {_shown(lines[0])}, where version {_VERSION} must stand")
    if len(lines) < 2 or not _COUNT.fullmatch(lines[1]):
        raise CorruptFileError(path, "there is no count of its lines behind its version")
    if int(lines[1]) != len(lines) - 2:
        raise CorruptFileError(path, f"its count is {int(lines[1])}, and {len(lines) - 2} lines follow")
    offsets: dict[tuple[str, int], int] = {}
    for line in lines[2:]:
        topic, partition, offset = _parse_line(line, path)
        if (topic, partition) in offsets:
            raise CorruptFileError(path, f"partition {topic}-{partition} stands there twice")
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
