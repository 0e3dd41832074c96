"""One request of every API and version that controllers send each other, with a value in every field."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from tests.support.kafka_wire import requests_of

ID: Final = uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
OTHER_ID: Final = uuid.UUID(int=0x2234567890ABCDEF1234567890ABCDEF)
CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"


def only(kind: Any, **values: Any) -> Any:
    """Return kio's entity with those of the values that its version has."""
    known = kind.__dataclass_fields__
    return kind(**{name: value for name, value in values.items() if name in known})


def _of_election(key: int, version: int, name: str, words: dict[str, Any]) -> Any:
    module = requests_of(key, version)
    words = {
        "partition_index": 0,
        "topic_name": "__cluster_metadata",
        "cluster_id": CLUSTER_ID,
        "voter_id": 3,
        "voter_directory_id": OTHER_ID,
        "leader_id": 2,
        "leader_epoch": 5,
        **words,
    }
    if hasattr(module, "LeaderEndpoint"):
        words["leader_endpoints"] = (module.LeaderEndpoint(name="CONTROLLER", host="c2", port=9093),)
    partitions = (only(module.PartitionData, **words),)
    topics = (only(module.TopicData, **{"partitions": partitions, **words}),)
    return only(getattr(module, name), **{"topics": topics, **words})


def vote(version: int, **changes: Any) -> Any:
    """Return a Vote of candidate 2; `changes` apply to the field of that name, in any part."""
    words = {
        "replica_epoch": 5,
        "replica_id": 2,
        "replica_directory_id": ID,
        "last_offset_epoch": 4,
        "last_offset": 17,
        "pre_vote": True,
        **changes,
    }
    return _of_election(52, version, "VoteRequest", words)


def begin_quorum_epoch(version: int, **changes: Any) -> Any:
    """Return a BeginQuorumEpoch of leader 2."""
    return _of_election(53, version, "BeginQuorumEpochRequest", changes)


def end_quorum_epoch(version: int, **changes: Any) -> Any:
    """Return an EndQuorumEpoch of leader 2 with the preferred successors 3, then 1."""
    words: dict[str, Any] = {"preferred_successors": (3, 1), **changes}
    if version > 0:
        info = requests_of(54, version).ReplicaInfo
        words["preferred_candidates"] = (
            info(candidate_id=3, candidate_directory_id=OTHER_ID),
            info(candidate_id=1, candidate_directory_id=None),
        )
    return _of_election(54, version, "EndQuorumEpochRequest", words)


def controller_registration(version: int = 0) -> Any:
    """Return a registration of controller 4."""
    module = requests_of(70, version)
    return module.ControllerRegistrationRequest(
        controller_id=4,
        incarnation_id=ID,
        zk_migration_ready=False,
        listeners=(module.Listener(name="CONTROLLER", host="c4", port=9093, security_protocol=0),),
        features=(module.Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),),
    )


def _about_voter(key: int, version: int, name: str, **words: Any) -> Any:
    module = requests_of(key, version)
    if hasattr(module, "Listener"):
        words["listeners"] = (
            module.Listener(name="CONTROLLER", host="c4", port=9093),
            module.Listener(name="GRPC", host="c4", port=9094),
        )
    if hasattr(module, "KRaftVersionFeature"):
        words["k_raft_version_feature"] = module.KRaftVersionFeature(min_supported_version=0, max_supported_version=1)
    words = {"cluster_id": CLUSTER_ID, "voter_id": 4, "voter_directory_id": ID, **words}
    return only(getattr(module, name), **words)


def add_raft_voter(version: int) -> Any:
    """Return an AddRaftVoter of controller 4, with a response before the commit if the version has that field."""
    return _about_voter(
        80, version, "AddRaftVoterRequest", timeout=timedelta(milliseconds=900), ack_when_committed=False
    )


def remove_raft_voter(version: int = 0) -> Any:
    """Return a RemoveRaftVoter of controller 4."""
    return _about_voter(81, version, "RemoveRaftVoterRequest")


def update_raft_voter(version: int = 0) -> Any:
    """Return an UpdateRaftVoter of controller 4."""
    return _about_voter(82, version, "UpdateRaftVoterRequest", current_leader_epoch=5)


VOTER_SAMPLES: Final[dict[int, Callable[[int], Any]]] = {
    52: vote,
    53: begin_quorum_epoch,
    54: end_quorum_epoch,
    70: controller_registration,
    80: add_raft_voter,
    81: remove_raft_voter,
    82: update_raft_voter,
}
