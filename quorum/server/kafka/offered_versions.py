"""The Kafka APIs and versions that a listener serves, and that its ApiVersions response offers.

Source: the versions of Kafka 4.4's controllers (KIP-896 dropped the older ones), at every metadata.version. Fetch has
the versions of KRaft's brokers since 3.3. From version 16 on, a response has the leader's endpoint (KIP-853); without
it, a broker of 3.9 or newer shuts down. Versions 12 to 15 are those of 3.3 to 3.6, which take the endpoint from
controller.quorum.voters.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Offered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One API and its versions.

    Attributes:
        name: in kio's spelling.
        first: the first version.
        last: the last version.
        is_forwardable: True if a broker may forward it in an Envelope.
        first_throttled: the first version with the error THROTTLING_QUOTA_EXCEEDED (KIP-599).
    """

    name: str
    first: int
    last: int
    is_forwardable: bool = False
    first_throttled: int = 0

    @property
    def versions(self) -> range:
        """All versions."""
        return range(self.first, self.last + 1)


OFFERED: Final[dict[int, Offered]] = {
    1: Offered(name="fetch", first=12, last=18),
    18: Offered(name="api_versions", first=0, last=5),
    19: Offered(name="create_topics", first=2, last=7, is_forwardable=True, first_throttled=6),
    20: Offered(name="delete_topics", first=1, last=6, is_forwardable=True, first_throttled=5),
    29: Offered(name="describe_acls", first=1, last=3),
    30: Offered(name="create_acls", first=1, last=3, is_forwardable=True),
    31: Offered(name="delete_acls", first=1, last=3, is_forwardable=True),
    32: Offered(name="describe_configs", first=1, last=4),
    33: Offered(name="alter_configs", first=0, last=2, is_forwardable=True),
    37: Offered(name="create_partitions", first=0, last=3, is_forwardable=True, first_throttled=3),
    38: Offered(name="create_delegation_token", first=1, last=3, is_forwardable=True),
    39: Offered(name="renew_delegation_token", first=1, last=2, is_forwardable=True),
    40: Offered(name="expire_delegation_token", first=1, last=2, is_forwardable=True),
    43: Offered(name="elect_leaders", first=0, last=2, is_forwardable=True),
    44: Offered(name="incremental_alter_configs", first=0, last=1, is_forwardable=True),
    45: Offered(name="alter_partition_reassignments", first=0, last=1, is_forwardable=True),
    46: Offered(name="list_partition_reassignments", first=0, last=0, is_forwardable=True),
    52: Offered(name="vote", first=0, last=2),
    53: Offered(name="begin_quorum_epoch", first=0, last=1),
    54: Offered(name="end_quorum_epoch", first=0, last=1),
    49: Offered(name="alter_client_quotas", first=0, last=1, is_forwardable=True),
    51: Offered(name="alter_user_scram_credentials", first=0, last=0, is_forwardable=True),
    55: Offered(name="describe_quorum", first=0, last=2, is_forwardable=True),
    56: Offered(name="alter_partition", first=2, last=3),
    57: Offered(name="update_features", first=0, last=2, is_forwardable=True),
    58: Offered(name="envelope", first=0, last=0),
    59: Offered(name="fetch_snapshot", first=0, last=1),
    60: Offered(name="describe_cluster", first=0, last=2),
    62: Offered(name="broker_registration", first=0, last=4),
    63: Offered(name="broker_heartbeat", first=0, last=2),
    64: Offered(name="unregister_broker", first=0, last=0, is_forwardable=True),
    67: Offered(name="allocate_producer_ids", first=0, last=0),
    70: Offered(name="controller_registration", first=0, last=0),
    73: Offered(name="assign_replicas_to_dirs", first=0, last=0),
    80: Offered(name="add_raft_voter", first=0, last=1, is_forwardable=True),
    81: Offered(name="remove_raft_voter", first=0, last=0, is_forwardable=True),
    82: Offered(name="update_raft_voter", first=0, last=0),
    94: Offered(name="unregister_controller", first=0, last=0, is_forwardable=True),
}
"""The offered APIs by key."""
