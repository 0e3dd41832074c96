"""One checkpoint of a log, read by itself.

Decides: whether it is whole. Must not know: which one a log's metadata begins with.
"""

from __future__ import annotations

from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage, Replayer
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint import Checkpoint, read_checkpoint
from metadata_log.tools.read.contents import voter_keys
from metadata_log.tools.read.history import State, state_of
from metadata_log.tools.read.quorum import quorum_of
from metadata_log.tools.verify.voter_steps import voter_ids_fault


def load_checkpoint(files: Files, path: str, end: OffsetAndEpoch) -> tuple[Checkpoint, State]:
    """Return the checkpoint in the file `path`, and its state. The one at offset 0 holds the first voters, and no
    metadata.

    Records of a later release are skipped: `State.newer` lists them.

    Raises:
        MetadataLogError: the checkpoint is damaged.
        OSError: the file cannot be read.
    """
    whole = read_checkpoint(files, path)
    fault = None if whole.voters is None else voter_ids_fault(voter_keys(whole.voters))
    if fault is not None:
        raise CorruptFileError(path, f"its VotersRecord {fault}")
    if end.offset == 0:
        return whole, State(replayer=Replayer.start(MetadataImage.empty()), quorum=quorum_of(whole))
    return whole, state_of(whole, end)


def damage_of(files: Files, path: str, end: OffsetAndEpoch) -> str | None:
    """Return why no node can start from this checkpoint, or None if it is whole."""
    try:
        load_checkpoint(files, path, end)
    except (MetadataLogError, OSError) as error:
        return str(error)
    return None
