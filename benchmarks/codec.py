"""The microseconds to read and write a metadata record, by record type, and over a whole generated log.

    python -m benchmarks.codec [--records N] [--seconds S]

There are two tables: the codec alone, and a log of small batches with framing and checksum. Replay and a leader's
append pay the latter before they use the records. The best of several runs is shown: other processes slowed the rest.
A call of the standard library shows the processor's speed: a UUID made of 16 bytes.
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Callable

from metadata_log.format.batch import batch_values, build_batch, check_batch, iter_batches
from metadata_log.ids import DirectoryId, NodeId, TopicId, Uuid
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    decode_record,
    encode_record,
)

_BATCH = 5
"""Records in a batch of the made log."""

_RUNS = 5
_ID_BYTES = bytes(range(16))
_TIME_MS = 1_700_000_000_000


def _id(value: int) -> bytes:
    return value.to_bytes(16, "big")


def _nodes(*ids: int) -> tuple[NodeId, ...]:
    return tuple(NodeId(node) for node in ids)


def _partition(*, elr: tuple[NodeId, ...] | None = None) -> PartitionRecord:
    return PartitionRecord(
        partition_id=0,
        topic_id=TopicId(_id(1007)),
        replicas=_nodes(1, 2, 3),
        isr=_nodes(1, 2, 3),
        removing_replicas=(),
        adding_replicas=(),
        leader=NodeId(1),
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(DirectoryId(_id(directory)) for directory in (1001, 1002, 1003)),
        eligible_leader_replicas=elr,
        last_known_elr=elr,
    )


def _broker() -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=NodeId(1),
        incarnation_id=Uuid(_id(2001)),
        broker_epoch=17,
        end_points=(BrokerEndpoint(name="PLAINTEXT", host="10.0.0.17", port=9092, security_protocol=0),),
        features=tuple(
            BrokerFeature(name=f"feature.{number}.version", min_supported_version=0, max_supported_version=1)
            for number in range(7)
        ),
        rack=None,
        log_dirs=(DirectoryId(_id(1001)),),
    )


def _samples() -> list[tuple[str, MetadataRecord, int]]:
    topic_id = TopicId(_id(1007))
    change = PartitionChangeRecord(partition_id=0, topic_id=topic_id, isr=_nodes(1, 2), leader=NodeId(1))
    config = ConfigRecord(resource_type=2, resource_name="orders-eu-1", name="retention.ms", value="604800000")
    return [
        ("Topic v0", TopicRecord(name="orders-eu-1", topic_id=topic_id), 0),
        ("Partition v2, 3 directories", _partition(), 2),
        ("Partition v2 with ELR", _partition(elr=_nodes(2)), 2),
        ("PartitionChange v2, isr and leader", change, 2),
        ("Config v0", config, 0),
        ("RegisterBroker v4, 7 features", _broker(), 4),
    ]


def _best_us(call: Callable[[], object], seconds: float) -> float:
    """The best microseconds a call over several runs, each of about `seconds` / runs."""
    begin = time.perf_counter()
    call()
    once = max(time.perf_counter() - begin, 1e-7)
    repeats = max(1, int(seconds / _RUNS / once))
    best = float("inf")
    for _ in range(_RUNS):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - begin) / repeats)
    return best * 1e6


def _write_log(values: list[bytes]) -> bytes:
    return b"".join(
        build_batch(
            base_offset=Offset(at), epoch=Epoch(1), timestamp_ms=1_700_000_000_000, values=values[at : at + _BATCH]
        )
        for at in range(0, len(values), _BATCH)
    )


def _encode_log(records: list[tuple[MetadataRecord, int]]) -> bytes:
    return _write_log([encode_record(record, version) for record, version in records])


def _read_log(log: bytes) -> int:
    count = 0
    for position, _ in iter_batches(log):
        header = check_batch(log, position)
        for value in batch_values(log, header, position):
            decode_record(value)
            count += 1
    return count


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.codec", description="Measure the record codec.")
    parser.add_argument("--records", type=int, default=20_000, help="records in the made log (default 20000)")
    parser.add_argument("--seconds", type=float, default=0.5, help="about how long to measure each figure")
    arguments = parser.parse_args()
    print(f"{'one record, µs':<36}{'read':>8}{'write':>8}{'bytes':>8}")
    for name, record, version in _samples():
        value = encode_record(record, version)
        read = _best_us(lambda value=value: decode_record(value), arguments.seconds)  # type: ignore[misc]
        write = _best_us(
            lambda record=record, version=version: encode_record(record, version),  # type: ignore[misc]
            arguments.seconds,
        )
        print(f"{name:<36}{read:>8.2f}{write:>8.2f}{len(value):>8}")
    topic, partition = _samples()[0], _samples()[1]
    records = [(topic[1:], partition[1:])[index % 2] for index in range(arguments.records)]
    log = _encode_log(records)
    read = _best_us(lambda: _read_log(log), arguments.seconds) / len(records)
    write = _best_us(lambda: _encode_log(records), arguments.seconds) / len(records)
    print(f"\n{f'a record in a log of {_BATCH} a batch':<36}{read:>8.2f}{write:>8.2f}{len(log) // len(records):>8}")
    one = _best_us(lambda: uuid.UUID(bytes=_ID_BYTES), arguments.seconds)
    print(f"{'the yardstick: uuid.UUID(bytes=...)':<36}{one:>8.2f}")
    print(f"{'a record in a log / the yardstick':<36}{read / one:>8.2f}{write / one:>8.2f}")


if __name__ == "__main__":
    main()
