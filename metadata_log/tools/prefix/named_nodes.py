"""Nodes that a log names after its damage: they exist, even if the metadata before the damage does not know them.

Decides: which records name a node. Must not know: where the log is damaged, and which nodes are missing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import batch_values
from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    VotersRecord,
    decode_record,
)
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix.prefix_parts import control_records


class NamedNodes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ids of voters and of brokers."""

    voters: frozenset[int] = frozenset()
    brokers: frozenset[int] = frozenset()

    def after(self, batch: LocatedBatch) -> NamedNodes:
        """Return the nodes with those that this intact batch names. A record that cannot be read names no node."""
        if batch.header.is_control:
            return NamedNodes(voters=self.voters | frozenset(_voters(batch)), brokers=self.brokers)
        return NamedNodes(voters=self.voters, brokers=self.brokers | frozenset(_brokers(batch)))


def _voters(batch: LocatedBatch) -> Iterator[int]:
    try:
        records = control_records(batch)
    except MetadataLogError:
        return
    for record in records:
        if isinstance(record, VotersRecord):
            yield from (int(voter.voter_id) for voter in record.voters)


def _brokers(batch: LocatedBatch) -> Iterator[int]:
    for value in batch_values(batch.buffer, batch.header, batch.at):
        try:
            record = decode_record(value)
        except MetadataLogError:
            continue
        if isinstance(record, RegisterBrokerRecord | BrokerRegistrationChangeRecord):
            yield int(record.broker_id)
        elif isinstance(record, PartitionRecord | PartitionChangeRecord):
            yield from map(int, record.replicas or ())
