"""Requests of administrators, and of brokers that lead partitions, with the condition that holds once each is done.

Decides: the requests, valid and invalid, from the committed image. Must not know: when they are sent, or to which node.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import msgspec

from metadata_log.acl_codes import ALLOW, DENY, LITERAL, PREFIXED, Operation, ResourceType
from metadata_log.ids import NodeId, TopicId
from metadata_log.image import AclEntry, ConfigResource, MetadataImage, PartitionImage, QuotaEntity, TopicImage
from quorum.api.acls import AclFilter, CreateAcls, DeleteAcls
from quorum.api.brokers import UnregisterBroker
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigs,
    ConfigOperation,
    IncrementalAlterConfigs,
    ReplacedResource,
)
from quorum.api.elections import ElectionType, ElectLeaders
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpgradeType
from quorum.api.partition_counts import CreatePartitions, GrowingTopic
from quorum.api.partitions import AlterPartition, BrokerState, PartitionAlteration, TopicAlteration
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration
from quorum.api.reassignments import (
    AlterPartitionReassignments,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from quorum.api.request import Request
from quorum.api.scram import AlterUserScramCredentials, ScramDeletion, ScramUpsertion

Holds = Callable[[MetadataImage], bool]
_TOPIC: Final = 2
_BROKER: Final = 4
_ELR: Final = "eligible.leader.replicas.version"
_MOST_PARTITIONS: Final = 6


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `holds` is True of every image at or after the offset in the response that reports all of it as
    done."""

    kind: str
    request: Request
    holds: Holds = lambda _: True


def any_wish(image: MetadataImage, chance: random.Random) -> Wish | None:
    """Return a request that fits this cluster, or None if there is nothing to change yet."""
    return chance.choice(_MAKERS)(image, chance)


def _any_topic(image: MetadataImage, chance: random.Random) -> TopicImage | None:
    topics = sorted(image.topics.by_id.values(), key=lambda topic: topic.topic_id)
    topics = [topic for topic in topics if topic.partitions]
    return chance.choice(topics) if topics else None


def _any_partition(image: MetadataImage, chance: random.Random) -> tuple[TopicImage, PartitionImage] | None:
    topic = _any_topic(image, chance)
    return None if topic is None else (topic, chance.choice(list(topic.partitions)))


def _brokers(image: MetadataImage) -> list[int]:
    return sorted(image.cluster.brokers)


def _of_partition(topic_id: TopicId, index: int, holds: Callable[[PartitionImage], bool]) -> Holds:
    """Return a condition on the partition that also holds if the topic is gone."""

    def of_image(image: MetadataImage) -> bool:
        partition = image.topics.partition(topic_id, index)
        return partition is None or holds(partition)

    return of_image


def _grow(image: MetadataImage, chance: random.Random) -> Wish | None:
    topic = _any_topic(image, chance)
    if topic is None:
        return None
    count = min(len(topic.partitions) + chance.randrange(3), _MOST_PARTITIONS)
    growing = GrowingTopic(name=topic.name, count=count)

    def has_grown(after: MetadataImage) -> bool:
        return topic.name not in after.topics.by_name or _partitions_named(after, topic.name) >= count

    return Wish(kind="grow", request=CreatePartitions(topics=(growing,)), holds=has_grown)


def _partitions_named(image: MetadataImage, name: str) -> int:
    topic = image.topics.named(name)
    return 0 if topic is None else len(topic.partitions)


def _reassign(image: MetadataImage, chance: random.Random) -> Wish | None:
    """Reassign to any brokers in any order, or cancel."""
    found, brokers = _any_partition(image, chance), _brokers(image)
    if found is None or not brokers:
        return None
    topic, partition = found
    replicas = tuple(chance.sample(brokers, 1 + chance.randrange(len(brokers)))) if chance.randrange(4) else None
    asked = ReassignablePartition(partition_index=partition.partition_id, replicas=replicas)

    def is_under_way(now: PartitionImage) -> bool:
        if replicas is None:
            return not now.adding and not now.removing
        return now.replicas[: len(replicas)] == replicas and set(now.replicas[len(replicas) :]) == set(now.removing)

    request = AlterPartitionReassignments(topics=(ReassignableTopic(name=topic.name, partitions=(asked,)),))
    return Wish(
        kind="reassign", request=request, holds=_of_partition(topic.topic_id, asked.partition_index, is_under_way)
    )


def _sync(image: MetadataImage, chance: random.Random) -> Wish | None:
    """Let the leader report an ISR: all replicas that make progress, or any."""
    found = _any_partition(image, chance)
    if found is None or found[1].leader < 0 or found[1].leader not in image.cluster.brokers:
        return None
    topic, partition = found
    followers = [replica for replica in partition.replicas if replica != partition.leader]
    if chance.randrange(3) == 0:
        followers = chance.sample(followers, chance.randrange(len(followers) + 1))
    isr = (partition.leader, *followers)
    alteration = PartitionAlteration(
        partition_index=partition.partition_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple(BrokerState(broker_id=broker) for broker in isr),
    )
    request = AlterPartition(
        broker_id=partition.leader,
        broker_epoch=image.cluster.brokers[partition.leader].epoch,
        topics=(TopicAlteration(topic_id=topic.topic_id, partitions=(alteration,)),),
    )
    return Wish(
        kind="sync",
        request=request,
        holds=_of_partition(topic.topic_id, partition.partition_id, lambda now: set(now.isr) <= set(isr)),
    )


def _elect(image: MetadataImage, chance: random.Random) -> Wish | None:
    found = _any_partition(image, chance)
    if found is None:
        return None
    topic, partition = found
    asked = (
        None if chance.randrange(4) == 0 else (TopicPartitions(topic=topic.name, partitions=(partition.partition_id,)),)
    )
    kind = chance.choice(list(ElectionType))
    return Wish(kind="elect", request=ElectLeaders(election_type=kind, partitions=asked))


