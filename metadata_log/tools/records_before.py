"""Which record before it a record contradicts that cannot be replayed: of the two, the earlier may be the wrong one.

Decides: which is named. Must not know: what is wrong with either.
"""

from __future__ import annotations

from metadata_log.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    MetadataRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


class RecordsBefore:
    """Takes registrations of brokers, and blocks of producer ids, before they are replayed."""

    def __init__(self) -> None:
        self._registered: dict[int, int | None] = {}
        self._last_block: int | None = None
        self._block_before: int | None = None

    def on_record(self, record: ProducerIdsRecord | RegisterBrokerRecord, offset: int | None) -> None:
        """`offset`: in the log; None in a checkpoint."""
        if isinstance(record, RegisterBrokerRecord):
            self._registered[record.broker_id] = offset
        else:
            self._block_before, self._last_block = self._last_block, offset

    def contradicted(self, record: MetadataRecord) -> str:
        """The earlier record, as the end of a sentence; empty where none is known."""
        if isinstance(record, ProducerIdsRecord):
            at = self._block_before
            return "" if at is None else f", of the record at offset {at}, which may be the wrong one of the two"
        broker = _broker_of(record)
        at = None if broker is None else self._registered.get(broker)
        if at is None:
            return ""
        return f"; its registration is the record at offset {at}, which may be the wrong one of the two"


def _broker_of(record: MetadataRecord) -> int | None:
    if isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord):
        return int(record.id)
    if isinstance(record, BrokerRegistrationChangeRecord | UnregisterBrokerRecord):
        return int(record.broker_id)
    return None
