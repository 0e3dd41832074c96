"""The step from one image to the next, record by record.

Decides: which builder applies a record, and the error of an invalid one. Must not know: batches and transactions
(`replayer`), or the effect of a single record (the builders).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.image.access_builder import AccessBuilder
from metadata_log.image.cluster_builder import ClusterBuilder
from metadata_log.image.errors import ImpossibleRecordError, NoSuchPartitionError, ReplayError
from metadata_log.image.image import NO_CHANGES, ImageChanges, MetadataImage
from metadata_log.image.known_partitions import KnownPartition, Replayable
from metadata_log.image.settings_builder import ConfigsBuilder, FeaturesBuilder
from metadata_log.image.topics_builder import TopicsBuilder
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)


class ImageBuilder:
    """Applies records to an image without changing it; made for one batch and used up by `build`.

    The cost depends on the records, not on the image's size. After an error the caller drops the builder, and the image
    is as before.
    """

    __slots__ = ("_access", "_cluster", "_configs", "_features", "_image", "_replays", "_topics")

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._topics: TopicsBuilder | None = None
        self._cluster: ClusterBuilder | None = None
        self._configs: ConfigsBuilder | None = None
        self._features: FeaturesBuilder | None = None
        self._access: AccessBuilder | None = None
        self._replays: dict[type[object], Callable[[Any], object]] = {}

    def apply(self, record: Replayable, offset: int) -> None:
        """Apply a record. `offset` is only for the error.

        Raises:
            ReplayError: the record is invalid here.
        """
        replay = self._replays.get(type(record)) or self._replay_of(type(record), offset)
        try:
            replay(record)
        except ImpossibleRecordError as error:
            lacks_partition = isinstance(error, NoSuchPartitionError)
            raise ReplayError(_name_of(record), offset, str(error), lacks_partition=lacks_partition) from None

    def _replay_of(self, kind: type[object], offset: int) -> Callable[[Any], object]:
        """Return the function that applies records of this type, and keep it until `build`."""
        find = _REPLAYS.get(kind)
        if find is None:
            raise ReplayError(kind.__name__, offset, "it is no record of the image")
        replay = self._replays[kind] = find(self)
        return replay

    def build(self, end: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """Return the image of the log up to `end` (exclusive), whose last batch has `epoch` and `timestamp_ms`."""
        image = self._image
        access = self._access
        return MetadataImage(
            offset_and_epoch=OffsetAndEpoch(offset=Offset(end), epoch=Epoch(epoch)),
            last_contained_timestamp_ms=timestamp_ms,
            features=image.features if self._features is None else self._features.build(),
            cluster=image.cluster if self._cluster is None else self._cluster.build(),
            topics=image.topics if self._topics is None else self._topics.build(),
            configs=image.configs if self._configs is None else self._configs.build(),
            client_quotas=image.client_quotas if access is None else access.client_quotas,
            producer_ids=image.producer_ids if access is None else access.producer_ids,
            acls=image.acls if access is None else access.acls,
            scram=image.scram if access is None else access.scram,
            delegation_tokens=image.delegation_tokens if access is None else access.delegation_tokens,
        )

    @property
    def changes(self) -> ImageChanges:
        """The changes by the records so far."""
        topics, cluster, configs = self._topics, self._cluster, self._configs
        if not (topics or cluster or configs or self._features or self._access):
            return NO_CHANGES
        return ImageChanges(
            topics=frozenset() if topics is None else topics.changed,
            brokers=frozenset() if cluster is None else frozenset(cluster.changed_brokers),
            controllers=frozenset() if cluster is None else frozenset(cluster.changed_controllers),
            configs=frozenset() if configs is None else frozenset(configs.changed),
            features=self._features is not None,
            other=self._access is not None,
        )

    def topics(self) -> TopicsBuilder:
        """Return the builder for records about topics."""
        if self._topics is None:
            self._topics = TopicsBuilder(self._image.topics)
        return self._topics

    def cluster(self) -> ClusterBuilder:
        """Return the builder for records about nodes."""
        if self._cluster is None:
            self._cluster = ClusterBuilder(self._image.cluster)
        return self._cluster

    def configs(self) -> ConfigsBuilder:
        """Return the builder for records about configs."""
        if self._configs is None:
            self._configs = ConfigsBuilder(self._image.configs)
        return self._configs

    def features(self) -> FeaturesBuilder:
        """Return the builder for records about features."""
        if self._features is None:
            self._features = FeaturesBuilder(self._image.features)
        return self._features

    def access(self) -> AccessBuilder:
        """Return the builder for records about clients."""
        if self._access is None:
            self._access = AccessBuilder(self._image)
        return self._access


def _name_of(record: Replayable) -> str:
    return PartitionRecord.__name__ if type(record) is KnownPartition else type(record).__name__


def _partition(builder: ImageBuilder) -> Callable[[KnownPartition], object]:
    put = builder.topics().put_partition
    return lambda known: put(known.topic_id, known.partition)


def _remove_topic(builder: ImageBuilder) -> Callable[[RemoveTopicRecord], object]:
    topics, configs = builder.topics(), builder.configs()
    return lambda record: configs.remove_topic(topics.on_remove_topic(record))


def _nothing(builder: ImageBuilder) -> Callable[[MetadataRecord], object]:
    """Return a function without effect: NoOpRecord moves only the end; ZkMigrationStateRecord is void since 4.0."""
    return lambda record: None


_REPLAYS: Final[dict[type[object], Callable[[ImageBuilder], Callable[[Any], object]]]] = {
    TopicRecord: lambda builder: builder.topics().on_topic,
    PartitionRecord: lambda builder: builder.topics().on_partition,
    PartitionChangeRecord: lambda builder: builder.topics().on_partition_change,
    KnownPartition: _partition,
    RemoveTopicRecord: _remove_topic,
    ClearElrRecord: lambda builder: builder.topics().on_clear_elr,
    ConfigRecord: lambda builder: builder.configs().on_config,
    FeatureLevelRecord: lambda builder: builder.features().on_feature_level,
    RegisterBrokerRecord: lambda builder: builder.cluster().on_register_broker,
    UnregisterBrokerRecord: lambda builder: builder.cluster().on_unregister_broker,
    FenceBrokerRecord: lambda builder: builder.cluster().on_fence_broker,
    UnfenceBrokerRecord: lambda builder: builder.cluster().on_unfence_broker,
    BrokerRegistrationChangeRecord: lambda builder: builder.cluster().on_broker_registration_change,
    RegisterControllerRecord: lambda builder: builder.cluster().on_register_controller,
    UnregisterControllerRecord: lambda builder: builder.cluster().on_unregister_controller,
    AccessControlEntryRecord: lambda builder: builder.access().on_acl,
    RemoveAccessControlEntryRecord: lambda builder: builder.access().on_remove_acl,
    UserScramCredentialRecord: lambda builder: builder.access().on_scram,
    RemoveUserScramCredentialRecord: lambda builder: builder.access().on_remove_scram,
    DelegationTokenRecord: lambda builder: builder.access().on_token,
    RemoveDelegationTokenRecord: lambda builder: builder.access().on_remove_token,
    ClientQuotaRecord: lambda builder: builder.access().on_quota,
    ProducerIdsRecord: lambda builder: builder.access().on_producer_ids,
    NoOpRecord: _nothing,
    ZkMigrationStateRecord: _nothing,
}
