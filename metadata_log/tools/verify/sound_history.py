"""The history of a log without misnamed checkpoints, so that no state is replayed from one.

Must not know: how a name is judged.
"""

from __future__ import annotations

from pathlib import Path

from metadata_log.storage.segment import segment_bases
from metadata_log.tools.read.history import HistoryError, LogHistory, file_history, open_history
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.lost_end import SoundHistory, lost_end
from metadata_log.tools.verify.verify_log import verify_file


def open_sound_history(metadata: Path) -> LogHistory:
    """Return the history in a metadata directory, without its misnamed checkpoints.

    Raises:
        HistoryError: the directory holds neither segments nor checkpoints of an image.
        OSError: the directory cannot be listed.
    """
    history = open_history(metadata)
    if not history.checkpoints:
        return history
    lost = lost_end(metadata)
    kept = tuple(found for found in history.checkpoints if found[1].name not in lost.misnamed)
    return SoundHistory(
        path=history.path, segments=history.segments, checkpoints=kept, files=history.files,
        misnamed=lost.misnamed, lost=lost,
    )  # fmt: skip


def sound_file_history(path: Path) -> LogHistory:
    """Return the history that one segment or checkpoint holds.

    Raises:
        HistoryError: its name is neither a segment's nor a checkpoint's, or it is a misnamed checkpoint.
        OSError: the file cannot be read.
    """
    history = file_history(path)
    if not history.checkpoints:
        return history
    is_in_log = bool(segment_bases([child.name for child in path.parent.iterdir()]))
    known = lost_end(path.parent).misnamed if is_in_log else verify_file(path, depth=Depth.BYTES).misnamed
    if path.name in known:
        raise HistoryError(f"{path} is misnamed: {known[path.name]}. kraft check says what to do with it")
    return history
