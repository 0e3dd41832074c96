"""Metadata logs that are another cluster's, though they stand in a node's directory of this one.

Decides: which log is one, and by whom that is told. Must not know: what else is wrong with it. Nothing in a log names
its cluster. But all logs of one cluster that go back to offset 0 begin with the same bytes in the same epoch, and one
that has not a single batch there in common with the others was never a replica of theirs. It must not be compared with
them: it may reach further, and in later epochs, and would judge the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Final

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.tools.findings.finding import Finding, finding
from metadata_log.tools.read.log_reader import LogReader
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import view_quorum
from metadata_log.tools.words import join_names
from metadata_log.voters import majority_of

_COMPARED: Final = 16
"""So many batches are a log's head."""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first batches of a log, by their offsets: epoch and checksum."""

    batches: dict[int, tuple[int, int]]

    def is_strange_to(self, other: _Head) -> bool:
        """Whether they begin in one epoch, and have nothing in common."""
        mine, theirs = self.batches, other.batches
        if 0 not in mine or 0 not in theirs or mine[0][0] != theirs[0][0]:
            return False
        return all(theirs.get(offset) != batch for offset, batch in mine.items())


def without_aliens(logs: Sequence[Replica]) -> tuple[list[Replica], list[Finding]]:
    """The logs but those that are other clusters', and a finding for each of these.

    A majority of the voters must agree in all that it is another's.
    """
    heads = {
        index: _head(OsFiles(), log.report.segments[0])
        for index, log in enumerate(logs)
        if log.report.segments and log.report.start_offset == 0 and log.report.is_sound
    }
    aliens: dict[int, list[int]] = {}
    for index, head in heads.items():
        others = [other for other in heads if other != index]
        agree = not any(heads[one].is_strange_to(heads[other]) for one in others for other in others)
        if agree and all(head.is_strange_to(heads[other]) for other in others) and are_majority(logs, others):
            aliens[index] = others
    found = [_finding(logs, index, others) for index, others in aliens.items()]
    return [log for index, log in enumerate(logs) if index not in aliens], found


def _head(files: Files, path: str) -> _Head:
    with closing(LogReader(files, [path]).batches(past_removed=True)) as found:
        headers = [batch.header for batch in islice(found, _COMPARED)]
    batches = {int(header.base_offset): (int(header.partition_leader_epoch), int(header.crc)) for header in headers}
    return _Head(batches=batches)


def are_majority(logs: Sequence[Replica], others: Sequence[int]) -> bool:
    """Whether these logs are a majority of the voters that they name."""
    view = view_quorum([logs[index] for index in others])
    voting = {replica.source.node_id for replica in view.replicas if view.is_voter(replica)}
    return bool(view.voters) and len(voting) >= majority_of(len(view.voters))


def _finding(logs: Sequence[Replica], index: int, others: Sequence[int]) -> Finding:
    node, report = logs[index].source, logs[index].report
    names = join_names([logs[other].source.label for other in others])
    what = (
        f"not one batch that this log begins with is that of {names}: it is another cluster's, and nothing here is "
        "judged by it"
    )
    return finding("foreign_cluster", what, node_id=node.node_id, file=report.segments[0], position=0, offset=0)
