"""The controller's configuration: its identity, defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.ids import NodeId
from quorum.controller.tokens import TokenSettings


class Setting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One key of this node's own configuration, for DescribeConfigs. Its text form hides the value."""

    value: str | None
    """The configured text, or None if the key is not set."""
    default: str | None
    kind: int
    """The type's number, see `configs.defaults`."""

    def __repr__(self) -> str:
        return "Setting(hidden)"


class ControllerConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Settings of one controller. All controllers of a quorum have the same, unless an operator is changing them."""

    node_id: int
    cluster_id: str
    session_timeout_ms: int = 9_000
    """`broker.session.timeout.ms`: a broker silent for longer is fenced."""
    default_num_partitions: int = 1
    """`num.partitions`."""
    default_replication_factor: int = 1
    """`default.replication.factor`."""
    max_records_per_batch: int = 10_000
    """The most records, partitions or other items of a user's request: the controller handles so many in some tenths
    of a second."""
    max_records_per_sweep: int = 500
    """The most partitions that one turn changes for a broker that came or went; later turns change the rest. So many
    take about 10 ms, during which requests wait."""
    quorum_node_ids: frozenset[int] = frozenset()
    """The static voters of `controller.quorum.voters`: before a feature changes, each of them must be registered."""
    kraft_version: int = 1
    """The finalized `kraft.version`; it is in a control record and not in the image."""
    living_controllers: frozenset[NodeId] | None = None
    """Voters, and controllers heard within the session timeout: each must support a new level of a feature. None:
    every registered controller must."""
    delete_topic_enable: bool = True
    """`delete.topic.enable`."""
    unclean_leader_election_enable: bool = False
    """`unclean.leader.election.enable`, if neither topic nor cluster sets it."""
    unclean_leader_election_interval_ms: int = 300_000
    """`unclean.leader.election.interval.ms`: the interval of elections for leaderless partitions."""
    leader_imbalance_check_interval_ms: int | None = 300_000
    """`leader.imbalance.check.interval.seconds`: the interval of preferred elections; None: never
    (`auto.leader.rebalance.enable=false`)."""
    max_idle_interval_ms: int | None = 500
    """`metadata.max.idle.interval.ms`: without an append for so long, a NoOp is appended (KIP-835); None: never."""
    mutation_burst_s: int = 11
    """`controller.quota.window.num` times `controller.quota.window.size.seconds`: a client may spend the
    `controller_mutation_rate` of so many seconds at once."""
    min_insync_replicas: int = 1
    """`min.insync.replicas`, if neither topic nor cluster sets it."""
    settings: Mapping[str, Setting] = msgspec.field(default_factory=dict)
    """All keys of this node's configuration."""
    tokens: TokenSettings | None = None
    """None if `delegation.token.secret.key` is not set: delegation tokens are then disabled."""
    remote_log_storage_system_enable: bool = False
    """`remote.log.storage.system.enable`: True if a topic may have `remote.storage.enable=true`."""
