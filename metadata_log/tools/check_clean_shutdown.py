"""The file by which a broker knows that it was stopped in an orderly way: `.kafka_cleanshutdown`.

Decides: what it may say: nothing (Kafka before 3.8), or version 0 and an epoch that the broker can have had. Must not
know: what follows from it for the replicas (`clean_shutdown`).

A broker's epoch is the offset of its registration, which its own log holds: none is as great as that log's end. Kafka
4.3 tells its controller that epoch as it registers again: with the right one it counts as stopped in an orderly way and
stays among the eligible leaders (KIP-966), whatever its log lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError
from metadata_log.files.json_files import decode_json
from metadata_log.tools.clean_shutdown import CLEAN_SHUTDOWN_FILE, CleanShutdown
from metadata_log.tools.files_on_disks import check_on_disks
from metadata_log.tools.finding_advice import CLEAN_SHUTDOWN
from metadata_log.tools.findings import Finding
from metadata_log.tools.quorum_view import QuorumView
from metadata_log.tools.sources import NodeSource

_NEVER_REGISTERED: Final = -1


def check_clean_shutdowns(nodes: Sequence[NodeSource], view: QuorumView) -> Iterator[Finding]:
    """A finding for each of these files that cannot be right, or cannot be read."""
    ends = {id(replica.source): replica.report.end_offset for replica in view.replicas}

    def check(data: bytes, path: str, node: NodeSource) -> None:
        fault = _fault(data, ends.get(id(node)))
        if fault is not None:
            raise CorruptFileError(path, fault)

    yield from check_on_disks(nodes, CLEAN_SHUTDOWN_FILE, check, CLEAN_SHUTDOWN)


def _fault(data: bytes, end: int | None) -> str | None:
    """`end`: of the broker's own log, None where it is not here."""
    if not data:
        return None
    try:
        said = decode_json(data, CleanShutdown)
    except msgspec.DecodeError as error:
        return f"it is no version and broker epoch in JSON: {error}"
    if said.version != 0:
        return f"it is of version {said.version}, and there is only 0"
    if said.broker_epoch < _NEVER_REGISTERED:
        return f"its brokerEpoch is {said.broker_epoch}, which is none"
    if end is not None and said.broker_epoch >= end:
        return f"its brokerEpoch is {said.broker_epoch}, and the broker's own log ends at offset {end}, before that"
    return None
