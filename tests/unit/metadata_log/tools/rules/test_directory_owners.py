"""A log directory is one broker's: judged by the registrations up to each record, also within one batch."""

from __future__ import annotations

import pytest

from metadata_log.ids import DirectoryId, NodeId, Uuid
from metadata_log.image import MetadataImage
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    encode_record,
)
from metadata_log.records.levels import write_version
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.rules.place import Place
from metadata_log.tools.rules.records import RecordRules
from tests.support.controller import LEVEL, directory, uuid

ONE, TWO = directory(1), directory(2)
LEVEL_RECORD = FeatureLevelRecord(name="metadata.version", feature_level=LEVEL)


def register(broker_id: int, offset: int, *directories: DirectoryId) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=NodeId(broker_id), broker_epoch=offset, incarnation_id=Uuid(uuid(broker_id)), log_dirs=directories,
        end_points=(), features=(), rack=None,
    )  # fmt: skip


def unregister(broker_id: int, epoch: int) -> UnregisterBrokerRecord:
    return UnregisterBrokerRecord(broker_id=NodeId(broker_id), broker_epoch=epoch)


def change(broker_id: int, epoch: int, *directories: DirectoryId) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker_id=NodeId(broker_id), broker_epoch=epoch, log_dirs=directories)


def accused(*batches: list[MetadataRecord], is_checkpoint: bool = False) -> list[str]:
    """Return the sentences of all findings on these batches."""
    sink = FindingSink()
    rules = RecordRules(sink)
    rules.start(MetadataImage.empty(), where="the start", is_complete=True)
    offset = 0
    for batch in batches:
        place = Place(base_offset=offset, file="f", position=0, epoch=1, offsets_are_own=is_checkpoint)
        rules.on_values([encode_record(one, write_version(type(one), LEVEL)) for one in batch], offset, place)
        offset += len(batch)
    return [one.meaning for one in sink.findings]


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_two_brokers_of_one_batch_may_not_share_a_directory(is_checkpoint: bool) -> None:
    batch: list[MetadataRecord] = [LEVEL_RECORD, register(1, 1, ONE), register(2, 2, TWO), register(3, 3, ONE)]
    (found,) = accused(batch, is_checkpoint=is_checkpoint)
    assert "at offset 3: broker 3 names directory" in found
    assert "which is broker 1's" in found


def test_nor_may_those_of_two_batches() -> None:
    (found,) = accused([LEVEL_RECORD, register(1, 1, ONE)], [register(2, 2, TWO)], [change(2, 2, TWO, ONE)])
    assert "BrokerRegistrationChangeRecord at offset 3: broker 2 names directory" in found


@pytest.mark.parametrize(
    "records",
    [
        [register(1, 1, ONE), unregister(1, 1), register(2, 3, ONE)],
        [register(1, 1, ONE, TWO), change(1, 1, TWO), register(2, 3, ONE)],
        [register(1, 1, ONE), register(1, 2, TWO), register(2, 3, ONE)],
        [register(1, 1, ONE), register(1, 1, ONE), change(1, 1)],
        [register(1, 1, ONE), change(1, 1), change(1, 1, ONE)],
        [BeginTransactionRecord(name="t"), register(1, 2, ONE), AbortTransactionRecord(), register(2, 4, ONE)],
    ],
)
def test_a_directory_that_its_broker_no_longer_has_is_free(records: list[MetadataRecord]) -> None:
    assert accused([LEVEL_RECORD, *records]) == []
    assert accused([LEVEL_RECORD], *([record] for record in records)) == []
    assert accused([LEVEL_RECORD, records[0]], records[1:]) == []


def test_a_transaction_that_is_aborted_leaves_the_directory_to_its_broker() -> None:
    begin, abort = BeginTransactionRecord(name="t"), AbortTransactionRecord()
    records: list[MetadataRecord] = [register(1, 1, ONE), begin, unregister(1, 1), abort, register(2, 5, ONE)]
    (found,) = accused([LEVEL_RECORD, *records])
    assert "at offset 5: broker 2 names directory" in found
    records[3] = EndTransactionRecord()
    assert accused([LEVEL_RECORD, *records]) == []
