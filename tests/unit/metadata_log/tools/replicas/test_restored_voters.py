"""The LeaderChange that shows that a voter's directory is older than an act of its node."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from metadata_log.tools.read.control_facts import Election
from metadata_log.tools.replicas.restored_voters import restored_voter


def elected(epoch: int, *, is_repairs: bool = False) -> Election:
    return Election(
        offset=10 * epoch,
        epoch=epoch,
        leader_id=1,
        voters=(NodeId(1), NodeId(2), NodeId(3)),
        granting=(NodeId(1), NodeId(2)),
        file="00000000000000000000.log",
        position=0,
        is_repairs=is_repairs,
    )


@pytest.mark.parametrize(("node_id", "did"), [(1, "led"), (2, "voted for node 1 in")])
def test_who_led_or_voted_later_than_its_directory_knows_was_set_back(node_id: int, did: str) -> None:
    restored = restored_voter(node_id, 4, [("node 3", elected(6)), ("node 1", elected(5))])

    assert restored is not None
    assert f"knows of no epoch after 4, but {did} epoch 6, which began at offset 60" in restored.predicate()
    assert restored.shown_by == "node 3"


@pytest.mark.parametrize(("node_id", "knows_epoch"), [(1, 6), (3, 4)])
def test_who_knows_the_epoch_or_did_nothing_in_it_was_not(node_id: int, knows_epoch: int) -> None:
    assert restored_voter(node_id, knows_epoch, [("node 1", elected(6))]) is None


@pytest.mark.parametrize("node_id", [1, 2])
def test_nobody_acted_in_the_epoch_that_a_repair_began(node_id: int) -> None:
    assert restored_voter(node_id, 4, [("node 3", elected(1004, is_repairs=True))]) is None
