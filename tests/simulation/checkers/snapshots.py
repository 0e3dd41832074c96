"""Snapshot equals replay: each checkpoint on a disk holds the image that the committed log gives at its offset."""

from __future__ import annotations

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.image import ImageBuilder, MetadataImage
from metadata_log.records import decode_record
from metadata_log.simulated_files import SimulatedFiles
from metadata_log.snapshot import checkpoint_name, newest_checkpoint, read_checkpoint
from tests.simulation.checkers.broken import Broken
from tests.simulation.checkers.reference import Reference


def check_snapshot(node_id: int, files: SimulatedFiles, data: str, reference: Reference) -> None:
    """Look at a node's newest checkpoint, if it has one that is not the empty one of its formatting."""
    directory = f"{data}/{METADATA_DIRECTORY}"
    newest = newest_checkpoint(files, directory)
    if newest is None or newest.offset == 0:
        return
    expected = reference.image_at(newest.offset)
    if expected is None:
        raise Broken("snapshots", f"node {node_id} has a checkpoint at {newest}; {reference.end} is committed")
    checkpoint = read_checkpoint(files, f"{directory}/{checkpoint_name(newest)}")
    builder = ImageBuilder(MetadataImage.empty())
    for index, value in enumerate(checkpoint.values()):
        builder.apply(decode_record(value), index)
    built = builder.build(newest.offset, newest.epoch, checkpoint.header.last_contained_log_timestamp)
    if not built.says_the_same_as(expected):
        raise Broken("snapshots", f"node {node_id}: the checkpoint at {newest} is not what the log says there")
