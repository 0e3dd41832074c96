"""More partitions by `quorum.client.Admin`, through the real door."""

from __future__ import annotations

import pytest

from quorum.api.error_codes import Error
from quorum.client import Admin, CreatableTopic, NewPartitions, RefusedError, TopicCollection, UnknownTopicError
from tests.support.controlled_door import controlled
from tests.support.loop import run


def test_a_topic_gets_more_partitions() -> None:
    async def main() -> None:
        async with controlled() as (machine, address), Admin(address) as admin:
            topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=2) for name in ("orders", "bills")]
            (await admin.create_topics(topics)).all()
            end = machine.cluster.next_offset
            asked = {"orders": NewPartitions(4), "bills": NewPartitions(3, ((12, 11),))}
            (await admin.create_partitions(asked, validate_only=True)).all()
            assert machine.cluster.next_offset == end
            assert list((await admin.create_partitions(asked)).all()) == ["orders", "bills"]
            told = (await admin.describe_topics(TopicCollection.of_topic_names(asked))).all_topic_names() or {}
            assert [len(told[name].partitions) for name in asked] == [4, 3]
            assert {len(each.replicas) for each in told["orders"].partitions} == {2}
            assert told["bills"].partitions[2].replicas == (12, 11)

    run(main())


def test_one_refused_topic_leaves_the_others_be() -> None:
    async def main() -> None:
        async with controlled() as (_, address), Admin(address) as admin:
            topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in ("orders", "bills")]
            (await admin.create_topics(topics)).all()
            asked = {"absent": NewPartitions(3), "orders": NewPartitions(1), "bills": NewPartitions(3)}
            grown = (await admin.create_partitions(asked)).values()
            assert isinstance(grown["absent"].exception(), UnknownTopicError)
            with pytest.raises(RefusedError, match=r"currently has 2 partition.*1 would not be an increase") as raised:
                grown["orders"].result()
            assert raised.value.error is Error.INVALID_PARTITIONS
            assert grown["bills"].exception() is None
            again = (await admin.create_partitions({"bills": NewPartitions(3)})).values()["bills"].exception()
            assert again is not None
            assert "Topic already has 3 partition(s)." in str(again)

    run(main())
