"""No vote is forgotten: a sent vote is durable, and the replica grants no other in that epoch, ever."""

from __future__ import annotations

from metadata_log.directory.quorum_state import QUORUM_STATE_FILE, parse_quorum_state
from metadata_log.errors import CorruptFileError
from metadata_log.files.simulated_media import Directory
from metadata_log.ids import ReplicaKey
from tests.simulation.checkers.invariant_failure import InvariantFailure


class Votes:
    """Every vote that was ever sent."""

    def __init__(self) -> None:
        self._given: dict[tuple[ReplicaKey, int], ReplicaKey] = {}

    def on_vote(self, voter: ReplicaKey, media: Directory, epoch: int, candidate: ReplicaKey) -> None:
        """Check a vote that `voter` sends, granted or its own; `media` is its metadata directory."""
        before = self._given.setdefault((voter, epoch), candidate)
        if before != candidate:
            raise InvariantFailure(
                "votes",
                f"node {voter.node_id} votes in epoch {epoch} for {candidate.node_id}, did for {before.node_id}",
            )
        inode = media.durable.get(QUORUM_STATE_FILE)
        try:
            state = None if inode is None else parse_quorum_state(bytes(inode.durable), QUORUM_STATE_FILE)
        except CorruptFileError as error:
            raise InvariantFailure("votes", f"node {voter.node_id} would find no quorum-state: {error}") from error
        is_own = state is not None and state.leader_id == voter.node_id == candidate.node_id
        if state is None or state.leader_epoch < epoch:
            raise InvariantFailure("votes", f"node {voter.node_id} votes in epoch {epoch}, but durable is {state}")
        # With static voters the file has no field for a directory (data_version 0).
        without = ReplicaKey(node_id=candidate.node_id) if state.data_version == 0 else candidate
        if state.leader_epoch == epoch and state.voted_key not in (without, None) and not is_own:
            raise InvariantFailure(
                "votes", f"node {voter.node_id} votes for {candidate.node_id}, but durable is {state}"
            )
        if state.leader_epoch == epoch and state.voted_key is None and state.leader_id < 0:
            raise InvariantFailure(
                "votes", f"node {voter.node_id} votes for {candidate.node_id}, but its disk knows no vote"
            )
