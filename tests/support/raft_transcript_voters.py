"""Transcript commands about voters (KIP-853), and the replicas that all transcripts name."""

from __future__ import annotations

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import Request
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.raft.control_batches import voters_batch


def key_of(node_id: int, directory: str | None = None) -> ReplicaKey:
    """Return the replica key of this node id in every transcript; `directory`: another number than its own, 0 for
    none."""
    number = node_id if directory is None else int(directory)
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([number]) * 16))


def endpoints_of(node_id: int) -> tuple[Endpoint, ...]:
    """Return the endpoints of this node."""
    return (Endpoint(name="GRPC", host=f"n{node_id}", port=9094),)


class VoterCommands:
    """Requests about voters, which the transcript feeds to its replica."""

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """Receive a peer's request under `id=`."""
        raise NotImplementedError

    def do_add(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive an AddRaftVoter of `voter=`, with the usual listener or one `named=`; `ack` at once, `dry`."""
        node_id = int(named["voter"])
        at = endpoints_of(node_id)
        request = AddRaftVoterRequest(
            voter=key_of(node_id, named.get("dir")),
            endpoints=(Endpoint(name=named["named"], host="h", port=1),) if "named" in named else at,
            ack_when_committed="ack" not in flags,
            validate_only="dry" in flags,
        )
        return self.request(named, request)

    def do_remove(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a RemoveRaftVoter of `voter=`, with directory `dir=`; `dry`; if a `majority` is left; if it is
        `silent`."""
        request = RemoveRaftVoterRequest(
            voter=key_of(int(named["voter"]), named.get("dir")),
            validate_only="dry" in flags,
            keeps_majority="majority" in flags,
            only_if_unreachable="silent" in flags,
        )
        return self.request(named, request)

    def do_update(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive an UpdateRaftVoter: `from=`, `epoch=`, `port=`, `max=` the highest supported kraft.version."""
        node_id = int(named["from"])
        voter = Voter(
            key=key_of(node_id, named.get("dir")),
            endpoints=(Endpoint(name="GRPC", host=f"n{node_id}", port=int(named.get("port", "9094"))),),
            max_kraft_version=int(named.get("max", "1")),
        )
        request = UpdateRaftVoterRequest(current_leader_epoch=Epoch(int(named["epoch"])), voter=voter)
        return self.request(named, request)

    def do_upgrade(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive an UpgradeKRaftVersion to `to=`; `dry`."""
        version = int(named.get("to", "1"))
        return self.request(named, UpgradeKRaftVersionRequest(kraft_version=version, validate_only="dry" in flags))

    def do_versions(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive an ApiVersions request."""
        return self.request(named, ApiVersionsRequest())


def voters_record(named: dict[str, str], base_offset: Offset, epoch: Epoch, timestamp_ms: int) -> bytes:
    """Return a batch with a VotersRecord; in `voters=1,2:9`, voter 2 has directory 9."""
    voters = []
    for part in named["voters"].split(","):
        n, _, directory = part.partition(":")
        voters.append(Voter(key=key_of(int(n), directory or None), endpoints=endpoints_of(int(n))))
    return voters_batch(
        base_offset=base_offset,
        epoch=epoch,
        timestamp_ms=timestamp_ms,
        voters=VoterSet.of(voters),
        kraft_version=None,
    ).data


def versions_answer(named: dict[str, str], flags: set[str], error: Error, epoch: Epoch) -> ApiVersionsResponse:
    """Return an ApiVersions response: node `is=`, directory `dir=`, `max=` kraft.version; `broker`: it is no
    controller."""
    return ApiVersionsResponse(
        error=error,
        leader_epoch=epoch,
        replica=key_of(int(named["is"]), named.get("dir")) if "is" in named else None,
        can_vote="broker" not in flags,
        max_kraft_version=int(named.get("max", "1")),
    )
