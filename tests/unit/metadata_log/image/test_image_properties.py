"""Replay of made logs: batches may be cut anywhere, old images never change, and checkpoints lose nothing."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.ids import NodeId
from metadata_log.image import (
    MetadataImage,
    Replayer,
    ReplayError,
    changed_topics,
    image_of_checkpoint,
    records_of,
)
from metadata_log.image.checkpoint import values_in_slices
from metadata_log.image.hash import image_hash
from metadata_log.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClearElrRecord,
    EndTransactionRecord,
    MetadataRecord,
    RemoveTopicRecord,
    UnregisterBrokerRecord,
    decode_record,
    encode_record,
)
from metadata_log.records.levels import write_version
from tests.support.image_records import (
    broker,
    change,
    config,
    directory,
    image_of,
    level,
    nodes,
    partition,
    topic,
    topic_id,
)

_small = st.integers(0, 4)
_replicas = st.permutations([1, 2, 3]).map(lambda order: nodes(*order))
_records = st.one_of(
    st.builds(topic, _small),
    st.builds(lambda number, name: topic(number, f"t{name}"), _small, _small),
    st.builds(
        lambda number, index, replicas: partition(number, index, replicas=replicas, isr=replicas[:2]),
        _small,
        _small,
        _replicas,
    ),
    st.builds(
        lambda number, index, leader, elr: change(number, index, leader=NodeId(leader), eligible_leader_replicas=elr),
        st.integers(0, 2),
        st.integers(0, 2),
        st.sampled_from([-2, -1, 1, 2]),
        st.none() | _replicas,
    ),
    st.builds(lambda number: RemoveTopicRecord(topic_id=topic_id(number)), _small),
    st.builds(lambda number: ClearElrRecord(topic_name=number), st.sampled_from(["", "t0", "t1"])),
    st.builds(config, st.builds("t{}".format, _small), st.sampled_from("ab"), st.none() | st.sampled_from("xy")),
    st.builds(broker, _small, st.integers(0, 2)),
    st.builds(
        lambda number, epoch: UnregisterBrokerRecord(broker_id=NodeId(number), broker_epoch=epoch),
        _small,
        st.integers(0, 2),
    ),
    st.builds(level, st.sampled_from(["group.version", "eligible.leader.replicas.version"]), st.integers(0, 1)),
    st.just(BeginTransactionRecord(name=None)),
    st.just(EndTransactionRecord()),
    st.just(AbortTransactionRecord()),
)


def _append(replayer: Replayer, records: Sequence[MetadataRecord]) -> Replayer:
    base = replayer.end.offset
    return replayer.on_records(records, base_offset=base, next_offset=base + len(records), epoch=1, timestamp_ms=1_000)


@st.composite
def _logs(draw: st.DrawFn) -> list[MetadataRecord]:
    """A log that replays: of random records those that make sense; an open transaction is ended."""
    kept: list[MetadataRecord] = [
        level("metadata.version", 30),
        *(topic(number) for number in range(3)),
        *(partition(number, index) for number in range(3) for index in range(2)),
        broker(1, 1),
        config("t1", "a", "x"),
    ]
    replayer = _append(Replayer.start(MetadataImage.empty()), kept)
    for record in draw(st.lists(_records, min_size=15, max_size=60)):
        try:
            replayer = _append(replayer, [record])
        except ReplayError:
            continue
        kept.append(record)
    return kept + ([EndTransactionRecord()] if replayer.in_transaction else [])


def _replay(
    log: list[MetadataRecord], cuts: set[int], begin: Callable[[MetadataImage], Replayer] = Replayer.start
) -> list[Replayer]:
    """The Replayer after each batch of `log`, cut before the given indexes."""
    bounds = sorted({cut for cut in cuts if 0 < cut < len(log)} | {0, len(log)})
    steps = [begin(MetadataImage.empty())]
    for start, stop in itertools.pairwise(bounds):
        steps.append(_append(steps[-1], log[start:stop]))
    return steps


@settings(max_examples=150)
@given(_logs(), st.sets(st.integers(0, 72)))
def test_any_cut_into_batches_gives_the_same_image(log: list[MetadataRecord], cuts: set[int]) -> None:
    (_, whole), single, some = _replay(log, set()), _replay(log, set(range(73))), _replay(log, cuts)
    assert whole.image == single[-1].image == some[-1].image
    assert not whole.in_transaction
    by_end = {step.end: step for step in single}
    for step in some:
        if not step.in_transaction:
            assert step.image == by_end[step.end].image
        assert step.in_transaction == by_end[step.end].in_transaction


@settings(max_examples=150)
@given(_logs(), st.sets(st.integers(0, 72)))
def test_who_follows_the_log_has_the_same_images_and_keeps_those_before(
    log: list[MetadataRecord], cuts: set[int]
) -> None:
    steps, followed = _replay(log, cuts), _replay(log, cuts, Replayer.follow)
    assert steps == followed
    assert followed == steps
    for before, after in itertools.pairwise(followed):
        assert changed_topics(before.image, after.image) <= after.changes.topics


@settings(max_examples=100)
@given(_logs(), st.sets(st.integers(0, 72)))
def test_changes_name_every_difference(log: list[MetadataRecord], cuts: set[int]) -> None:
    steps = _replay(log, cuts)
    for before, after in itertools.pairwise(steps):
        old, new, changes = before.image, after.image, after.changes
        assert changed_topics(old, new) <= changes.topics
        for number in range(5):
            node = NodeId(number)
            if old.cluster.brokers.get(node) != new.cluster.brokers.get(node):
                assert node in changes.brokers
        changed = {
            resource
            for resource in {*old.configs.by_resource, *new.configs.by_resource}
            if old.configs.by_resource.get(resource) != new.configs.by_resource.get(resource)
        }
        assert changed <= changes.configs
        assert changes.features or old.features == new.features


@settings(max_examples=100)
@given(_logs(), st.sets(st.integers(0, 72)))
def test_an_image_never_changes_once_it_is_there(log: list[MetadataRecord], cuts: set[int]) -> None:
    replayer = Replayer.start(MetadataImage.empty())
    seen: list[tuple[MetadataImage, str]] = []
    for step in _replay(log, cuts):
        seen.append((step.image, _text(step.image)))
        replayer = step
    for image, text in seen:
        assert _text(image) == text
    fork = _append(replayer, [topic(77), config("t77", "a", "b")])
    assert fork.image.topics.named("t77") is not None
    assert replayer.image.topics.named("t77") is None
    assert _text(replayer.image) == seen[-1][1]


def _text(image: MetadataImage) -> str:
    """Return all of an image as text, in an order that does not depend on the image's history."""
    topics = [repr(image.topics.by_id[key]) for key in sorted(image.topics.by_id)]
    names = sorted(image.topics.by_name.items())
    brokers = [repr(image.cluster.brokers[key]) for key in sorted(image.cluster.brokers)]
    configs = [(key, sorted(image.configs.by_resource[key].items())) for key in sorted(image.configs.by_resource)]
    features = (image.features.metadata_version, sorted(image.features.levels.items()))
    return repr((image.offset_and_epoch, topics, names, brokers, configs, features))


