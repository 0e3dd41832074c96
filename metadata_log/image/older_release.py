"""Metadata of Kafka before 3.3, which has no metadata.version: tools read it as 3.0-IV1, nodes refuse it.

Decides: which image is such. Must not know: files, and what a tool says about it. Kafka before 3.3 wrote no
FeatureLevelRecord of metadata.version, and Kafka 3.3 to 3.9 takes a log without one for 3.0-IV1 (KIP-778).
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import OlderReleaseError
from metadata_log.image.features import METADATA_VERSION
from metadata_log.image.image import EMPTY, MetadataImage
from metadata_log.records.levels import metadata_version

FIRST_FOLLOWED: Final = metadata_version(7)
"""3.3-IV3: the first level that a node of this software follows."""
OLDER_RELEASE: Final = (
    f"no record names a {METADATA_VERSION}: Kafka before 3.3 wrote this metadata, and it is read as 3.0-IV1 is"
)


def is_of_older_release(image: MetadataImage) -> bool:
    """Return True if an image holds metadata, and no metadata.version; that of an empty log does not."""
    return image.features.metadata_version is None and not image.says_the_same_as(EMPTY)


def refuse_older_release() -> OlderReleaseError:
    """Return the error of a node whose log is such."""
    return OlderReleaseError(
        f"{OLDER_RELEASE}. The first release that this software can follow is Kafka 3.3 ({FIRST_FOLLOWED}): start "
        f"controllers and brokers of Apache Kafka 3.3 to 3.9 on it first, and finalise {FIRST_FOLLOWED} or higher "
        "there (kafka-features.sh upgrade)"
    )
