"""Every epoch state with every kind of input, and the result of each pair in a few words.

`python -m tests.support.raft_table FILE` rewrites the table; a reviewer judges the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from quorum.raft.ready import Effect, SendRequest, SendResponse, SendSnapshotChunk
from quorum.raft.transitions import Role
from tests.support.raft_transcript import Transcript

_NODE = "node me=1 voters=1,2,3 epoch=4 log=5@4 snapshots=5@4"
_ELECTED = ["start", "answer to=1 epoch=4 granted", "flush", "answer to=3 epoch=5 granted", "flush"]

SCENES: dict[Role, list[str]] = {
    Role.UNATTACHED: [_NODE, "start", "vote id=1 from=3 epoch=5 end=9@4", "flush"],
    Role.PROSPECTIVE: ["node me=1 voters=1,2,3 epoch=5 log=5@4 snapshots=5@4", "start"],
    Role.CANDIDATE: [_NODE, "start", "answer to=1 epoch=4 granted", "flush"],
    Role.FOLLOWER: [
        "node me=1 voters=1,2,3 epoch=5 leader=2 log=5@4 snapshots=5@4",
        "start",
        "answer to=1 epoch=5 leader=2 hw=5",
    ],
    Role.LEADER: [_NODE, *_ELECTED],
    Role.RESIGNED: [_NODE, *_ELECTED, "shutdown"],
}
"""The commands that bring this replica, 1 of 3, into each state in epoch 5.

