"""The checker judges an agent's plan by the log that the agent had, which ends after its own registration."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from broker_agent.reconciler import Plan, SetAside, Stage
from broker_agent.storage import PartitionDirectory, RemovalTimes, StagedDirectory
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.ids import NodeId, id_text
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import MetadataRecord, RemoveTopicRecord, UnregisterBrokerRecord, encode_record
from metadata_log.records.levels import write_version
from tests.simulation.checkers.directories import check_plan
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference
from tests.simulation.checkers.removals import Removals
from tests.simulation.checkers.topic_ids import TopicIds
from tests.support.image_records import broker, change, directory, nodes, partition, topic, topic_id, uuid

LEVEL = 30
OURS = PartitionDirectory(log_dir="/data", topic="t1", partition=0, topic_id=topic_id(1))
TAKEN = change(1, replicas=nodes(1, 3), isr=nodes(1, 3), directories=(directory(1), directory(3)))
GIVEN_BACK = change(1, replicas=nodes(1, 2, 3), directories=(directory(1), directory(2), directory(3)))
STAGES = Plan(stage=(Stage(directory=OURS, why="not a replica"),))


def _log(*batches: tuple[MetadataRecord, ...]) -> Reference:
    reference = Reference(TopicIds())
    for records in batches:
        data = build_batch(
            base_offset=Offset(reference.end),
            epoch=Epoch(1),
            timestamp_ms=1_000,
            values=[encode_record(record, write_version(type(record), LEVEL)) for record in records],
        )
        reference.on_batch(parse_header(data), data)
    return reference


def _agent(had: int, *, has_lost_proof: bool = False) -> Any:
    """Return broker 2 with the log before offset `had`."""
    image = SimpleNamespace(offset_and_epoch=SimpleNamespace(offset=had))
    return SimpleNamespace(
        node_id=2,
        has_lost_proof=has_lost_proof,
        executor=SimpleNamespace(image=image),
        life=SimpleNamespace(incarnation_id=uuid(2)),
        world=SimpleNamespace(note=lambda what: None),
        clock=SimpleNamespace(wall_ms=lambda: 0),
        cluster=SimpleNamespace(setup=SimpleNamespace(delete_delay_ms=500)),
    )


BEGINNING = ((broker(1, fenced=False), broker(2)), (topic(1), partition(1)))


def test_what_was_taken_is_staged_by_an_agent_that_does_not_know_it_was_given_back() -> None:
    reference = _log(*BEGINNING, (TAKEN,), (GIVEN_BACK,))
    check_plan(_agent(5), STAGES, reference)


@pytest.mark.parametrize("had", [4, 6])
def test_a_replica_of_its_own_by_the_log_that_it_had(had: int) -> None:
    reference = _log(*BEGINNING, (TAKEN,), (GIVEN_BACK,))
    with pytest.raises(InvariantFailure, match=f"which is its live replica at {had}"):
        check_plan(_agent(had), STAGES, reference)


def test_what_the_log_removed_and_what_it_never_named() -> None:
    reference = _log(*BEGINNING, (RemoveTopicRecord(topic_id=topic_id(1)),))
    check_plan(_agent(5), STAGES, reference)
    for foreign in (None, topic_id(77)):
        lies = msgspec.structs.replace(OURS, topic_id=foreign)
        with pytest.raises(InvariantFailure, match="which this log never made"):
            check_plan(_agent(5), Plan(stage=(Stage(directory=lies, why="removed"),)), reference)
        check_plan(_agent(5), Plan(set_aside=(SetAside(directory=lies, why="no proof"),)), reference)


def _staged(topic_number: int, *, remove_at_ms: int) -> StagedDirectory:
    times = RemovalTimes(remove_at_ms=remove_at_ms, staged_at_ms=0, delay_ms=500, due_ms=500)
    return StagedDirectory(log_dir="/data", name=f"{id_text(topic_id(topic_number))}_0", times=times)


@pytest.mark.parametrize(
    ("topic_number", "ran_ms", "wall_ms", "why"),
    [
        (1, 1_499, 9_000, "after 499 ms, and the delay is 500"),
        (1, 1_500, 499, "before the time that it announced"),
        (77, 1_500, 9_000, "which this log never made"),
        (1, 1_500, 500, None),
    ],
)
def test_a_removal_is_held_against_both_clocks_and_the_log(
    topic_number: int, ran_ms: int, wall_ms: int, why: str | None
) -> None:
    reference = _log(*BEGINNING, (RemoveTopicRecord(topic_id=topic_id(1)),))
    removals, agent = Removals(), _agent(5)
    agent.ran_ms = 1_000
    removals.on_plan(agent, STAGES)
    agent.ran_ms, agent.clock.wall_ms = ran_ms, lambda: wall_ms
    gone = [_staged(topic_number, remove_at_ms=500)]
    with nullcontext() if why is None else pytest.raises(InvariantFailure, match=why):
        removals.on_removed(agent, gone, reference)


def test_a_log_that_ends_before_this_start_registered() -> None:
    reference = _log((topic(9),), *BEGINNING)
    with pytest.raises(InvariantFailure, match="ends at 1, before it registered"):
        check_plan(_agent(1), STAGES, reference)
    again = _log((broker(2, epoch=3, incarnation_id=uuid(77)),), *BEGINNING)
    with pytest.raises(InvariantFailure, match="before it registered"):
        check_plan(_agent(1), STAGES, again)


def test_an_agent_that_was_unregistered_since_had_registered() -> None:
    gone = UnregisterBrokerRecord(broker_id=NodeId(2), broker_epoch=5)
    check_plan(_agent(6), STAGES, _log(*BEGINNING, (TAKEN,), (gone,)))


def test_a_log_that_nobody_committed_and_what_is_sound_set_aside() -> None:
    reference = _log(*BEGINNING, (TAKEN,))
    with pytest.raises(InvariantFailure, match="never committed"):
        check_plan(_agent(9), STAGES, reference)
    with pytest.raises(InvariantFailure, match="sets /data/t1-0 aside: why"):
        check_plan(_agent(5), Plan(set_aside=(SetAside(directory=OURS, why="why"),)), reference)


def test_what_lost_its_proof_may_be_set_aside_unless_it_is_live() -> None:
    aside = Plan(set_aside=(SetAside(directory=OURS, why="why"),))
    check_plan(_agent(5, has_lost_proof=True), aside, _log(*BEGINNING, (TAKEN,)))
    with pytest.raises(InvariantFailure, match="sets /data/t1-0 aside: why"):
        check_plan(_agent(6, has_lost_proof=True), aside, _log(*BEGINNING, (TAKEN,), (GIVEN_BACK,)))
