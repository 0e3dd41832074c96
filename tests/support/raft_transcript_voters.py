"""The commands of a transcript that are about who votes (KIP-853), and the replicas that all transcripts name."""

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
    """The replica of that node id, in every transcript; `directory`: another number than its own, 0 for none."""
    number = node_id if directory is None else int(directory)
    return ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([number]) * 16))


def endpoints_of(node_id: int) -> tuple[Endpoint, ...]:
    """Where it listens."""
    return (Endpoint(name="GRPC", host=f"n{node_id}", port=9094),)


class VoterCommands:
    """Requests about voters; the transcript feeds them to its replica."""

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """A peer asks, as request `id=`."""
        raise NotImplementedError

    def do_add(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """AddRaftVoter of `voter=`, listening as all do or at a listener `named=`; `ack` at once, `dry`."""
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
        """RemoveRaftVoter of `voter=`, with directory `dir=`; `dry`; if a `majority` is left; if it is `silent`."""
        request = RemoveRaftVoterRequest(
            voter=key_of(int(named["voter"]), named.get("dir")),
            validate_only="dry" in flags,
            keeps_majority="majority" in flags,
            only_if_silent="silent" in flags,
        )
        return self.request(named, request)

    def do_update(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """UpdateRaftVoter from `from=` in `epoch=`, now at `port=`, supporting kraft.version up to `max=`."""
        node_id = int(named["from"])
        voter = Voter(
            key=key_of(node_id, named.get("dir")),
            endpoints=(Endpoint(name="GRPC", host=f"n{node_id}", port=int(named.get("port", "9094"))),),
            max_kraft_version=int(named.get("max", "1")),
        )
        request = UpdateRaftVoterRequest(current_leader_epoch=Epoch(int(named["epoch"])), voter=voter)
        return self.request(named, request)

    def do_upgrade(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """UpgradeKRaftVersion to `to=`; `dry`."""
        version = int(named.get("to", "1"))
        return self.request(named, UpgradeKRaftVersionRequest(kraft_version=version, validate_only="dry" in flags))

    def do_versions(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """ApiVersions."""
        return self.request(named, ApiVersionsRequest())


def voters_record(named: dict[str, str], base_offset: Offset, epoch: Epoch, timestamp_ms: int) -> bytes:
    """`voters=1,2:9`: a batch with a VotersRecord of these, 2 with directory 9."""
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
    """`is=` who answers, with directory `dir=`, of kraft.version up to `max=`; `broker`: it is no controller."""
    return ApiVersionsResponse(
        error=error,
        leader_epoch=epoch,
        replica=key_of(int(named["is"]), named.get("dir")) if "is" in named else None,
        can_vote="broker" not in flags,
        max_kraft_version=int(named.get("max", "1")),
    )
