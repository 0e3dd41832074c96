"""Transcript commands for a leader: prove leadership for a read, transfer leadership."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from quorum.api.raft_messages import Request
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.raft.inputs import AskReadBarrier, Input


class LeaderCommands:
    """Commands that the transcript feeds to its replica."""

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """Receive a peer's request under `id=`."""
        raise NotImplementedError

    def feed(self, received: Input) -> list[str]:
        """Give it an input; return the result as lines."""
        raise NotImplementedError

    def do_barrier(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Prove the leadership of `epoch=` for the reads up to `token=`."""
        return self.feed(AskReadBarrier(epoch=Epoch(int(named["epoch"])), token=int(named["token"])))

    def do_transfer(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Transfer leadership to `to=` that voter, or to any, within `ms=`."""
        to = NodeId(int(named["to"])) if "to" in named else None
        return self.request(named, TransferLeadershipRequest(to=to, timeout_ms=int(named.get("ms", "5000"))))
