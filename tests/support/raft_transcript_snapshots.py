"""Transcript commands about snapshots (KIP-630)."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import FetchSnapshotRequest, FetchSnapshotResponse, Request
from quorum.raft.config import Snapshot
from quorum.raft.inputs import ChunkStored, Input, LogTrimmed, SnapshotChecked, SnapshotTaken
from tests.support.raft_transcript_voters import endpoints_of, key_of


def position_of(text: str) -> OffsetAndEpoch:
    """Parse `offset@epoch`."""
    offset, epoch = text.split("@")
    return OffsetAndEpoch(offset=Offset(int(offset)), epoch=Epoch(int(epoch)))


class SnapshotCommands:
    """Commands about snapshots."""

    def feed(self, received: Input) -> list[str]:
        """Give the replica an input."""
        raise NotImplementedError

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """Give the replica a request."""
        raise NotImplementedError

    def do_stored(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Report that the chunk of the snapshot received as `serial=` is in its file."""
        return self.feed(ChunkStored(serial=int(named["serial"])))

    def do_checked(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Report that the snapshot received as `serial=` is valid and names `voters=`; or `broken`."""
        ids = [int(n) for n in named.get("voters", "").split(",") if n]
        voters = VoterSet.of(Voter(key=key_of(n), endpoints=endpoints_of(n)) for n in ids) if ids else None
        fault = "it is torn" if "broken" in flags else None
        return self.feed(SnapshotChecked(serial=int(named["serial"]), fault=fault, voters=voters))

    def do_taken(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Report that a local snapshot is durable: `end=`, 100 bytes."""
        return self.feed(SnapshotTaken(snapshot=Snapshot(id=position_of(named["end"]), size=100)))

    def do_trimmed(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Report that the log begins at the snapshot `to=`."""
        return self.feed(LogTrimmed(start=position_of(named["to"])))

    def do_snapshot(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a FetchSnapshot: `from=`, `epoch=`, `of=offset@epoch`, `position=`, `max=`."""
        return self.request(
            named,
            FetchSnapshotRequest(
                replica=key_of(int(named["from"])),
                current_leader_epoch=Epoch(int(named["epoch"])),
                snapshot_id=position_of(named["of"]),
                position=int(named.get("position", "0")),
                max_bytes=int(named.get("max", "60")),
            ),
        )


def piece_of(
    request: FetchSnapshotRequest,
    named: dict[str, str],
    error: Error,
    leader: NodeId,
    epoch: Epoch,
    where: tuple[Endpoint, ...],
) -> FetchSnapshotResponse:
    """Return a response to FetchSnapshot."""
    return FetchSnapshotResponse(
        error=error,
        leader_id=leader,
        leader_epoch=epoch,
        leader_endpoints=where,
        snapshot_id=position_of(named["of"]) if "of" in named else request.snapshot_id,
        size=int(named.get("size", "100")),
        position=int(named.get("position", str(request.position))),
        data=bytes(int(named.get("bytes", "0"))),
    )
