"""The finalized levels of features and their changes (KIP-584, KIP-778), in the terms of Kafka's Admin.

Decides: the order of an update that includes kraft.version. Must not know: which levels exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metadata_log.image.features import KRAFT_VERSION
from metadata_log.offsets import Offset
from quorum.api.cluster import DescribeCluster
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpgradeType
from quorum.api.voter_messages import UpgradeKRaftVersionRequest
from quorum.client.arguments import in_ms
from quorum.client.client import DEFAULT_TIMEOUT_S, Client
from quorum.client.errors import UnavailableError
from quorum.client.quorum_status import address_of_node


@dataclass(frozen=True)
class FeatureMetadata:
    """The levels of features in the image of one controller.

    Attributes:
        finalized_features: the levels above 0, by name.
        finalized_features_epoch: the offset of the last record in the image.
        supported_features: the lowest and the highest level that this controller supports, by name.
        node_id: the id of this controller.
    """

    finalized_features: dict[str, int]
    finalized_features_epoch: int
    supported_features: dict[str, tuple[int, int]]
    node_id: int


async def describe_features(
    client: Client, *, node_id: int | None, at_least_offset: Offset | None, timeout_s: float | None
) -> FeatureMetadata:
    """See `Admin.describe_features`."""
    address = None if node_id is None else await _address(client, node_id, timeout_s)
    response = await client.ask(
        DescribeCluster(),
        address=address,
        at_least_offset=at_least_offset,
        timeout_s=timeout_s,
    )
    if node_id not in (None, response.node_id):
        raise UnavailableError(f"node {node_id}: node {response.node_id} answers at its address, {address}")
    return FeatureMetadata(
        finalized_features={each.name: each.level for each in response.finalized_features},
        finalized_features_epoch=response.finalized_features_epoch,
        supported_features={
            each.name: (each.min_supported_version, each.max_supported_version) for each in response.supported_features
        },
        node_id=response.node_id,
    )


async def _address(client: Client, node_id: int, timeout_s: float | None) -> str:
    address = address_of_node(await client.describe_quorum(timeout_s=timeout_s), node_id)
    if address is None:
        cluster = await client.ask(DescribeCluster(), timeout_s=timeout_s)
        if any(each.broker_id == node_id for each in cluster.brokers):
            raise UnavailableError(f"node {node_id}: it is a broker, and only controllers are asked")
        raise UnavailableError(f"node {node_id}: the quorum names no controller of this id with a GRPC address")
    return address


async def update_features(
    client: Client,
    levels: Mapping[str, int],
    *,
    upgrade_type: UpgradeType,
    validate_only: bool,
    timeout_s: float | None,
) -> None:
    """See `Admin.update_features`."""
    kraft_version = levels.get(KRAFT_VERSION)
    others = {name: level for name, level in levels.items() if name != KRAFT_VERSION}
    # kraft.version cannot be lowered again: validate all levels first, so that a rejected one leaves it unchanged.
    if kraft_version is not None:
        if others:
            await _update(client, levels, upgrade_type, validate_only=True, timeout_s=timeout_s)
        request = UpgradeKRaftVersionRequest(kraft_version=kraft_version, validate_only=validate_only)
        await client.change_voters(request, timeout_s=timeout_s)
    if others and not (kraft_version is not None and validate_only):
        await _update(client, others, upgrade_type, validate_only=validate_only, timeout_s=timeout_s)


async def _update(
    client: Client,
    levels: Mapping[str, int],
    upgrade_type: UpgradeType,
    *,
    validate_only: bool,
    timeout_s: float | None,
) -> None:
    request = UpdateFeatures(
        updates=tuple(
            FeatureUpdate(name=name, level=level, upgrade_type=upgrade_type) for name, level in levels.items()
        ),
        validate_only=validate_only,
        timeout_ms=in_ms(DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s),
    )
    await client.ask(request, timeout_s=timeout_s)
