"""Records of the cluster as a whole: configs, feature levels, quotas, producer ids, transactions of the log itself."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from metadata_log.ids import NodeId
from metadata_log.records.wire import Wire


class ConfigRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One config of one resource; a value of None removes it (KIP-631).

    `resource_type`: 2 topic, 4 broker (an empty name: the cluster's default), 8 broker logger, 16 client metrics, 32
    group.
    """

    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[range] = range(1)

    resource_type: Annotated[int, Wire("int8")]
    resource_name: Annotated[str, Wire("string")]
    name: Annotated[str, Wire("string")]
    value: Annotated[str | None, Wire("string?")]


class FeatureLevelRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The finalised level of a feature; level 0 removes it (KIP-584, KIP-778)."""

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[range] = range(1)

    name: Annotated[str, Wire("string")]
    feature_level: Annotated[int, Wire("int16")]


class EntityData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of a quota's entity: `user`, `client-id` or `ip`, and its name; None is the default of that type."""

    entity_type: Annotated[str, Wire("string")]
    entity_name: Annotated[str | None, Wire("string?")]


class ClientQuotaRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One quota of one entity, set or removed (KIP-546)."""

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[range] = range(1)

    entity: Annotated[tuple[EntityData, ...], Wire("[]struct")]
    key: Annotated[str, Wire("string")]
    value: Annotated[float, Wire("float64")]
    remove: Annotated[bool, Wire("bool")]


class ProducerIdsRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A block of producer ids given to a broker: the next block begins at `next_producer_id` (KIP-730)."""

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[range] = range(1)

    broker_id: Annotated[NodeId, Wire("int32")]
    broker_epoch: Annotated[int, Wire("int64")] = -1
    next_producer_id: Annotated[int, Wire("int64")]


class NoOpRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nothing: the leader writes it so that the high watermark moves (KIP-835)."""

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[range] = range(1)


class ZkMigrationStateRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of a migration from ZooKeeper (KIP-866): 0 none, 1 pre-migration, 2 migration, 3 post-migration."""

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[range] = range(1)

    zk_migration_state: Annotated[int, Wire("int8")]


class BeginTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From here on nothing takes effect before EndTransaction (KIP-868)."""

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[range] = range(1)

    name: Annotated[str | None, Wire("string?", tag=0)] = None


class EndTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All records since BeginTransaction take effect (KIP-868)."""

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[range] = range(1)


class AbortTransactionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """None of the records since BeginTransaction takes effect (KIP-868)."""

    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[range] = range(1)

    reason: Annotated[str | None, Wire("string?", tag=0)] = None
