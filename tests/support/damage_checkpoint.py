"""Checkpoints whose checksums, header and footer are right, with records that no image has."""

from __future__ import annotations

from collections.abc import Callable

from metadata_log.format.batch import batch_values, parse_header
from metadata_log.ids import NodeId
from metadata_log.records import (
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    UnfenceBrokerRecord,
    decode_record,
    encode_record,
)
from tests.support.damage import Cluster, Damage, Planted, split, with_values, write

_BROKER, _NAME = 11, "00000000000000000255-0000000003.checkpoint"
"""One of three checkpoints in `failovers`."""


def _in_place_of_a_config(record: MetadataRecord | None) -> Callable[[Cluster], Planted]:
    """Replace a config by this record; by the checkpoint's first feature again for None."""

    def plant(cluster: Cluster) -> Planted:
        path = cluster.metadata(_BROKER) / _NAME
        batches = split(path)
        header = parse_header(batches[1])
        values = batch_values(batches[1], header)
        records = [decode_record(value) for value in values]
        number = next(at for at, known in enumerate(records) if isinstance(known, ConfigRecord))
        again = next(known for known in records if isinstance(known, FeatureLevelRecord))
        values[number] = encode_record(again if record is None else record, 0)
        batches[1] = with_values(batches[1], values)
        write(path, batches)
        return Planted("checkpoint_malformed", _BROKER, path, int(header.base_offset) + number, len(batches[0]))

    return plant


CHECKPOINT_DAMAGE = [
    Damage(name, "failovers", _in_place_of_a_config(record))
    for name, record in (
        ("no_op_in_checkpoint", NoOpRecord()),
        ("transaction_in_checkpoint", EndTransactionRecord()),
        ("change_in_checkpoint", UnfenceBrokerRecord(id=NodeId(_BROKER), epoch=1)),
        ("twice_in_checkpoint", None),
    )
]
