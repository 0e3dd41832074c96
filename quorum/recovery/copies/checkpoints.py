"""One checkpoint of a copy, read by itself.

Decides: whether it is whole. Must not know: which one a copy's metadata begins with.
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError, UnknownRecordError
from metadata_log.files.port import Files
from metadata_log.image import MetadataImage, image_of_checkpoint
from metadata_log.image.known_partitions import read_for_replay
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint import Checkpoint, read_checkpoint


def load_checkpoint(files: Files, path: str, end: OffsetAndEpoch) -> tuple[Checkpoint, MetadataImage]:
    """What it holds; that at offset 0 holds the first voters, and no metadata.

    Raises:
        UnknownRecordError: newer software wrote it.
        MetadataLogError: it is damaged.
        OSError: it cannot be read.
    """
    whole = read_checkpoint(files, path)
    if end.offset == 0:
        return whole, MetadataImage.empty()
    image = image_of_checkpoint(
        map(read_for_replay, whole.values()),
        end=end,
        last_contained_timestamp_ms=whole.header.last_contained_log_timestamp,
    )
    return whole, image


def damage_of(files: Files, path: str, end: OffsetAndEpoch) -> str | None:
    """Why nobody can go on from it; None where it is whole, or newer software's."""
    try:
        load_checkpoint(files, path, end)
    except UnknownRecordError:
        return None
    except (MetadataLogError, OSError) as error:
        return str(error)
    return None
