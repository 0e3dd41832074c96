"""Leaders and ISRs when a broker comes, goes or loses a directory: which partitions are concerned, and their records.

Decides who is looked at and who may lead; what then becomes of one partition is `partition_change`'s. A broker that
leaves goes out of the ISRs first and is fenced or let go last, so that each prefix of the records is a sound state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.ids import DirectoryId, NodeId, TopicId
from metadata_log.image import NO_LEADER, BrokerRegistration, PartitionImage, TopicImage
from metadata_log.records import BrokerRegistrationChangeRecord, MetadataRecord, PartitionChangeRecord
from metadata_log.records.levels import DIRECTORIES_LEVEL, NO_EPOCH_BUMP_LEVEL
from quorum.controller.configs.effective import allows_unclean_election, min_insync_replicas
from quorum.controller.metadata_levels import level_of
from quorum.controller.partitions.brokers import default_directory, has_online_directory
from quorum.controller.partitions.partition_change import ElectionRules, change_of
from quorum.controller.partitions.topic_index import PARTITIONS_A_STEP
from quorum.controller.sweep import CleanUp, Loss, Sweep, Unregistration
from quorum.controller.turn import Turn


class BrokerEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is about to happen to a broker, which the image does not show yet; -1 where it is nobody."""

    removed: NodeId = NO_LEADER
    """May not lead and leaves the ISR."""
    added: NodeId = NO_LEADER
    """May lead, though still fenced in the image."""
    unclean: NodeId = NO_LEADER
    """May not lead, leaves ISR and ELR: it may have lost what it had acknowledged."""


NOTHING_HAPPENS: Final = BrokerEvent()


def election_rules(turn: Turn, topic: TopicImage, event: BrokerEvent = NOTHING_HAPPENS) -> ElectionRules:
    """What holds for the partitions of `topic` under an event."""
    brokers = turn.image.cluster.brokers
    active = (turn.brokers.active | {event.added}) - {event.removed, event.unclean}
    level = level_of(turn.image)

    def is_acceptable(partition: PartitionImage, broker_id: NodeId) -> bool:
        if broker_id not in active:
            return False
        broker, directory = brokers.get(broker_id), partition.directory_of(broker_id)
        return broker is not None and directory is not None and has_online_directory(broker, directory)

    return ElectionRules(
        is_acceptable=is_acceptable,
        min_isr=min_insync_replicas(topic, turn.image, turn.config),
        elr_enabled=turn.image.features.elr_enabled,
        allows_unclean=allows_unclean_election(topic, turn.image, turn.config),
        bumps_epoch_on_shrink=level < NO_EPOCH_BUMP_LEVEL,
        writes_directories=level >= DIRECTORIES_LEVEL,
        default_directory=lambda broker_id: default_directory(brokers.get(broker_id)),
        unclean_shutdown=event.unclean,
    )


def _changes(
    turn: Turn,
    topics: Iterable[TopicImage],
    event: BrokerEvent,
    concerns: Callable[[PartitionImage], bool],
    limit: int,
) -> list[PartitionChangeRecord]:
    """The records for all partitions concerned; ends with the topic in which the limit is reached."""
    records: list[PartitionChangeRecord] = []
    gone = (event.removed, event.unclean)
    for topic in topics:
        concerned = [partition for partition in topic.partitions if concerns(partition)]
        if not concerned:
            continue
        rules = election_rules(turn, topic, event)
        for partition in concerned:
            isr = tuple(replica for replica in partition.isr if replica not in gone)
            record = change_of(topic.topic_id, partition, rules, isr=isr)
            if record is not None:
                records.append(record)
        if len(records) >= limit:
            break
    return records


