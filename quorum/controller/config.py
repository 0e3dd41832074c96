"""What the controller must be told: its identity, defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.ids import NodeId
from quorum.controller.tokens import TokenSettings


class Setting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One key of this node's own configuration, for DescribeConfigs. Its text form hides the value."""

    value: str | None
    """As it was given; None when it was not."""
    default: str | None
    kind: int
    """`configs.defaults` has the numbers."""

    def __repr__(self) -> str:
        return "Setting(hidden)"


class ControllerConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Settings of one controller; the same on all of a quorum unless an operator is changing them."""

    node_id: int
    cluster_id: str
    session_timeout_ms: int = 9_000
    """`broker.session.timeout.ms`: a broker silent for longer is fenced."""
    default_num_partitions: int = 1
    """`num.partitions`."""
    default_replication_factor: int = 1
    """`default.replication.factor`."""
    max_records_per_batch: int = 10_000
    """No request of a user may need more records, ask for more partitions, or be about more of anything: so much is
    looked at and answered in some tenths of a second."""
    max_records_per_sweep: int = 500
    """How many partitions one turn may change for a broker that came or went; the rest follows in the next turns. So
    many are worked out, written and replayed in about 10 ms, for which requests then wait."""
    quorum_node_ids: frozenset[int] = frozenset()
    """The static voters of `controller.quorum.voters`: before a feature changes, each of them must be registered."""
    kraft_version: int = 1
    """The finalised `kraft.version`, which stands among the control records and not in the image."""
    living_controllers: frozenset[NodeId] | None = None
    """Voters, and the controllers that were heard within the session timeout: each must support a new level of a
    feature. None: every registered one counts as such."""
    delete_topic_enable: bool = True
    """`delete.topic.enable`."""
    unclean_leader_election_enable: bool = False
    """`unclean.leader.election.enable`, where neither topic nor cluster sets it."""
    unclean_leader_election_interval_ms: int = 300_000
    """`unclean.leader.election.interval.ms`: how often partitions without a leader are looked at again."""
    leader_imbalance_check_interval_ms: int | None = 300_000
    """`leader.imbalance.check.interval.seconds`: how often leaders go back to the first replica; None: never
    (`auto.leader.rebalance.enable=false`)."""
    max_idle_interval_ms: int | None = 500
    """`metadata.max.idle.interval.ms`: a NoOp follows when nothing was appended for so long (KIP-835); None: never."""
    mutation_burst_s: int = 11
    """`controller.quota.window.num` times `controller.quota.window.size.seconds`: of how many seconds a client may use
    up its `controller_mutation_rate` at once."""
    min_insync_replicas: int = 1
    """`min.insync.replicas`, where neither topic nor cluster sets it."""
    settings: Mapping[str, Setting] = msgspec.field(default_factory=dict)
    """All keys of this node's configuration."""
    tokens: TokenSettings | None = None
    """None where `delegation.token.secret.key` is not set: there are no delegation tokens."""
    remote_log_storage_system_enable: bool = False
    """`remote.log.storage.system.enable`: whether a topic may have `remote.storage.enable=true`."""
