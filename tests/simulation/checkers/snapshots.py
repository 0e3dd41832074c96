"""Snapshot equals replay: each checkpoint on a disk holds the image, and the voters, that the committed log gives at
its end, and none ends where nothing is committed; nobody is given a rotten one; whoever has installed one goes by its
voters."""

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
    """One checkpoint under its own name."""
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
    """What is read of a checkpoint for another replica: of one that is sound, or was when its first piece was read."""
    if piece.position > 0:
        return
    try:
        load_snapshot(node.files, piece.path, piece.end)
    except (CorruptBatchError, CorruptFileError) as error:
        raise InvariantFailure("snapshots", f"node {node.node_id} gives away what has rotted: {error}") from error


def check_all_snapshots(node: Node, data: str, reference: Reference) -> None:
    """All of a node's, at the end of the scenario; those that it was formatted with are none of the log."""
    for end in checkpoint_ends(node.files, f"{data}/{METADATA_DIRECTORY}"):
        if end.offset > 0 and not node.is_rotten:
            check_snapshot(node.node_id, node.files, data, end, reference)


def check_installed(node: Node, end: OffsetAndEpoch, reference: Reference) -> None:
    """A node has put a snapshot in place of its log: it goes by the voters of that."""
    expected = reference.voters_at(end.offset)
    if expected is not None and node.executor.machine.voters != expected:
        raise InvariantFailure(
            "snapshots", f"node {node.node_id} installs {end} and goes by {node.executor.machine.voters}"
        )
