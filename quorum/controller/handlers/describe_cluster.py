"""DescribeCluster: the registered brokers, and the levels of features; requires ALTER on the cluster.

Kafka's controllers require the same right. Brokers require none (KIP-919).
"""

from __future__ import annotations

from metadata_log.image import BrokerRegistration
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION
from quorum.api.brokers import FeatureRange, Listener
from quorum.api.cluster import DescribeCluster, DescribeClusterResponse, DescribedBroker, FinalizedFeature
from quorum.api.context import CLUSTER, Operation, authorize
from quorum.api.error_codes import Error
from quorum.controller.features import SUPPORTED_FEATURES
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_describe_cluster(request: DescribeCluster, turn: Turn) -> ControllerResult[DescribeClusterResponse]:
    """Return the response from the given image, without records."""
    error = authorize(turn.context, Operation.ALTER, CLUSTER, turn.image)
    if error is not Error.NONE:
        return ControllerResult(response=request.rejected(error, "Authorization failed."))
    brokers = turn.image.cluster.brokers
    return ControllerResult(
        response=DescribeClusterResponse(
            cluster_id=turn.config.cluster_id,
            node_id=turn.config.node_id,
            brokers=tuple(_described(brokers[broker_id]) for broker_id in sorted(brokers)),
            supported_features=tuple(sorted(SUPPORTED_FEATURES, key=lambda each: each.name)),
            finalized_features=_finalized(turn),
            finalized_features_epoch=turn.image.offset_and_epoch.offset - 1,
        )
    )


def _described(broker: BrokerRegistration) -> DescribedBroker:
    return DescribedBroker(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        incarnation_id=broker.incarnation_id,
        listeners=tuple(
            Listener(name=at.name, host=at.host, port=at.port, security_protocol=at.security_protocol)
            for at in broker.listeners
        ),
        features=tuple(
            FeatureRange(name=each.name, min_supported_version=each.min_version, max_supported_version=each.max_version)
            for each in broker.supported_features
        ),
        rack=broker.rack,
        is_fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
        cordoned_log_dirs=broker.cordoned_directories,
    )


def _finalized(turn: Turn) -> tuple[FinalizedFeature, ...]:
    features = turn.image.features
    levels = {
        **dict(features.levels.items()),
        METADATA_VERSION: features.metadata_version or 0,
        KRAFT_VERSION: turn.config.kraft_version,
    }
    return tuple(FinalizedFeature(name=name, level=level) for name, level in sorted(levels.items()) if level > 0)
