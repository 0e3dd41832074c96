"""Changes of leaders and ISRs when a broker comes, goes or loses a directory.

Decides: the affected partitions, and the brokers that may lead; `partition_change` decides each partition's record. A
leaving broker is removed from all ISRs before the record that fences or unregisters it. So each prefix of the records
is a valid state.
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
    """A broker's change that is not in the image yet; each field is a broker id or -1."""

    removed: NodeId = NO_LEADER
    """A broker that may not lead and leaves the ISR."""
    added: NodeId = NO_LEADER
    """A broker that may lead, though it is fenced in the image."""
    unclean: NodeId = NO_LEADER
    """A broker that may not lead, and leaves ISR and ELR: it may have lost acknowledged records."""


NOTHING_HAPPENS: Final = BrokerEvent()


def election_rules(turn: Turn, topic: TopicImage, event: BrokerEvent = NOTHING_HAPPENS) -> ElectionRules:
    """Return the election rules for the partitions of `topic` under an event."""
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
    """Return the records of all affected partitions, up to the topic in which the limit is reached."""
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
    """Remove a leaving broker from the ISRs of as many partitions as one turn may; the flag is True if none is left.

    A call in a later turn continues; `forget_departure` ends the work.
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
    """Return the sweep, or a new one if it is missing or its list was rebuilt."""
    return sweep if sweep is not None and sweep.topic_ids is topic_ids else Sweep(topic_ids)


def forget_departure(turn: Turn, broker_id: NodeId) -> bool:
    """Drop a broker's departure; return True if there was one, which may have left partitions without a leader."""
    was_cleaned_up = turn.state.clean_ups.pop(broker_id, None) is not None
    return turn.state.departures.pop(broker_id, None) is not None or was_cleaned_up


def elect_for_arrival(turn: Turn, broker_id: NodeId) -> list[PartitionChangeRecord]:
    """Return records that elect leaders for leaderless partitions, with this broker as a candidate.

    Partitions beyond one turn's limit follow in later turns.
    """
    if not turn.state.index.advance():
        turn.state.has_to_look_for_leaderless = True
        return []
    sweep = Sweep(turn.state.index.leaderless())
    records = _elect(turn, sweep, BrokerEvent(added=broker_id))
    if not sweep.is_done:
        turn.state.elections.append(sweep)
    return records


def continue_elections(turn: Turn) -> list[PartitionChangeRecord]:
    """Return one turn's records of the elections that were deferred. The index must be built."""
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
    """Remove a broker's former incarnation from every ISR, and after an unclean stop from every ELR, too.

    The flag is True if no partition is left; the new registration must wait for that. `continue_clean_ups` does the
    rest. After an unclean stop, acknowledged records may never have reached the disk (KIP-966).
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
    """Return one turn's records that remove dead incarnations from ISRs."""
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
    """Remove a live broker's replicas in lost directories from ISRs and leadership (KIP-858).

    Each turn has a limit, and `continue_losses` does the rest. The record of the broker's directories is the last.
    """
    state, directories = turn.state, frozenset(lost)
    state.index.advance()
    loss = state.losses.get(broker.broker_id)
    if loss is None or (loss.broker_epoch, loss.directories) != (broker.epoch, directories):
        sweep = Sweep(state.index.topics_on(broker.broker_id))
        loss = state.losses[broker.broker_id] = Loss(sweep=sweep, broker_epoch=broker.epoch, directories=directories)
    return _lose(turn, broker, loss)


def continue_losses(turn: Turn) -> list[MetadataRecord]:
    """Return one turn's records for lost directories. The work ends if the broker is gone or has registered again."""
    for broker_id, loss in list(turn.state.losses.items()):
        broker = turn.image.cluster.brokers.get(broker_id)
        if broker is not None and broker.epoch == loss.broker_epoch:
            return _lose(turn, broker, loss)
        del turn.state.losses[broker_id]
    return []


def is_being_lost(turn: Turn, broker_id: NodeId, directory: DirectoryId) -> bool:
    """Return True if the broker has reported the directory as lost, and its registration does not show it yet."""
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
    """Return one turn's records that remove a broker from ISRs and leadership before its unregistration."""
    work.sweep = _on_newest(work.sweep, turn.state.index.topics_on(broker_id))
    return _changes(
        turn,
        work.sweep.remaining(turn.image, PARTITIONS_A_STEP),
        BrokerEvent(removed=broker_id),
        lambda partition: broker_id in (*partition.isr, *partition.elr),
        turn.config.max_records_per_sweep,
    )


def leads_any(turn: Turn, broker_id: NodeId) -> bool:
    """Return True if the broker leads a partition, or if that is not known yet."""
    return turn.state.index.may_lead(broker_id, turn.image)
