"""Placement of a new topic's replicas: striped over racks, then over the brokers of each rack.

Decides only by the given brokers and a random draw. Two rules always hold: no broker is twice in a partition, and the
first replica, the leader, is on an unfenced broker. Then, in this order: replicas are spread over racks, over brokers,
and fenced brokers are used only if a rack has no others left. Each partition begins one rack after the one before it,
and one broker later in every rack. After as many partitions as there are unfenced brokers, all is shuffled, so that the
pattern does not repeat. These are the rules of Kafka's striped placement.
"""

from __future__ import annotations

from metadata_log.ids import NodeId
from quorum.controller.partitions.brokers import Brokers
from quorum.draws import Draws


class PlacementError(Exception):
    """No placement is possible. The handler responds with INVALID_REPLICATION_FACTOR and this message."""


class _Ring:
    """A list of brokers that is iterated once a round; each round begins one broker later."""

    __slots__ = ("_brokers", "_index", "_offset", "_round")

    def __init__(self, brokers: tuple[NodeId, ...], draws: Draws) -> None:
        self._brokers = list(brokers)
        self._offset = draws.below(len(brokers))
        self._index = 0
        self._round = 0

    def next(self, current_round: int) -> NodeId | None:
        size = len(self._brokers)
        if self._round != current_round:
            self._round = current_round
            self._index = 0
            self._offset = (self._offset + 1) % size if size else 0
        if self._index >= size:
            return None
        broker = self._brokers[(self._index + self._offset) % size]
        self._index += 1
        return broker

    def shuffle(self, draws: Draws) -> None:
        draws.shuffle(self._brokers)


class _Rack:
    __slots__ = ("fenced", "unfenced")

    def __init__(self, unfenced: _Ring, fenced: _Ring) -> None:
        self.unfenced = unfenced
        self.fenced = fenced

    def next(self, current_round: int) -> NodeId | None:
        broker = self.unfenced.next(current_round)
        return self.fenced.next(current_round) if broker is None else broker


class _Stripes:
    """The state of placing one topic."""

    def __init__(self, brokers: Brokers, draws: Draws) -> None:
        self._draws = draws
        self._racks = [_Rack(_Ring(rack.unfenced, draws), _Ring(rack.fenced, draws)) for rack in brokers.racks]
        self._unfenced = brokers.usable_unfenced
        self._first = draws.below(len(self._racks))
        self._round = 0

    def next_replicas(self, count: int) -> tuple[NodeId, ...]:
        if self._round == self._unfenced and self._unfenced > 1:
            self._shuffle()
        leader_rack, leader = self._next_leader()
        replicas = [leader]
        rack = self._first
        is_leader_rack_due = True
        while len(replicas) < count:
            if rack == leader_rack and is_leader_rack_due:
                is_leader_rack_due = False
            else:
                broker = self._racks[rack].next(self._round)
                if broker is not None:
                    replicas.append(broker)
            rack = (rack + 1) % len(self._racks)
        self._round += 1
        self._first = (self._first + 1) % len(self._racks)
        return tuple(replicas)

    def _next_leader(self) -> tuple[int, NodeId]:
        rack = self._first
        while (leader := self._racks[rack].unfenced.next(self._round)) is None:
            rack = (rack + 1) % len(self._racks)
        return rack, leader

    def _shuffle(self) -> None:
        self._draws.shuffle(self._racks)
        for rack in self._racks:
            rack.fenced.shuffle(self._draws)
            rack.unfenced.shuffle(self._draws)
        self._round = 0


def place(brokers: Brokers, partitions: int, replication_factor: int, draw: int) -> list[tuple[NodeId, ...]]:
    """Return the replicas of each partition, the preferred leader first.

    Raises:
        PlacementError: too few brokers, or all of them fenced or cordoned.
    """
    if brokers.usable_unfenced == 0:
        raise PlacementError("all brokers are fenced, shutting down, or have all their log directories cordoned")
    if replication_factor > brokers.usable:
        raise PlacementError(
            f"the replication factor {replication_factor} is more than the {brokers.usable} broker(s) that can take"
            " replicas"
        )
    draws = Draws(draw)
    if partitions == 1 and len(brokers.racks) == 1 and replication_factor <= brokers.usable_unfenced:
        return [_place_one(brokers.racks[0].unfenced, replication_factor, draws)]
    stripes = _Stripes(brokers, draws)
    return [stripes.next_replicas(replication_factor) for _ in range(partitions)]


def _place_one(unfenced: tuple[NodeId, ...], replication_factor: int, draws: Draws) -> tuple[NodeId, ...]:
    """Return the replicas that `_Stripes` yields for one partition on one rack: a shortcut for a frequent case."""
    start = draws.below(len(unfenced))
    return (unfenced + unfenced)[start : start + replication_factor]
