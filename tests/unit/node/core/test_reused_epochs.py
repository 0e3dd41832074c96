"""Replicas beside controllers that were restored to an older copy, and use the epochs after it a second time.

Offsets and epochs fit there, and the records are others. A replica cuts nothing, and takes nothing, before the leader
has shown to have the batch before the cut.
"""

from __future__ import annotations

import random

import pytest

from metadata_log.directory import COMMITTED_STATE_FILE, METADATA_DIRECTORY
from metadata_log.format.batch import iter_batches
from quorum.node.core.log_fence import HoldReason
from tests.support.node_cluster import Cluster, copied_disk
from tests.support.node_requests import DATA
from tests.support.simulated_node import Node


def _restart(nodes: list[Node]) -> None:
    for node in nodes:
        node.crash()
    for node in nodes:
        node.start()


def _batches(node: Node) -> dict[int, int]:
    """Each batch's checksum, by its base offset."""
    log = node.executor.log
    data = log.read(log.start_offset, 1 << 20)
    return {int(header.base_offset): header.crc for _, header in iter_batches(data)}


def _grafted(node: Node, leader: Node) -> list[int]:
    """Return the offsets of batches that differ from the leader's, if the node's log goes on as the leader's does."""
    own, leaders = _batches(node), _batches(leader)
    differ = [offset for offset, crc in own.items() if leaders.get(offset, crc) != crc]
    return differ if node.executor.machine.log_end == leader.executor.machine.log_end else []


def _restored(lost: int, later: int, elections: int, *, with_observer: bool, seed: int = 3) -> tuple[Cluster, Node]:
    """Return a cluster in which all controllers but one, or all, went back to a copy, and the younger node, stopped.

    The younger node has `lost` topics that the others lack. They have `later` others, and as many elections since.
    """
    cluster = Cluster(3, seed=seed)
    observer = cluster.add_observer() if with_observer else None
    cluster.start()
    cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0")
    cluster.run_for(3_000)
    earlier = [copied_disk(node.files) for node in cluster.controllers]
    _restart(cluster.controllers)
    leader = cluster.elect()
    cluster.create_each(*(f"lost{number}" for number in range(lost)))
    cluster.run_for(3_000)
    younger = observer or next(node for node in cluster.controllers if node is not leader)
    younger.crash()
    restored = [node for node in cluster.controllers if node is not younger]
    for node, files in zip(cluster.controllers, earlier, strict=True):
        if node is not younger:
            node.crash()
            node.files = files
    for node in restored:
        node.start()
    cluster.elect()
    cluster.create_each(*(f"m{number}" for number in range(later)))
    for election in range(elections):
        _restart(restored)
        cluster.elect()
        cluster.create_each(f"p{election}")
    cluster.run_for(1_000)
    return cluster, younger


def _topics(node: Node) -> set[str]:
    return set(node.executor.image.topics.by_name)


@pytest.mark.parametrize(
    ("lost", "later", "elections"),
    [(1, 1, 1), (1, 5, 1), (8, 3, 1), (1, 1, 2), (1, 1, 0)],
    ids=["as long", "longer", "inside a batch", "two elections", "the same epoch"],
)
@pytest.mark.parametrize("with_observer", [False, True], ids=["controller", "agent"])
def test_no_history_is_put_on_top_of_another(lost: int, later: int, elections: int, with_observer: bool) -> None:
    """Also an agent's at its first start after an upgrade, where nothing is kept as committed."""
    cluster, younger = _restored(lost, later, elections, with_observer=with_observer)
    if with_observer:
        younger.files.unlink(f"{DATA}/{METADATA_DIRECTORY}/{COMMITTED_STATE_FILE}")
    younger.start()
    end = younger.executor.machine.log_end
    cluster.run_for(20_000)
    held = younger.executor.fence.held
    assert held is not None
    assert held.reason is HoldReason.OTHER_HISTORY
    assert younger.executor.machine.log_end == end
    assert cluster.elect() is not younger
    younger.crash()
    younger.start()
    cluster.run_for(5_000)
    assert younger.executor.fence.held is not None
    assert younger.executor.machine.log_end == end


@pytest.mark.parametrize("seed", range(20))
def test_random_hiscenarios_are_never_mixed(seed: int) -> None:
    dice = random.Random(seed)
    cluster, younger = _restored(
        dice.choice((1, 2, 8, 12)), dice.choice((0, 1, 3, 8)), dice.choice((0, 1, 2)), with_observer=False, seed=seed
    )
    younger.start()
    cluster.run_for(20_000)
    leader = cluster.elect()
    assert younger.is_up
    for node in cluster.controllers:
        assert _grafted(node, leader) == []


def test_an_uncommitted_tail_is_cut_once_the_leader_has_shown_the_batch_before_it() -> None:
    cluster = Cluster(3, seed=3)
    cluster.start()
    old = cluster.elect()
    cluster.add_broker()
    cluster.create_each("n0")
    others = [node for node in cluster.controllers if node is not old]
    cluster.cut = {pair for node in others for pair in ((old.node_id, node.node_id), (node.node_id, old.node_id))}
    before = old.executor.machine.log_end
    cluster.create(old, "unheard")
    cluster.run_until(lambda: any(node.executor.machine.is_leader for node in others))
    tail = old.executor.machine.log_end
    assert tail.offset > before.offset
    cluster.cut = set()
    leader = next(node for node in others if node.executor.machine.is_leader)
    cluster.run_until(lambda: old.executor.machine.log_end == leader.executor.machine.log_end)
    assert old.executor.machine.log_end.epoch > tail.epoch
    assert "unheard" not in _topics(old)
    assert old.executor.fence.held is None
    assert _grafted(old, leader) == []
