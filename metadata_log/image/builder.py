"""From one image to the next, record by record.

Decides: which builder takes which record, and what a record that makes no sense becomes. Must not know: batches and
transactions (`replayer` does) and what a single record does (the builders do).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from metadata_log.image.access_builder import AccessBuilder
from metadata_log.image.cluster_builder import ClusterBuilder
from metadata_log.image.errors import ImpossibleRecordError, ReplayError
from metadata_log.image.image import NO_CHANGES, ImageChanges, MetadataImage
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
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)


class ImageBuilder:
    """Applies records to an image without touching it; made for one batch and used up by `build`.

    Costs what the records cost, whatever the image holds. After an error it is worthless: drop it, the image stands.
    """

    __slots__ = ("_access", "_cluster", "_configs", "_features", "_image", "_topics")

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._topics: TopicsBuilder | None = None
        self._cluster: ClusterBuilder | None = None
        self._configs: ConfigsBuilder | None = None
        self._features: FeaturesBuilder | None = None
        self._access: AccessBuilder | None = None

    def apply(self, record: MetadataRecord, offset: int) -> None:
        """What `record` says from now on holds. `offset` is only for the error.

        Raises:
            ReplayError: when the record makes no sense here, naming it and its offset.
        """
        replay = _REPLAYS.get(type(record))
        if replay is None:
            raise ReplayError(type(record).__name__, offset, "it is no record of the image")
        try:
            replay(self, record)
        except ImpossibleRecordError as error:
            raise ReplayError(type(record).__name__, offset, str(error)) from None

    def build(self, end: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """The image of the log up to `end` (exclusive), whose last batch is of `epoch` and `timestamp_ms`."""
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
        """What the records taken so far have changed."""
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
        """For the records about topics."""
        if self._topics is None:
            self._topics = TopicsBuilder(self._image.topics)
        return self._topics

    def cluster(self) -> ClusterBuilder:
        """For the records about nodes."""
        if self._cluster is None:
            self._cluster = ClusterBuilder(self._image.cluster)
        return self._cluster

    def configs(self) -> ConfigsBuilder:
        """For the records about configs."""
        if self._configs is None:
            self._configs = ConfigsBuilder(self._image.configs)
        return self._configs

    def features(self) -> FeaturesBuilder:
        """For the records about features."""
        if self._features is None:
            self._features = FeaturesBuilder(self._image.features)
        return self._features

    def access(self) -> AccessBuilder:
        """For the records about clients."""
        if self._access is None:
            self._access = AccessBuilder(self._image)
        return self._access


def _remove_topic(builder: ImageBuilder, record: RemoveTopicRecord) -> None:
    builder.configs().remove_topic(builder.topics().on_remove_topic(record))


def _nothing(builder: ImageBuilder, record: MetadataRecord) -> None:
    """NoOpRecord only moves the end; ZkMigrationStateRecord has meant nothing since Kafka 4.0."""


_REPLAYS: Final[dict[type[object], Callable[[ImageBuilder, Any], object]]] = {
    TopicRecord: lambda builder, record: builder.topics().on_topic(record),
    PartitionRecord: lambda builder, record: builder.topics().on_partition(record),
    PartitionChangeRecord: lambda builder, record: builder.topics().on_partition_change(record),
    RemoveTopicRecord: _remove_topic,
    ClearElrRecord: lambda builder, record: builder.topics().on_clear_elr(record),
    ConfigRecord: lambda builder, record: builder.configs().on_config(record),
    FeatureLevelRecord: lambda builder, record: builder.features().on_feature_level(record),
    RegisterBrokerRecord: lambda builder, record: builder.cluster().on_register_broker(record),
    UnregisterBrokerRecord: lambda builder, record: builder.cluster().on_unregister_broker(record),
    FenceBrokerRecord: lambda builder, record: builder.cluster().on_fence_broker(record),
    UnfenceBrokerRecord: lambda builder, record: builder.cluster().on_unfence_broker(record),
    BrokerRegistrationChangeRecord: lambda builder, record: builder.cluster().on_broker_registration_change(record),
    RegisterControllerRecord: lambda builder, record: builder.cluster().on_register_controller(record),
    AccessControlEntryRecord: lambda builder, record: builder.access().on_acl(record),
    RemoveAccessControlEntryRecord: lambda builder, record: builder.access().on_remove_acl(record),
    UserScramCredentialRecord: lambda builder, record: builder.access().on_scram(record),
    RemoveUserScramCredentialRecord: lambda builder, record: builder.access().on_remove_scram(record),
    DelegationTokenRecord: lambda builder, record: builder.access().on_token(record),
    RemoveDelegationTokenRecord: lambda builder, record: builder.access().on_remove_token(record),
    ClientQuotaRecord: lambda builder, record: builder.access().on_quota(record),
    ProducerIdsRecord: lambda builder, record: builder.access().on_producer_ids(record),
    NoOpRecord: _nothing,
    ZkMigrationStateRecord: _nothing,
}
