"""Transcripts: commands to one replica and their results, as text that a reader can follow.

A line of the file that begins with `> ` is a command. The lines up to the next command are its result: each write, each
effect (`now`, or `after #token`), then the replica's own description. Everything else is comment. `python -m
tests.support.raft_transcript FILE...` rewrites the results; a reviewer judges the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.format.batch import build_batch
from metadata_log.format.epochs import EpochHistory
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter, VoterHistory, VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from quorum.api.voter_messages import CHANGE_RESPONSE_OF, ApiVersionsRequest, VoterChange
from quorum.raft.config import RaftConfig, Snapshot, StorageState
from quorum.raft.inputs import (
    Clock,
    Elapsed,
    Flushed,
    Input,
    Persisted,
    Propose,
    RequestDropped,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Shutdown,
    Start,
)
from quorum.raft.machine import RaftMachine
from quorum.raft.ready import (
    Destination,
    PersistQuorumState,
    QuorumStateData,
    Ready,
    SendRequest,
    Write,
)
from tests.support.raft_transcript_leader import LeaderCommands
from tests.support.raft_transcript_snapshots import SnapshotCommands, piece_of, position_of
from tests.support.raft_transcript_voters import VoterCommands, endpoints_of, key_of, versions_answer, voters_record
from tests.support.raft_words import lines_of

WALL_MS = 1_700_000_000_000


class Transcript(LeaderCommands, SnapshotCommands, VoterCommands):
    """One replica that follows a transcript."""

    def __init__(self) -> None:
        self.machine: RaftMachine | None = None
        self.now_ms = 0
        self.draws = 0
        self.pending: list[Write] = []
        self.asked: dict[int, SendRequest] = {}
        self.last_ready: Ready | None = None

    # --- commands

    def run(self, line: str) -> list[str]:
        """Do one command; return its result as lines."""
        word, *rest = line.split()
        flags = {part for part in rest if "=" not in part}
        named = dict(part.split("=", 1) for part in rest if "=" in part)
        command: Callable[[dict[str, str], set[str]], list[str]] = getattr(self, f"do_{word}")
        return command(named, flags)

    def do_node(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Make a replica from its disk: me, voters; epoch, leader, voted; log (`end@epoch,end@epoch`); bootstrap.

        `start=` is the start of the log; `snapshots=` have 100 bytes each.
        """
        epochs, start = EpochHistory(), 0
        ends = [position_of(text) for text in named["log"].split(",")] if "log" in named else []
        for end in ends:
            epochs, start = epochs.assign(end.epoch, Offset(start)), end.offset
        state = None
        if "epoch" in named:
            state = QuorumStateData(
                leader_id=NodeId(int(named["leader"])) if "leader" in named else None,
                leader_epoch=Epoch(int(named["epoch"])),
                voted=key_of(int(named["voted"])) if "voted" in named else None,
                was_removed="removed" in flags,
            )
        voters = VoterSet.of(
            Voter(key=key_of(int(n), "0" if "static" in flags else None), endpoints=endpoints_of(int(n)))
            for n in named["voters"].split(",")
            if n
        )
        storage = StorageState(quorum_state=state, epochs=epochs, voters=VoterHistory.start(voters))
        if ends:
            storage = msgspec.structs.replace(storage, end=ends[-1])
        if "snapshots" in named:
            taken = tuple(Snapshot(id=position_of(text), size=100) for text in named["snapshots"].split(","))
            storage = msgspec.structs.replace(storage, snapshots=taken)
        if "start" in named:
            begins = Offset(int(named["start"]))
            storage = msgspec.structs.replace(storage, log_start_offset=begins, epochs=epochs.trim_to(begins))
        me = int(named["me"])
        bootstrap = tuple(
            Destination(node_id=-2 - at, endpoints=endpoints_of(int(n)))
            for at, n in enumerate(named.get("bootstrap", "").split(","))
            if n
        )
        self.machine = RaftMachine(
            key_of(me, named.get("dir")),
            RaftConfig(),
            storage,
            (Endpoint(name="GRPC", host=f"n{me}", port=int(named.get("port", "9094"))),),
            bootstrap,
            can_vote="broker" not in flags,
            auto_join="joins" in flags,
        )
        self.pending, self.asked = [], {}
        return []

    def do_start(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Give the first input."""
        return self.feed(Start(draw=self.draw()))

    def do_wait(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Wait until the next deadline, or for `ms=`."""
        assert self.machine is not None
        deadline_ms = self.machine.next_deadline_ms()
        assert deadline_ms is not None or "ms" in named, "nothing is due"
        self.now_ms = self.now_ms + int(named["ms"]) if "ms" in named else max(self.now_ms, deadline_ms or 0)
        return self.feed(Elapsed(draw=self.draw()))

    def do_flush(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Make the oldest writes durable: all, or the `first`."""
        count = 1 if "first" in flags else len(self.pending)
        done, self.pending = self.pending[:count], self.pending[count:]
        lines: list[str] = []
        for write in done:
            if isinstance(write, PersistQuorumState):
                lines += self.feed(Persisted(token=write.token))
            else:
                lines += self.feed(Flushed(token=write.token, epoch=write.epoch, end_offset=write.end_offset))
        return lines

    def do_propose(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Propose one value of `size=` bytes in `epoch=`."""
        value = b"v" * int(named.get("size", "10"))
        return self.feed(Propose(epoch=Epoch(int(named["epoch"])), values=(value,)))

    def do_shutdown(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Begin the clean stop."""
        return self.feed(Shutdown(draw=self.draw()))

    def do_drop(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Drop the client of request `id=`."""
        return self.feed(RequestDropped(request_id=int(named["id"])))

    def do_vote(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a Vote: `from=`, `epoch=`, `end=offset@epoch`, `pre`, `to=` another voter than this."""
        end = position_of(named["end"])
        return self.request(
            named,
            VoteRequest(
                candidate=key_of(int(named["from"])),
                voter=key_of(int(named.get("to", self._me()))),
                candidate_epoch=Epoch(int(named["epoch"])),
                last_epoch=end.epoch,
                last_epoch_end_offset=end.offset,
                pre_vote="pre" in flags,
            ),
        )

    def do_begin(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a BeginQuorumEpoch: `from=`, `epoch=`."""
        leader = int(named["from"])
        request = BeginQuorumEpochRequest(
            leader_id=NodeId(leader),
            leader_epoch=Epoch(int(named["epoch"])),
            voter=key_of(int(named.get("to", self._me()))),
            leader_endpoints=endpoints_of(leader),
        )
        return self.request(named, request)

    def do_end(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive an EndQuorumEpoch: `from=`, `epoch=`, `successors=2,3`."""
        leader = int(named["from"])
        request = EndQuorumEpochRequest(
            leader_id=NodeId(leader),
            leader_epoch=Epoch(int(named["epoch"])),
            preferred_candidates=tuple(key_of(int(n)) for n in named.get("successors", "").split(",") if n),
            leader_endpoints=endpoints_of(leader),
        )
        return self.request(named, request)

    def do_fetch(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a Fetch: `from=`, `epoch=`, `at=offset@epoch`, `hw=`, `wait=`."""
        at = position_of(named["at"])
        request = FetchRequest(
            replica=key_of(int(named["from"])),
            current_leader_epoch=Epoch(int(named["epoch"])),
            fetch_offset=at.offset,
            last_fetched_epoch=at.epoch,
            max_bytes=1 << 20,
            max_wait_ms=int(named.get("wait", "500")),
            high_watermark=Offset(int(named.get("hw", "-1"))),
        )
        return self.request(named, request)

    def do_answer(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive the response to this replica's request `to=` correlation: `epoch=`, `leader=`, `error=`, `granted`.

        For Fetch also `hw=`, `diverging=`, `snapshot=`, and `records=` this many records of `of=` epoch at the log's
        end. For FetchSnapshot this many `bytes=` at `position=` of `size=` of the snapshot `of=`.
        """
        correlation = int(named["to"])
        asked = self.asked.pop(correlation)
        response = self._response(asked.request, named, flags)
        return self.feed(
            ResponseReceived(
                destination_id=asked.destination.node_id,
                correlation=correlation,
                response=response,
                draw=self.draw(),
            )
        )

    def do_fail(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Let this replica's request `to=` correlation fail; `reset`: its connection broke."""
        correlation = int(named["to"])
        asked = self.asked.pop(correlation)
        return self.feed(
            RequestFailed(
                destination_id=asked.destination.node_id,
                correlation=correlation,
                disconnected="reset" in flags,
                draw=self.draw(),
            )
        )

    def do_stray(self, named: dict[str, str], flags: set[str]) -> list[str]:
        """Receive a response to a request that was never sent."""
        response = VoteResponse(leader_epoch=Epoch(9), vote_granted=True)
        return self.feed(ResponseReceived(destination_id=2, correlation=999, response=response, draw=self.draw()))

    # --- the machine

    def request(self, named: dict[str, str], request: Request) -> list[str]:
        """Receive a peer's request under `id=`."""
        return self.feed(RequestReceived(request_id=int(named.get("id", "0")), request=request, draw=self.draw()))

    def feed(self, received: Input) -> list[str]:
        """Give it an input; return the result as lines."""
        assert self.machine is not None
        ready = self.machine.on_input(received, Clock(monotonic_ms=self.now_ms, wall_ms=WALL_MS + self.now_ms))
        self.last_ready = ready
        self.pending += ready.writes
        effects = [*ready.at_once, *(effect for _, effect in ready.after)]
        self.asked.update({effect.correlation: effect for effect in effects if isinstance(effect, SendRequest)})
        deadline_ms = self.machine.next_deadline_ms()
        due = "never" if deadline_ms is None else f"{deadline_ms} ms"
        return [*lines_of(ready), f"  = {self.now_ms} ms: {self.machine.describe()} due={due}"]

    def draw(self) -> int:
        """Return the draws 1, 2, 3 ..."""
        self.draws += 1
        return self.draws

    def _me(self) -> str:
        assert self.machine is not None
        return str(self.machine.replica.node_id)

    def _response(self, request: Request, named: dict[str, str], flags: set[str]) -> Response:
        assert self.machine is not None
        error = Error[named.get("error", "NONE")]
        leader = NodeId(int(named.get("leader", "-1")))
        epoch = Epoch(int(named["epoch"]))
        where = endpoints_of(leader) if leader >= 0 else ()
        if isinstance(request, VoteRequest):
            return VoteResponse(
                error=error,
                leader_id=leader,
                leader_epoch=epoch,
                leader_endpoints=where,
                vote_granted="granted" in flags,
            )
        if isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest):
            is_begin = isinstance(request, BeginQuorumEpochRequest)
            kind = BeginQuorumEpochResponse if is_begin else EndQuorumEpochResponse
            return kind(error=error, leader_id=leader, leader_epoch=epoch, leader_endpoints=where)
        if isinstance(request, ApiVersionsRequest):
            return versions_answer(named, flags, error, epoch)
        if isinstance(request, VoterChange):
            return CHANGE_RESPONSE_OF[type(request)](
                error=error, leader_id=leader, leader_epoch=epoch, leader_endpoints=where
            )
        if isinstance(request, FetchSnapshotRequest):
            return piece_of(request, named, error, leader, epoch, where)
        records = b""
        if "voters" in named:
            records = voters_record(named, self.machine.log_end_offset, epoch, WALL_MS)
        if "records" in named:
            values = [b"r"] * int(named["records"])
            base = Offset(int(named.get("base", str(self.machine.log_end_offset))))
            of_epoch = Epoch(int(named.get("of", str(epoch))))
            records = build_batch(base_offset=base, epoch=of_epoch, timestamp_ms=WALL_MS, values=values)
        return FetchResponse(
            error=error,
            leader_id=leader,
            leader_epoch=epoch,
            leader_endpoints=where,
            high_watermark=Offset(int(named.get("hw", "-1"))),
            diverging=position_of(named["diverging"]) if "diverging" in named else None,
            snapshot_id=position_of(named["snapshot"]) if "snapshot" in named else None,
            records=records if "broken" not in flags else records[:-1] + b"\xff",
        )


def play(text: str) -> str:
    """Return the transcript with the core's present results."""
    transcript = Transcript()
    out: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        out.append(line)
        if line.startswith("> "):
            out += transcript.run(line[2:])
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(play(path.read_text()))
