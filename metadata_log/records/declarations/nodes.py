"""Records of brokers and controllers: registration, what changes it, its end; and the feature levels all of them run
at.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from metadata_log.ids import DirectoryId, NodeId, Uuid
from metadata_log.records.wire import Wire


class BrokerEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One listener of a broker. `security_protocol`: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: Annotated[str, Wire("string")]
    host: Annotated[str, Wire("string")]
    port: Annotated[int, Wire("uint16")]
    security_protocol: Annotated[int, Wire("int16")]


class BrokerFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feature and the levels of it that a broker supports, both ends included."""

    name: Annotated[str, Wire("string")]
    min_supported_version: Annotated[int, Wire("int16")]
    max_supported_version: Annotated[int, Wire("int16")]


class RegisterBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A broker's registration, which replaces the one before it (KIP-631; `log_dirs` KIP-858; `cordoned_log_dirs`
    since 4.3).

    `broker_epoch` is the offset of the process's first record, or of that record's batch.
    `cordoned_log_dirs` None: the broker has not said.
    """

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[range] = range(5)

    broker_id: Annotated[NodeId, Wire("int32")]
    is_migrating_zk_broker: Annotated[bool, Wire("bool", since=2)] = False
    incarnation_id: Annotated[Uuid, Wire("uuid")]
    broker_epoch: Annotated[int, Wire("int64")]
    end_points: Annotated[tuple[BrokerEndpoint, ...], Wire("[]struct")]
    features: Annotated[tuple[BrokerFeature, ...], Wire("[]struct")]
    rack: Annotated[str | None, Wire("string?")]
    fenced: Annotated[bool, Wire("bool")] = True
    in_controlled_shutdown: Annotated[bool, Wire("bool", since=1)] = False
    log_dirs: Annotated[tuple[DirectoryId, ...], Wire("[]uuid", since=3, tag=0)] = ()
    cordoned_log_dirs: Annotated[tuple[DirectoryId, ...] | None, Wire("[]uuid?", since=4, tag=1)] = None


class UnregisterBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of the registration with this epoch (KIP-631)."""

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[range] = range(1)

    broker_id: Annotated[NodeId, Wire("int32")]
    broker_epoch: Annotated[int, Wire("int64")]


class FenceBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fences a broker; since 3.3-IV2 BrokerRegistrationChange is written instead (KIP-631)."""

    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[range] = range(1)

    id: Annotated[NodeId, Wire("int32")]
    epoch: Annotated[int, Wire("int64")]


class UnfenceBrokerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Unfences a broker; since 3.3-IV2 BrokerRegistrationChange is written instead (KIP-631)."""

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[range] = range(1)

    id: Annotated[NodeId, Wire("int32")]
    epoch: Annotated[int, Wire("int64")]


class BrokerRegistrationChangeRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change to a registration that keeps its epoch (KIP-841; `log_dirs` KIP-858; `cordoned_log_dirs` since 4.3).

    `fenced`: -1 unfences, 0 leaves as it is, 1 fences. `in_controlled_shutdown`: 0 leaves as it is, 1 enters.
    `log_dirs` empty and `cordoned_log_dirs` None leave as it is.
    """

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[range] = range(4)

    broker_id: Annotated[NodeId, Wire("int32")]
    broker_epoch: Annotated[int, Wire("int64")]
    fenced: Annotated[int, Wire("int8", tag=0)] = 0
    in_controlled_shutdown: Annotated[int, Wire("int8", since=1, tag=1)] = 0
    log_dirs: Annotated[tuple[DirectoryId, ...], Wire("[]uuid", since=2, tag=2)] = ()
    cordoned_log_dirs: Annotated[tuple[DirectoryId, ...] | None, Wire("[]uuid?", since=3, tag=3)] = None


class ControllerEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One listener of a controller; `security_protocol` as in `BrokerEndpoint`."""

    name: Annotated[str, Wire("string")]
    host: Annotated[str, Wire("string")]
    port: Annotated[int, Wire("uint16")]
    security_protocol: Annotated[int, Wire("int16")]


class ControllerFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A feature and the levels of it that a controller supports, both ends included."""

    name: Annotated[str, Wire("string")]
    min_supported_version: Annotated[int, Wire("int16")]
    max_supported_version: Annotated[int, Wire("int16")]


class RegisterControllerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A controller's registration, which replaces the one before it (KIP-919)."""

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[range] = range(1)

    controller_id: Annotated[NodeId, Wire("int32")]
    incarnation_id: Annotated[Uuid, Wire("uuid")]
    zk_migration_ready: Annotated[bool, Wire("bool")]
    end_points: Annotated[tuple[ControllerEndpoint, ...], Wire("[]struct")]
    features: Annotated[tuple[ControllerFeature, ...], Wire("[]struct")]


class UnregisterControllerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a controller's registration, written from 4.4-IV2 on (KIP-1312)."""

    API_KEY: ClassVar[int] = 29
    VERSIONS: ClassVar[range] = range(1)

    controller_id: Annotated[NodeId, Wire("int32")]