@settings(max_examples=100)
@given(_logs())
def test_a_checkpoint_loses_nothing_through_its_bytes(log: list[MetadataRecord]) -> None:
    image = _replay(log, set())[-1].image
    if not image.features.elr_enabled:
        image = image_of(ClearElrRecord(topic_name=""), base=image)
    written = [encode_record(record, version) for record, version in records_of(image)]
    assert [value for values in values_in_slices(image, 3) for value in values] == written
    for record, version in records_of(image):
        assert version == write_version(type(record), 30)
    again = image_of_checkpoint(
        map(decode_record, written),
        end=image.offset_and_epoch,
        last_contained_timestamp_ms=image.last_contained_timestamp_ms,
    )
    assert again == image


def test_a_one_partition_topic_costs_less_than_a_kilobyte() -> None:
    count = 5_000
    values = [
        (encode_record(topic(number, f"some-service.events-{number:06d}"), 0), encode_record(_placed(number), 2))
        for number in range(count)
    ]
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    replayer = Replayer.start(MetadataImage.empty())
    for pair in values:
        replayer = _append(replayer, [decode_record(value) for value in pair])
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(replayer.image.topics) == count
    assert (after - before) / count < 700


def _placed(number: int) -> MetadataRecord:
    replicas = nodes(*((number + offset) % 30 for offset in range(3)))
    directories = tuple(directory(replica) for replica in replicas)
    return partition(number, replicas=replicas, isr=replicas, directories=directories, leader=replicas[0])


def test_equal_tuples_of_many_partitions_are_one() -> None:
    made = [msgspec.structs.replace(partition(number)) for number in range(3)]
    image = image_of(*(record for number in range(3) for record in (topic(number), made[number])))
    kept = [image.topics.by_id[topic_id(number)].partitions[0] for number in range(3)]
    assert len({id(part.replicas) for part in kept}) == 1
    assert len({id(part.directories) for part in kept}) == 1
    assert all(part.isr is part.replicas for part in kept)


@settings(max_examples=100)
@given(_logs(), st.sets(st.integers(0, 72)))
def test_a_hash_kept_change_by_change_is_that_from_scratch(log: list[MetadataRecord], cuts: set[int]) -> None:
    before, *steps = [step for step in _replay(log, cuts | {1}) if step.image.features.metadata_version is not None]
    kept = image_hash(before.image, 0, None)
    for step in steps:
        kept = kept.after(before.image, step.image, step.changes)
        assert kept == image_hash(step.image, 0, None)
        before = step
