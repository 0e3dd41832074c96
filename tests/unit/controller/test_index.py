"""The index lists at least what the image holds, whichever way a replica or a name came there."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.records import PartitionChangeRecord, RemoveTopicRecord
from quorum.controller import index as index_module
from quorum.controller.index import TopicIndex
from tests.support.controller import ControlledCluster, directory


def topics_on(index: TopicIndex, cluster: ControlledCluster, broker_id: int) -> set[str]:
    return {topic.name for topic in index.topics_on(NodeId(broker_id), cluster.image)}


def test_built_late_or_kept_up_it_says_the_same() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12, 13)
    kept = TopicIndex()
    assert topics_on(kept, cluster, 11) == set()
    assert kept.colliding_name("a.b", cluster.image) is None
    for name, replicas in (("a_b", (11, 12)), ("c.d", (12, 13)), ("plain", (13, 11))):
        before = cluster.image
        start = cluster.next_offset
        cluster.place(name, replicas)
        kept.observe(cluster.log[start:], before)
    late = TopicIndex()
    for broker_id in (11, 12, 13, 14):
        assert topics_on(kept, cluster, broker_id) == topics_on(late, cluster, broker_id)
    for name in ("a.b", "c_d", "plain", "a_b"):
        assert kept.colliding_name(name, cluster.image) == late.colliding_name(name, cluster.image)
    assert kept.colliding_name("a.b", cluster.image) == "a_b"


def test_a_replica_that_moves_in_is_listed() -> None:
    cluster = ControlledCluster()
    cluster.start(11, 12)
    topic_id = cluster.place("t", (11,))
    index = TopicIndex()
    assert topics_on(index, cluster, 12) == set()
    move = PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=0,
        replicas=(NodeId(11), NodeId(12)),
        directories=(directory(11), directory(12)),
    )
    index.observe((move,), cluster.image)
    cluster.append((move,))
    assert topics_on(index, cluster, 12) == {"t"}


def test_it_starts_anew_when_most_of_it_is_gone() -> None:
    cluster = ControlledCluster()
    cluster.start(11)
    index = TopicIndex()
    ids = [cluster.place(f"t{number}", (11,)) for number in range(5)]
    assert len(topics_on(index, cluster, 11)) == 5
    removals = tuple(RemoveTopicRecord(topic_id=topic_id) for topic_id in ids)
    for _ in range(index_module._REMOVALS_KEPT // 5 + 2):
        index.observe(removals, cluster.image)
    cluster.append(removals[:4])
    assert topics_on(index, cluster, 11) == {"t4"}
