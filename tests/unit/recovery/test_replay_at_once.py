"""Replaying many batches at once makes the same metadata as replaying them one by one, and finds the same faults."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metadata_log.errors import MetadataLogError
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.image import ReplayError
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClearElrRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    encode_record,
)
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.prefix import replay
from metadata_log.tools.prefix.replay import PrefixReplay
from metadata_log.tools.read.history import State
from tests.support.image_records import broker, change, config, level, partition, topic, topic_id
from tests.support.repairs import load_nodes
from tests.unit.recovery.evidence.test_hidden_repair import METADATA, go_on, of

BEGIN, END, ABORT = BeginTransactionRecord(name="x"), EndTransactionRecord(), AbortTransactionRecord()
NO_OP = NoOpRecord()
LATER = b"\x01\x1e\x00\x05later\x00"
"""A record of a type that is not known."""
Value = MetadataRecord | bytes
VERSIONS: dict[type[MetadataRecord], int] = {RegisterBrokerRecord: 3, PartitionRecord: 1}
"""The first that have directories; all others are of version 0."""

LOGS: dict[str, Sequence[Sequence[Value]]] = {
    "topics": [[broker(1)], [topic(1), partition(1)], [topic(2)], [partition(2), change(1, leader=2)]],
    "removed and made again": [[topic(1)], [partition(1)], [RemoveTopicRecord(topic_id=topic_id(1))], [topic(1)]],
    "settings": [
        [level("metadata.version", 20)],
        [config("t1", "a", "b")],
        [ClearElrRecord(topic_name="")],
        [config("t1", "a", None)],
    ],
    "NoOps between": [[topic(1)], [NO_OP], [NO_OP], [topic(2)], [topic(3)], [NO_OP]],
    "a transaction": [[topic(1)], [BEGIN, topic(2)], [topic(3)], [END, topic(4)], [topic(5)]],
    "an aborted transaction": [[topic(1)], [topic(2), BEGIN, topic(3)], [topic(4)], [ABORT], [topic(5)]],
    "an open transaction": [[topic(1)], [topic(2)], [topic(3), BEGIN, topic(4)], [topic(5)], [NO_OP]],
    "an end without a beginning": [[topic(1)], [topic(2)], [END], [topic(3)]],
    "an impossible record": [[topic(1)], [topic(2)], [change(3)], [topic(3)]],
    "a record of a later release": [[topic(1)], [LATER, topic(2)], [topic(3)], [change(9)], [topic(4)]],
    "a malformed record": [[topic(1)], [topic(2)], [b"\x01\x02\x00"], [topic(3)]],
}


def batches_of(log: Sequence[Sequence[Value]]) -> list[LocatedBatch]:
    """Return the batches of a log, the epoch and the time of each one later than those of the one before."""
    found, offset = [], 0
    for number, records in enumerate(log):
        values = [one if isinstance(one, bytes) else encode_record(one, VERSIONS.get(type(one), 0)) for one in records]
        data = build_batch(
            values=values, base_offset=Offset(offset), epoch=Epoch(number + 1), timestamp_ms=1_000 + number
        )
        found.append(LocatedBatch(position=0, header=parse_header(data), buffer=data, at=0))
        offset += len(values)
    return found


def one_by_one(batches: Sequence[LocatedBatch]) -> tuple[State | None, str | None]:
    """Return the state after these batches, or what is wrong."""
    begun = PrefixReplay()
    begun.begin_empty()
    state = begun.state
    assert state is not None
    try:
        for batch in batches:
            state = state.after(batch)
    except (MetadataLogError, ReplayError) as error:
        return None, str(error)
    return state, None


def shown(state: State | None) -> object:
    """Return what a state says, without what changed last."""
    if state is None:
        return None
    transaction = state.replayer.transaction
    opened = None if transaction is None else (transaction.begin_offset, transaction.before, transaction.state)
    return state.image, state.replayer.end, opened, state.quorum, state.passed_over


@pytest.mark.parametrize("name", LOGS)
def test_all_at_once_is_one_by_one(name: str) -> None:
    batches = batches_of(LOGS[name])
    for end in range(len(batches) + 1):
        at_once = PrefixReplay()
        at_once.begin_empty()
        for batch in batches[:end]:
            at_once.on_batch(batch)
        at_once.finish()
        state, problem = one_by_one(batches[:end])

        assert (shown(at_once.state), at_once.problem) == (shown(state), problem)


def test_batches_wait_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    after_all = replay._after_all

    def counted(state: State, batches: list[LocatedBatch]) -> State | None:
        taken.append(len(batches))
        return after_all(state, batches)

    monkeypatch.setattr(replay, "_after_all", counted)
    monkeypatch.setattr(replay, "_AT_ONCE", 300)
    found = PrefixReplay()
    found.begin_empty()
    for batch in batches_of([[topic(number)] for number in range(20)]):
        found.on_batch(batch)
    found.finish()

    assert found.state is not None
    assert found.state.end == 20
    assert sum(taken) == 20
    assert 1 < max(taken) < 10


@pytest.mark.parametrize(
    ("written", "can_be_replayed", "is_proof"),
    [
        ([topic(9)], True, False),
        ([topic(9), topic(10)], True, True),
        ([topic(9), change(10)], False, False),
        ([topic(9), topic(10), change(11)], False, True),
    ],
    ids=["one", "two", "one sound", "two sound"],
)
def test_two_batches_that_can_be_replayed_prove_a_commit(
    written: Sequence[MetadataRecord], can_be_replayed: bool, is_proof: bool
) -> None:
    """A single one may be forged, and no other log says anything of the end that one log has alone."""
    files = load_nodes("basic", 1)
    go_on(files, "/n1", of(files, "/n1").end.offset + 1)
    led = of(files, "/n1")
    log = files.open(f"/n1/{METADATA}/{led.prefix.segments[-1].name}")
    base, epoch = led.end.offset, led.end.epoch
    for number, record in enumerate(written):
        values = [encode_record(record, 0)]
        at = Offset(base + number)
        log.pwrite(build_batch(base_offset=at, epoch=epoch, timestamp_ms=1_000, values=values), log.size())
    copy = of(files, "/n1")

    assert copy.end.offset == base + len(written)
    assert (copy.state is not None) == can_be_replayed
    assert copy.prefix.committed_before == (base if is_proof else led.prefix.committed_before)
    assert led.prefix.committed_before < base