def _configure(image: MetadataImage, chance: random.Random) -> Wish | None:
    """Set configs of a topic or of all brokers: some that elections and ISRs depend on, and one that they do not."""
    topic = _any_topic(image, chance)
    resource = (_BROKER, "") if topic is None or chance.randrange(4) == 0 else (_TOPIC, topic.name)
    name, value = chance.choice(
        (("min.insync.replicas", "1"), ("min.insync.replicas", "2"), ("unclean.leader.election.enable", "true"),
         ("unclean.leader.election.enable", "false"), ("retention.ms", "1000"))
    )  # fmt: skip
    if resource[0] == _BROKER and name == "retention.ms":
        name = "log.cleaner.threads"

    def is_set(after: MetadataImage) -> bool:
        if resource[0] == _TOPIC and resource[1] not in after.topics.by_name:
            return True
        key = ConfigResource(resource_type=resource[0], name=resource[1])
        return after.configs.by_resource.get(key, {}).get(name) == value

    if chance.randrange(2):
        config = AlterableConfig(name=name, operation=ConfigOperation.SET, value=value)
        altered = AlterableResource(resource_type=resource[0], name=resource[1], configs=(config,))
        return Wish(kind="configure", request=IncrementalAlterConfigs(resources=(altered,)), holds=is_set)
    replaced = ReplacedResource(resource_type=resource[0], name=resource[1], configs=((name, value),))
    return Wish(kind="replace configs", request=AlterConfigs(resources=(replaced,)), holds=is_set)


def _entry(chance: random.Random) -> AclEntry:
    return AclEntry(
        resource_type=ResourceType.TOPIC,
        resource_name=f"t{chance.randrange(3)}",
        pattern_type=chance.choice((LITERAL, PREFIXED)),
        principal=f"User:{chance.choice('ab')}",
        host="*",
        operation=chance.choice((Operation.READ, Operation.WRITE)),
        permission_type=chance.choice((ALLOW, DENY)),
    )


def _allow(image: MetadataImage, chance: random.Random) -> Wish:
    entry = _entry(chance)
    return Wish(
        kind="add an entry",
        request=CreateAcls(creations=(entry,)),
        holds=lambda after: entry in after.acls.by_id.values(),
    )


def _disallow(image: MetadataImage, chance: random.Random) -> Wish:
    entry = _entry(chance)
    meant = AclFilter(**msgspec.structs.asdict(entry))
    return Wish(
        kind="remove an entry",
        request=DeleteAcls(filters=(meant,)),
        holds=lambda after: entry not in after.acls.by_id.values(),
    )


def _limit(image: MetadataImage, chance: random.Random) -> Wish:
    entity = chance.choice(((("user", "a"),), (("user", None),), (("client-id", "c"), ("user", "a"))))
    key, value = "producer_byte_rate", chance.choice((None, 1.0, 2.0))
    alteration = QuotaAlteration(entity=entity, ops=((key, value),))
    return Wish(
        kind="limit",
        request=AlterClientQuotas(entries=(alteration,)),
        holds=lambda after: after.client_quotas.by_entity.get(QuotaEntity(parts=entity), {}).get(key) == value,
    )


def _credentials(image: MetadataImage, chance: random.Random) -> Wish:
    name = chance.choice("ab")

    def has_them(after: MetadataImage) -> bool:
        return any(user.name == name for user in after.scram.credentials)

    if chance.randrange(2):
        upsertion = ScramUpsertion(name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")
        request = AlterUserScramCredentials(upsertions=(upsertion,))
        return Wish(kind="give credentials", request=request, holds=has_them)
    request = AlterUserScramCredentials(deletions=(ScramDeletion(name=name, mechanism=1),))
    return Wish(kind="take credentials", request=request, holds=lambda after: not has_them(after))


def _unregister(image: MetadataImage, chance: random.Random) -> Wish | None:
    """Unregister a broker that is alive: it will register again."""
    if not image.cluster.brokers or chance.randrange(3):
        return None
    broker_id = NodeId(chance.choice(_brokers(image)))
    return Wish(
        kind="unregister",
        request=UnregisterBroker(broker_id=broker_id),
        holds=lambda after: broker_id not in after.cluster.brokers,
    )


def _feature(image: MetadataImage, chance: random.Random) -> Wish:
    """Turn eligible leader replicas on or off."""
    level = chance.randrange(2)
    kind = UpgradeType.UPGRADE if level or chance.randrange(3) == 0 else UpgradeType.SAFE_DOWNGRADE
    update = FeatureUpdate(name=_ELR, level=level, upgrade_type=kind)
    return Wish(
        kind="set a feature",
        request=UpdateFeatures(updates=(update,)),
        holds=lambda after: after.features.elr_enabled == bool(level),
    )


def _producer_ids(image: MetadataImage, chance: random.Random) -> Wish | None:
    if not image.cluster.brokers:
        return None
    broker_id = NodeId(chance.choice(_brokers(image)))
    epoch = image.cluster.brokers[broker_id].epoch - (chance.randrange(4) == 0)
    return Wish(kind="take producer ids", request=AllocateProducerIds(broker_id=broker_id, broker_epoch=epoch))


_MAKERS: Final[tuple[Callable[[MetadataImage, random.Random], Wish | None], ...]] = (
    _grow,
    _reassign,
    _reassign,
    _sync,
    _sync,
    _sync,
    _elect,
    _configure,
    _allow,
    _disallow,
    _limit,
    _credentials,
    _unregister,
    _feature,
    _producer_ids,
)
