"""A log of which a checkpoint holds all, while its last segment stays: its epoch history may be empty.

Ours is from the trim on; Kafka's has a line that begins at the log's end, which its next start drops.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.journal.errors import AlreadyDoneError
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import forget_audits, load_nodes, repair, request, written_out

CHECKPOINT_END = 244


def trimmed(epochs: bytes, *, end: int = CHECKPOINT_END) -> SimulatedFiles:
    """Node 1's log up to `end`: its segment begins at 207."""
    files = load_nodes("failovers", 1)
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n1", [], end, accepted), "/n1")
    forget_audits(files, "/n1.recovery")
    handle = files.open("/n1/__cluster_metadata-0/leader-epoch-checkpoint")
    handle.truncate(0)
    handle.pwrite(epochs, 0)
    handle.fdatasync()
    return files


def kinds(files: SimulatedFiles, root: Path) -> set[str]:
    written_out(files, root)
    return {found.kind for found in check_paths([root / "n1"]).findings}


@pytest.mark.parametrize("epochs", [b"0\n0\n", b"0\n1\n1 244\n"])
def test_nothing_is_wrong_with_its_epochs(epochs: bytes, tmp_path: Path) -> None:
    files = trimmed(epochs)
    assert "epoch_file_wrong" not in kinds(files, tmp_path)
    with pytest.raises(AlreadyDoneError, match="already agree with the log"):
        propose_rebuild_indexes(files, "/n1")


def test_an_empty_history_is_wrong_where_records_follow_the_checkpoint(tmp_path: Path) -> None:
    files = trimmed(b"0\n0\n", end=253)
    assert "epoch_file_wrong" in kinds(files, tmp_path)
    assert propose_rebuild_indexes(files, "/n1").rewrites
