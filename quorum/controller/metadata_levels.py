"""The finalised metadata.version of an image. The levels from which something is allowed are in
`metadata_log.records.levels`.
"""

from __future__ import annotations

from metadata_log.image import MetadataImage


def level_of(image: MetadataImage) -> int:
    """Return the finalised metadata.version, 0 before there is one."""
    return image.features.metadata_version or 0
