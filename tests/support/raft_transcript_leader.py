"""The commands of a transcript that ask a leader for more than its log: to prove that it leads, to hand over."""

from __future__ import annotations

from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch
from quorum.api.raft_messages import Request
from quorum.api.transfer_messages import TransferLeadershipRequest
from quorum.raft.inputs import AskReadBarrier, Input


class LeaderCommands:
    """The transcript feeds them to its replica."""

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """A peer asks, as request `id=`."""
        raise NotImplementedError

    def feed(self, received: Input) -> list[str]:
        """Give it an input; what came of it."""
        raise NotImplementedError

    def do_barrier(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Prove the leadership of `epoch=` for the reads up to `token=`."""
        return self.feed(AskReadBarrier(epoch=Epoch(int(named["epoch"])), token=int(named["token"])))

    def do_transfer(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Hand leadership over, `to=` that voter or any, within `ms=`."""
        to = NodeId(int(named["to"])) if "to" in named else None
        return self.request(named, TransferLeadershipRequest(to=to, timeout_ms=int(named.get("ms", "5000"))))