def take_out_of_isrs(turn: Turn, broker_id: NodeId) -> tuple[list[PartitionChangeRecord], bool]:
    """Take a leaving broker out of ISRs, as many as one turn may; the flag says whether none is left.

    Called again in the next turns, it goes on where it stopped; `forget_departure` ends that.
    """
    index, departures = turn.state.index, turn.state.departures
    index.advance()
    sweep = departures[broker_id] = _on_newest(departures.get(broker_id), index.topics_on(broker_id))
    records = _changes(
        turn,
        sweep.remaining(turn.image, PARTITIONS_A_STEP),
        BrokerEvent(removed=broker_id),
        lambda partition: broker_id in partition.isr,
        turn.config.max_records_per_sweep,
    )
    return records, sweep.is_done and index.is_built


def _on_newest(sweep: Sweep | None, topic_ids: Sequence[TopicId]) -> Sweep:
    """The sweep, from the beginning if there is none or the list has been made anew."""
    return sweep if sweep is not None and sweep.topic_ids is topic_ids else Sweep(topic_ids)


def forget_departure(turn: Turn, broker_id: NodeId) -> bool:
    """The broker stays after all, or is gone. True if it was on its way: it may have left partitions leaderless."""
    was_cleaned_up = turn.state.clean_ups.pop(broker_id, None) is not None
    return turn.state.departures.pop(broker_id, None) is not None or was_cleaned_up


def elect_for_arrival(turn: Turn, broker_id: NodeId) -> list[PartitionChangeRecord]:
    """Leaders for partitions that have none and were waiting for this broker; what is too much for a turn follows."""
    if not turn.state.index.advance():
        turn.state.has_to_look_for_leaderless = True
        return []
    sweep = Sweep(turn.state.index.leaderless())
    records = _elect(turn, sweep, BrokerEvent(added=broker_id))
    if not sweep.is_done:
        turn.state.elections.append(sweep)
    return records


def continue_elections(turn: Turn) -> list[PartitionChangeRecord]:
    """One turn's part of the elections that were put off; to be called once the index is built."""
    state = turn.state
    if state.has_to_look_for_leaderless:
        state.has_to_look_for_leaderless = False
        state.elections.append(Sweep(state.index.leaderless()))
    if not state.elections:
        return []
    records = _elect(turn, state.elections[0], NOTHING_HAPPENS)
    if state.elections[0].is_done:
        del state.elections[0]
    return records


def _elect(turn: Turn, sweep: Sweep, event: BrokerEvent) -> list[PartitionChangeRecord]:
    return _changes(
        turn,
        _leaderless(turn, sweep),
        event,
        lambda partition: partition.leader == NO_LEADER,
        turn.config.max_records_per_sweep,
    )


def _leaderless(turn: Turn, sweep: Sweep) -> Iterator[TopicImage]:
    for topic in sweep.remaining(turn.image, PARTITIONS_A_STEP):
        if any(partition.leader == NO_LEADER for partition in topic.partitions):
            yield topic
        else:
            turn.state.index.have_leaders(topic.topic_id)


def clean_up_after(turn: Turn, broker_id: NodeId, *, was_clean: bool) -> tuple[list[PartitionChangeRecord], bool]:
    """A new incarnation registers: its predecessor leaves every ISR, and every ELR too if it did not stop cleanly.

    The registration must come after it: the flag says whether nothing is left to do. If something is, it is gone on
    with by `continue_clean_ups`. Without a clean stop, what was acknowledged may never have reached the disk (KIP-966).
    """
    state = turn.state
    state.index.advance()
    is_unclean = turn.image.features.elr_enabled and not was_clean
    known = state.clean_ups.get(broker_id)
    sweep = known.sweep if known is not None and known.is_unclean == is_unclean else None
    sweep = _on_newest(sweep, state.index.topics_on(broker_id))
    clean_up = state.clean_ups[broker_id] = CleanUp(sweep=sweep, is_unclean=is_unclean)
    records = _clean_up(turn, broker_id, clean_up)
    return records, sweep.is_done and state.index.is_built


