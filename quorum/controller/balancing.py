"""Periodic elections: preferred leaders become leaders again, and leaderless partitions may get an unclean leader.

Decides when (`leader.imbalance.check.interval.seconds`, `unclean.leader.election.interval.ms`, from the controller's
activation on) and for which partitions, over several turns. As in Kafka's controllers, the number of leaders that a
broker lacks does not matter.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import TopicId
from metadata_log.image import TopicImage
from metadata_log.records import PartitionChangeRecord
from quorum.controller.leader_changes import election_rules
from quorum.controller.partitions.partition_change import change_of
from quorum.controller.partitions.topic_index import PARTITIONS_A_STEP
from quorum.controller.sweep import Sweep
from quorum.controller.turn import Turn


def begin_what_is_due(turn: Turn) -> None:
    """Start the periodic work that is due, for this and later turns. The index must be built."""
    state = turn.state
    due = state.rounds.take_due(turn.now_ms)
    if due.leaderless:
        state.has_to_look_for_leaderless = True
    if due.tokens:
        state.has_to_remove_tokens = True
    if due.balance and not state.balances:
        state.balances = [
            (broker_id, Sweep(state.index.topics_on(broker_id)))
            for broker_id in sorted(turn.brokers.active, reverse=True)
        ]


def continue_balancing(turn: Turn) -> list[PartitionChangeRecord]:
    """Return one turn's records that make preferred replicas leaders again."""
    balances = turn.state.balances
    records: list[PartitionChangeRecord] = []
    while balances and not records:
        broker_id, sweep = balances[-1]
        if broker_id in turn.brokers.active:
            seen: set[TopicId] = set()  # a topic may be listed more than once, and the image is fixed within a turn
            for topic in sweep.remaining(turn.image, PARTITIONS_A_STEP):
                if topic.topic_id in seen:
                    continue
                seen.add(topic.topic_id)
                records += _elections(turn, topic, broker_id)
                if len(records) >= turn.config.max_records_per_sweep:
                    return records
            if not sweep.is_done:
                return records
        balances.pop()
    return records


def _elections(turn: Turn, topic: TopicImage, broker_id: int) -> list[PartitionChangeRecord]:
    imbalanced = [each for each in topic.partitions if each.preferred_leader == broker_id != each.leader]
    if not imbalanced:
        return []
    rules = election_rules(turn, topic)
    rules = msgspec.structs.replace(rules, prefers_first_replica=True, allows_unclean=False)
    changes = (change_of(topic.topic_id, each, rules, isr=each.isr) for each in imbalanced)
    return [change for change in changes if change is not None]
