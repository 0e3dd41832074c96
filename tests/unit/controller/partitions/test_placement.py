"""Placement: what always holds, and how evenly replicas lie over brokers and racks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.ids import NodeId
from metadata_log.image import BrokerRegistration, ClusterImage
from metadata_log.image.maps import Map
from quorum.controller.partitions.brokers import Brokers, prepare
from quorum.controller.partitions.placement import PlacementError, _Stripes, place
from quorum.draws import Draws
from tests.support.controller import directory, uuid

draws = st.integers(min_value=0, max_value=2**64 - 1)


def broker(broker_id: int, rack: str | None, *, fenced: bool = False) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=NodeId(broker_id),
        epoch=broker_id,
        incarnation_id=uuid(broker_id),
        rack=rack,
        fenced=fenced,
        directories=(directory(broker_id),),
    )


def cluster_of(*brokers: BrokerRegistration) -> Brokers:
    return prepare(ClusterImage(brokers=Map({each.broker_id: each for each in brokers})))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, BrokerRegistration], Brokers]:
    racks = draw(st.sampled_from([[None], ["a", "b"], ["a", "b", "c"], [None, "a"]]))
    ids = draw(st.lists(st.integers(0, 40), min_size=1, max_size=9, unique=True))
    brokers = {
        broker_id: broker(broker_id, draw(st.sampled_from(racks)), fenced=draw(st.booleans()) and index > 0)
        for index, broker_id in enumerate(ids)
    }
    return brokers, cluster_of(*brokers.values())


@given(clusters(), st.integers(1, 30), st.data(), draws)
def test_what_always_holds(
    given_cluster: tuple[dict[int, BrokerRegistration], Brokers], partitions: int, data: st.DataObject, draw: int
) -> None:
    brokers, prepared = given_cluster
    factor = data.draw(st.integers(1, len(brokers)))
    placements = place(prepared, partitions, factor, draw)
    assert placements == place(prepared, partitions, factor, draw)
    assert len(placements) == partitions
    for replicas in placements:
        assert len(replicas) == len(set(replicas)) == factor
        assert set(replicas) <= set(brokers)
        assert not brokers[replicas[0]].fenced


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40), draws)
def test_racks_of_equal_size_share_replicas_evenly(racks: int, per_rack: int, partitions: int, draw: int) -> None:
    names = {rack * 10 + index: f"rack-{rack}" for rack in range(racks) for index in range(per_rack)}
    prepared = cluster_of(*(broker(broker_id, name) for broker_id, name in names.items()))
    factor = min(3, len(names))
    placements = place(prepared, partitions, factor, draw)
    for replicas in placements:
        used = Counter(names[replica] for replica in replicas)
        assert max(used.values()) - min([*used.values(), 0] if len(used) < racks else used.values()) <= 1
    rounds = -(-partitions // racks)
    leaders = Counter(names[replicas[0]] for replicas in placements)
    assert max(leaders.values()) <= rounds + rounds // max(per_rack, 1) + 1


@given(st.integers(2, 8), draws)
def test_one_round_of_partitions_gives_each_broker_as_many_leaders_and_replicas(count: int, draw: int) -> None:
    prepared = cluster_of(*(broker(index, None) for index in range(count)))
    placements = place(prepared, count, 2, draw)
    assert set(Counter(replicas[0] for replicas in placements).values()) == {1}
    assert set(Counter(replica for replicas in placements for replica in replicas).values()) == {2}


@given(st.integers(1, 8), st.data(), draws)
def test_the_short_way_places_as_the_long_way_does(count: int, data: st.DataObject, draw: int) -> None:
    prepared = cluster_of(*(broker(index, None) for index in range(count)))
    factor = data.draw(st.integers(1, count))
    long_way = _Stripes(prepared, Draws(draw)).next_replicas(factor)
    assert place(prepared, 1, factor, draw) == [long_way]


def test_many_draws_use_every_broker_as_leader_about_as_often() -> None:
    prepared = cluster_of(*(broker(index, None) for index in range(5)))
    leaders = Counter(place(prepared, 1, 3, draw)[0][0] for draw in range(5_000))
    assert set(leaders) == set(range(5))
    assert max(leaders.values()) < 1.2 * min(leaders.values())


def test_fenced_brokers_come_last_in_their_rack() -> None:
    prepared = cluster_of(broker(1, "a"), broker(2, "a", fenced=True), broker(3, "a"))
    assert all(replicas[2] == 2 for replicas in place(prepared, 9, 3, 1))


def test_too_few_brokers_or_none_unfenced() -> None:
    with pytest.raises(PlacementError, match="2 broker"):
        place(cluster_of(broker(1, None), broker(2, None)), 1, 3, 1)
    with pytest.raises(PlacementError, match="fenced"):
        place(cluster_of(broker(1, None, fenced=True)), 1, 1, 1)
    with pytest.raises(PlacementError, match="fenced"):
        place(cluster_of(), 1, 1, 1)


@given(draws, st.integers(1, 1000))
def test_draws_are_within_their_bound_and_repeatable(draw: int, bound: int) -> None:
    first = [Draws(draw).below(bound) for _ in range(3)]
    assert len(set(first)) == 1
    assert 0 <= first[0] < bound
