"""DescribeCluster and its response: registered brokers and feature levels (KIP-584, KIP-631, KIP-700).

Kafka's DescribeCluster omits broker epochs, features and directories. Kafka returns feature levels in ApiVersions.
"""

from __future__ import annotations

import msgspec

from metadata_log.ids import DirectoryId, Uuid
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.error_codes import Error
from quorum.api.request import Read


class DescribeCluster(Read["DescribeClusterResponse"], frozen=True, kw_only=True, gc=False):
    """Describe all registered brokers, and the levels of features."""

    def rejected(self, error: Error, message: str | None = None) -> DescribeClusterResponse:
        """Return the response that rejects the whole request."""
        return DescribeClusterResponse(error=error, error_message=message)


class DescribedBroker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A registered broker as in the image."""

    broker_id: int
    broker_epoch: int
    """As the RegisterBrokerRecord states it. A process that registers again keeps it, under a later record."""
    incarnation_id: Uuid
    listeners: tuple[Listener, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    is_fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[DirectoryId, ...] = ()
    cordoned_log_dirs: tuple[DirectoryId, ...] | None = None
    """Directories that take no new replicas (KIP-1066); None if the broker has not named them."""


class FinalizedFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feature above level 0, and its level."""

    name: str
    level: int


class DescribeClusterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Brokers by id, features by name.

    `finalized_features_epoch`: the offset of the last record in the image, as in Kafka's ApiVersions.
    """

    cluster_id: str = ""
    node_id: int = -1
    """The controller that answers. `supported_features` are those of this controller."""
    brokers: tuple[DescribedBroker, ...] = ()
    supported_features: tuple[FeatureRange, ...] = ()
    finalized_features: tuple[FinalizedFeature, ...] = ()
    finalized_features_epoch: int = -1
    error: Error = Error.NONE
    error_message: str | None = None
