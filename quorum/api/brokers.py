"""RegisterBroker, BrokerHeartbeat and UnregisterBroker with their responses (KIP-631, KIP-841, KIP-858)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import DirectoryId, Uuid
from quorum.api.error_codes import Error
from quorum.api.request import Request


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An endpoint of a node. Security protocols: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


class FeatureRange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The levels of a feature that a node can run, both ends included."""

    name: str
    min_supported_version: int
    max_supported_version: int


class RegisterBroker(Request["RegisterBrokerResponse"], frozen=True, kw_only=True, gc=False):
    """A broker registers itself; each start of its process makes a new `incarnation_id`."""

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    listeners: tuple[Listener, ...]
    features: tuple[FeatureRange, ...]
    rack: str | None = None
    log_dirs: tuple[DirectoryId, ...] = ()
    previous_broker_epoch: int = -1
    """The broker epoch of its previous run if that ended with a clean shutdown, otherwise -1 (KIP-966)."""

    def rejected(self, error: Error, message: str | None = None) -> RegisterBrokerResponse:
        """Return the response that rejects the whole request."""
        return RegisterBrokerResponse(error=error, error_message=message)


class RegisterBrokerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`broker_epoch`: the offset of this process's first RegisterBrokerRecord; -1 on error.

    Kafka's controllers return the offset of that record's batch, which may be lower.
    """

    error: Error = Error.NONE
    broker_epoch: int = -1
    error_message: str | None = None


class BrokerHeartbeat(Request["BrokerHeartbeatResponse"], frozen=True, kw_only=True, gc=False):
    """A broker's heartbeat, with the state that it wants."""

    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    """The last offset that the broker has applied."""
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: tuple[DirectoryId, ...] = ()
    cordoned_log_dirs: tuple[DirectoryId, ...] | None = None
    """Directories that take no new replicas (KIP-1066); None from a broker that has not caught up yet."""

    def rejected(self, error: Error, message: str | None = None) -> BrokerHeartbeatResponse:
        """Return the response that rejects the whole request."""
        return BrokerHeartbeatResponse(error=error, error_message=message)


class BrokerHeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The broker's state according to the controller."""

    error: Error = Error.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
    error_message: str | None = None


class UnregisterBroker(Request["UnregisterBrokerResponse"], frozen=True, kw_only=True, gc=False):
    """Remove a broker's registration, because it is gone or its id shall be free. Its replicas stay assigned to that
    id."""

    broker_id: int

    def rejected(self, error: Error, message: str | None = None) -> UnregisterBrokerResponse:
        """Return the response that rejects the whole request."""
        return UnregisterBrokerResponse(error=error, error_message=message)


class UnregisterBrokerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The response to UnregisterBroker."""

    error: Error = Error.NONE
    error_message: str | None = None