def continue_clean_ups(turn: Turn) -> list[PartitionChangeRecord]:
    """One turn's part of what processes that have died left in ISRs."""
    for broker_id, clean_up in turn.state.clean_ups.items():
        if not clean_up.sweep.is_done:
            return _clean_up(turn, broker_id, clean_up)
    return []


def _clean_up(turn: Turn, broker_id: NodeId, clean_up: CleanUp) -> list[PartitionChangeRecord]:
    is_unclean = clean_up.is_unclean
    event = BrokerEvent(unclean=broker_id) if is_unclean else BrokerEvent(removed=broker_id)
    return _changes(
        turn,
        clean_up.sweep.remaining(turn.image, PARTITIONS_A_STEP),
        event,
        lambda partition: broker_id in partition.isr or (is_unclean and broker_id in partition.elr),
        turn.config.max_records_per_sweep,
    )


def lose_directories(turn: Turn, broker: BrokerRegistration, lost: Iterable[DirectoryId]) -> list[MetadataRecord]:
    """Directories of a live broker are lost: its replicas there leave ISRs and leadership, as many as one turn may; the
    broker's record of it comes after them all (KIP-858). What is left `continue_losses` goes on with."""
    state, directories = turn.state, frozenset(lost)
    state.index.advance()
    loss = state.losses.get(broker.broker_id)
    if loss is None or (loss.broker_epoch, loss.directories) != (broker.epoch, directories):
        sweep = Sweep(state.index.topics_on(broker.broker_id))
        loss = state.losses[broker.broker_id] = Loss(sweep=sweep, broker_epoch=broker.epoch, directories=directories)
    return _lose(turn, broker, loss)


def continue_losses(turn: Turn) -> list[MetadataRecord]:
    """One turn's part of what is lost with directories; a broker that is gone, or another process, has nothing left."""
    for broker_id, loss in list(turn.state.losses.items()):
        broker = turn.image.cluster.brokers.get(broker_id)
        if broker is not None and broker.epoch == loss.broker_epoch:
            return _lose(turn, broker, loss)
        del turn.state.losses[broker_id]
    return []


def is_being_lost(turn: Turn, broker_id: NodeId, directory: DirectoryId) -> bool:
    """Whether the broker has told that it lost the directory, which its registration does not say yet."""
    loss = turn.state.losses.get(broker_id)
    return loss is not None and directory in loss.directories


def _lose(turn: Turn, broker: BrokerRegistration, loss: Loss) -> list[MetadataRecord]:
    index, broker_id = turn.state.index, broker.broker_id
    loss.sweep = _on_newest(loss.sweep, index.topics_on(broker_id))
    records: list[MetadataRecord] = []
    records += _changes(
        turn,
        loss.sweep.remaining(turn.image, PARTITIONS_A_STEP),
        BrokerEvent(removed=broker_id),
        lambda partition: partition.directory_of(broker_id) in loss.directories,
        turn.config.max_records_per_sweep,
    )
    if loss.sweep.is_done and index.is_built:
        del turn.state.losses[broker_id]
        online = tuple(directory for directory in broker.directories if directory not in loss.directories)
        records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, log_dirs=online))
    return records


def take_out_of_partitions(turn: Turn, broker_id: NodeId, work: Unregistration) -> list[PartitionChangeRecord]:
    """A broker is to be no longer registered: it leaves ISRs and leadership, as many as one turn may."""
    work.sweep = _on_newest(work.sweep, turn.state.index.topics_on(broker_id))
    return _changes(
        turn,
        work.sweep.remaining(turn.image, PARTITIONS_A_STEP),
        BrokerEvent(removed=broker_id),
        lambda partition: broker_id in (*partition.isr, *partition.elr),
        turn.config.max_records_per_sweep,
    )


def leads_any(turn: Turn, broker_id: NodeId) -> bool:
    """Whether the broker leads a partition; also True while that is not known yet."""
    return turn.state.index.may_lead(broker_id, turn.image)