In `follower` the leader is 2; in `unattached` 3 has the vote.
"""

INPUTS: dict[str, str] = {
    "Elapsed, too early": "wait ms=0",
    "Elapsed, at the deadline": "wait",
    "pre-vote, same epoch, log as good": "vote id=9 from=3 epoch=5 end=9@5 pre",
    "pre-vote, same epoch, log behind": "vote id=9 from=3 epoch=5 end=2@1 pre",
    "pre-vote, higher epoch": "vote id=9 from=3 epoch=6 end=9@5 pre",
    "vote, same epoch, from who has it": "vote id=9 from=3 epoch=5 end=9@4",
    "vote, same epoch, from another": "vote id=9 from=2 epoch=5 end=9@4",
    "vote, higher epoch, log as good": "vote id=9 from=2 epoch=7 end=9@5",
    "vote, higher epoch, log behind": "vote id=9 from=2 epoch=7 end=2@1",
    "vote, older epoch": "vote id=9 from=2 epoch=3 end=9@2",
    "vote, for another voter": "vote id=9 from=2 epoch=7 end=9@5 to=3",
    "vote, from its own id": "vote id=9 from=1 epoch=7 end=9@5",
    "vote, epoch that cannot be left": "vote id=9 from=2 epoch=2147483647 end=9@5",
    "BeginQuorumEpoch, same epoch, from 2": "begin id=9 from=2 epoch=5",
    "BeginQuorumEpoch, same epoch, from 3": "begin id=9 from=3 epoch=5",
    "BeginQuorumEpoch, higher epoch": "begin id=9 from=3 epoch=6",
    "BeginQuorumEpoch, older epoch": "begin id=9 from=3 epoch=4",
    "EndQuorumEpoch, same epoch, we first": "end id=9 from=2 epoch=5 successors=1,3",
    "EndQuorumEpoch, same epoch, we second": "end id=9 from=2 epoch=5 successors=3,1",
    "EndQuorumEpoch, higher epoch": "end id=9 from=3 epoch=6 successors=1",
    "EndQuorumEpoch, older epoch": "end id=9 from=2 epoch=4 successors=1",
    "Fetch, same epoch, at the end": "fetch id=9 from=2 epoch=5 at=8@5 hw=0",
    "Fetch, same epoch, behind": "fetch id=9 from=2 epoch=5 at=5@4 hw=0",
    "Fetch, same epoch, another log": "fetch id=9 from=2 epoch=5 at=7@3 hw=0",
    "Fetch, higher epoch": "fetch id=9 from=2 epoch=6 at=5@4 hw=0",
    "Fetch, older epoch": "fetch id=9 from=2 epoch=4 at=5@4 hw=0",
    "AddRaftVoter, of a replica that is no voter": "add id=9 voter=4",
    "AddRaftVoter, of a voter": "add id=9 voter=3",
    "AddRaftVoter, without a directory": "add id=9 voter=4 dir=0",
    "RemoveRaftVoter, of a voter": "remove id=9 voter=3",
    "UpdateRaftVoter, same epoch": "update id=9 from=3 epoch=5 port=7",
    "UpdateRaftVoter, older epoch": "update id=9 from=3 epoch=4 port=7",
    "UpdateRaftVoter, higher epoch": "update id=9 from=3 epoch=6 port=7",
    "UpgradeKRaftVersion, to 1": "upgrade id=9 to=1",
    "UpgradeKRaftVersion, to 2": "upgrade id=9 to=2",
    "ApiVersions": "versions id=9",
    "FetchSnapshot, same epoch": "snapshot id=9 from=2 epoch=5 of=5@4",
    "FetchSnapshot, same epoch, unknown": "snapshot id=9 from=2 epoch=5 of=4@4",
    "FetchSnapshot, higher epoch": "snapshot id=9 from=2 epoch=6 of=5@4",
    "FetchSnapshot, older epoch": "snapshot id=9 from=2 epoch=4 of=5@4",
    "ChunkStored, of none that is received": "stored serial=1",
    "SnapshotChecked, of none that is received": "checked serial=1",
    "SnapshotTaken": "taken end=4@4",
    "LogTrimmed": "trimmed to=5@4",
    "RequestDropped, unknown": "drop id=77",
    "answer, higher epoch, leader 3": "answer to=last epoch=6 leader=3",
    "answer, higher epoch, no leader": "answer to=last epoch=6",
    "answer, same epoch, leader 3": "answer to=last epoch=5 leader=3",
    "answer, same epoch, says that we lead": "answer to=last epoch=5 leader=1",
    "answer, same epoch, yes": "answer to=last epoch=5 granted",
    "answer, same epoch, no": "answer to=last epoch=5",
    "answer, same epoch, an error": "answer to=last epoch=5 error=INVALID_REQUEST",
    "answer, same epoch, fetch a snapshot": "answer to=last epoch=5 leader=2 snapshot=90@5",
    "answer, of another cluster": "answer to=last epoch=9 leader=3 error=INCONSISTENT_CLUSTER_ID",
    "answer, older epoch": "answer to=last epoch=4 granted leader=3",
    "answer, of no epoch": "answer to=last epoch=-1",
    "answer, to a question never asked": "stray",
    "RequestFailed, deadline": "fail to=last",
    "RequestFailed, connection reset": "fail to=last reset",
    "Propose, same epoch": "propose epoch=5",
    "Propose, older epoch": "propose epoch=4",
    "AskReadBarrier, same epoch": "barrier epoch=5 token=1",
    "AskReadBarrier, older epoch": "barrier epoch=4 token=1",
    "TransferLeadership, to 2": "transfer id=9 to=2",
    "Shutdown": "shutdown",
}


def scene(role: Role) -> Transcript:
    """Return a replica in that state."""
    transcript = Transcript()
    for line in SCENES[role]:
        transcript.run(line)
    assert transcript.machine is not None
    assert transcript.machine.role is role
    assert transcript.machine.epoch == 5
    return transcript


def outcome(role: Role, command: str) -> str:
    """Return the effects of the command in that state, and the new state if it changes."""
    transcript = scene(role)
    machine = transcript.machine
    assert machine is not None
    before = (machine.describe(), machine.next_deadline_ms())
    if "last" in command and not transcript.asked:
        return "nothing was asked"
    transcript.run(command.replace("last", str(max(transcript.asked, default=0))))
    ready = transcript.last_ready
    assert ready is not None
    words = [type(write).__name__ for write in ready.writes]
    words += [_word(effect) for effect in ready.at_once]
    words += [f"{_word(effect)} once durable" for _, effect in ready.after]
    if machine.role is not role or machine.epoch != 5:
        words.append(f"→ {machine.role} in {machine.epoch}")
    elif (machine.describe(), machine.next_deadline_ms()) != before:
        words.append("notes it")
    return ", ".join(words) or "nothing"


def _word(effect: Effect) -> str:
    if isinstance(effect, SendRequest):
        name = type(effect.request).__name__.removesuffix("Request")
        return f"ask {effect.destination.node_id} {'PreVote' if getattr(effect.request, 'pre_vote', False) else name}"
    if isinstance(effect, SendResponse):
        response = effect.response
        return f"answer {'granted' if getattr(response, 'vote_granted', False) else response.error.name}"
    if isinstance(effect, msgspec.Struct) and type(effect).__name__ == "SendRecords":
        return "answer records"
    if isinstance(effect, SendSnapshotChunk):
        return "answer a piece"
    return type(effect).__name__


def table() -> str:
    """Return the whole table, one section for each input."""
    lines = []
    for name, command in INPUTS.items():
        lines.append(name)
        lines += [f"    {role:<12}{outcome(role, command)}" for role in SCENES]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(table())
