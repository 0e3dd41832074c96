"""Whether a metadata directory is the voter's that its meta.properties no longer names: what lies in it may prove so.

Decides: what proves it. Must not know: what the voters are, and what is said of it.

A disk that was replaced, or formatted anew, has nothing of the voter that it follows. But the first checkpoint of a
quorum names its voters, with the directory that it was formatted in, and who stood for election voted for itself, or
knows itself as the leader: who has no vote takes no node of its own id for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from metadata_log.directory import QUORUM_STATE_FILE, read_quorum_state
from metadata_log.errors import MetadataLogError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.storage.checkpoint import checkpoint_name
from metadata_log.tools.contents import voters_in_file

_FIRST: Final = checkpoint_name(OffsetAndEpoch(offset=Offset(0), epoch=Epoch(0)))


def proof_of_voter(metadata: Path, voter: ReplicaKey) -> str | None:
    """What in this directory proves that it is the voter's, in words; None where nothing does."""
    first = metadata / _FIRST
    try:
        if voter in (voters_in_file(OsFiles(), str(first)) or ()):
            return f"{first.name} in it names that one"
    except (OSError, MetadataLogError):
        pass  # it proves nothing then; what is wrong with it is told elsewhere
    try:
        state = read_quorum_state(OsFiles(), str(metadata))
    except (OSError, MetadataLogError):
        return None
    if state is not None and state.voted_key == voter:
        return f"{QUORUM_STATE_FILE} in it voted for itself as that one"
    if state is not None and state.leader_id == voter.node_id:
        return f"{QUORUM_STATE_FILE} in it led epoch {state.leader_epoch}, and only a voter leads"
    return None
