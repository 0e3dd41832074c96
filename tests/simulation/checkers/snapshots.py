"""Each checkpoint on a disk holds the image and the voters of the committed log at its end, and ends at a committed
offset.

A corrupt checkpoint is never sent. A replica that has installed a snapshot uses its voters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.errors import CorruptBatchError, CorruptFileError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint import checkpoint_ends, checkpoint_name
from metadata_log.storage.checkpoint_ops import ReadPiece
from metadata_log.storage.loaded_checkpoint import load_snapshot
from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.checkers.reference import Reference

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_snapshot(node_id: int, files: SimulatedFiles, data: str, end: OffsetAndEpoch, reference: Reference) -> None:
    """Check one checkpoint under its final name."""
    expected = reference.image_at(end.offset)
    if expected is None:
        raise InvariantFailure("snapshots", f"node {node_id} has a checkpoint at {end}; {reference.end} is committed")
    try:
        loaded = load_snapshot(files, f"{data}/{METADATA_DIRECTORY}/{checkpoint_name(end)}", end)
    except (CorruptBatchError, CorruptFileError) as error:
        raise InvariantFailure("snapshots", f"node {node_id}: {error}") from error
    if loaded.image != expected:
        raise InvariantFailure("snapshots", f"node {node_id}: the checkpoint at {end} is not what the log says there")
    if loaded.voters != reference.voters_at(end.offset):
        raise InvariantFailure("snapshots", f"node {node_id}: the checkpoint at {end} names voters {loaded.voters}")


def check_piece(node: Node, piece: ReadPiece) -> None:
    """Check a chunk that is read for another replica: its checkpoint is valid, or was when its first chunk was read."""
    if piece.position > 0:
        return
    try:
        load_snapshot(node.files, piece.path, piece.end)
    except (CorruptBatchError, CorruptFileError) as error:
        raise InvariantFailure("snapshots", f"node {node.node_id} sends a corrupt checkpoint: {error}") from error


def check_all_snapshots(node: Node, data: str, reference: Reference) -> None:
    """Check all checkpoints of a node at the end of the scenario, except those that it was formatted with."""
    for end in checkpoint_ends(node.files, f"{data}/{METADATA_DIRECTORY}"):
        if end.offset > 0 and not node.is_rotten:
            check_snapshot(node.node_id, node.files, data, end, reference)


def check_installed(node: Node, end: OffsetAndEpoch, reference: Reference) -> None:
    """Check that a node uses the voters of the snapshot that has replaced its log."""
    expected = reference.voters_at(end.offset)
    if expected is not None and node.executor.machine.voters != expected:
        raise InvariantFailure(
            "snapshots", f"node {node.node_id} installs {end} and uses {node.executor.machine.voters}"
        )
