"""What the controller must be told: its identity, defaults and bounds."""

from __future__ import annotations

import msgspec


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
    """No request of a user may need more records, nor ask for more partitions."""
    max_records_per_sweep: int = 500
    """How many partitions one turn may change for a broker that came or went; the rest follows in the next turns. So
    many are worked out, written and replayed in about 10 ms, for which requests then wait."""
    kraft_version: int = 1
    """The finalised `kraft.version`, which stands among the control records and not in the image."""
    delete_topic_enable: bool = True
    """`delete.topic.enable`."""
    unclean_leader_election_enable: bool = False
    """`unclean.leader.election.enable`, where neither topic nor cluster sets it."""
    min_insync_replicas: int = 1
    """`min.insync.replicas`, where neither topic nor cluster sets it."""
