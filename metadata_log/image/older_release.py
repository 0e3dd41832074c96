"""Metadata of Kafka before 3.3-IV3: tools read it, nodes reject it.

Decides: whether an image is that old: it has no metadata.version, or one below 3.3-IV3. Must not know: files. Kafka
before 3.3 wrote no FeatureLevelRecord of metadata.version. Kafka 3.3 to 3.9 reads a log without one as 3.0-IV1
(KIP-778).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metadata_log.errors import OlderReleaseError
from metadata_log.image.features import METADATA_VERSION
from metadata_log.image.image import EMPTY, MetadataImage
from metadata_log.records import FeatureLevelRecord, MetadataRecord
from metadata_log.records.levels import MINIMUM_LEVEL, level_name, metadata_version

FIRST_FOLLOWED: Final = metadata_version(MINIMUM_LEVEL)
"""3.3-IV3: the first level that a node of this software follows."""
OLDER_RELEASE: Final = (
    f"no record names a {METADATA_VERSION}: Kafka before 3.3 wrote this metadata, and it is read as 3.0-IV1 is"
)
STARTED_BY: Final = "Controllers of Apache Kafka up to 3.9 start from it, and this software's refuse it"
NOT_SAVED: Final = (
    "No backup and no checkpoint is made of it: copy the directory of a stopped node, or start "
    f"Apache Kafka 3.3 to 3.9 on it, and finalise {FIRST_FOLLOWED} or higher there (kafka-features.sh upgrade)"
)


def is_of_older_release(image: MetadataImage) -> bool:
    """Return True if an image has metadata but no metadata.version. The image of an empty log has neither."""
    return image.features.metadata_version is None and not image.says_the_same_as(EMPTY)


def why_older(image: MetadataImage) -> str | None:
    """Return why the metadata is too old for nodes of this software, as a sentence, or None."""
    level = image.features.metadata_version
    if level is not None:
        return low_level_text(level) if level < MINIMUM_LEVEL else None
    return OLDER_RELEASE if is_of_older_release(image) else None


def low_level_text(level: int) -> str:
    """Return the sentence about a level that only Kafka 3.3 to 3.9 runs at."""
    return (
        f"{METADATA_VERSION} is {level_name(level)}: Kafka 3.3 to 3.9 can run at it, and controllers of this software "
        f"from {level_name(MINIMUM_LEVEL)} on"
    )


def check_low_level(level: int | None) -> None:
    """Raise an error if a node of this software cannot follow metadata of this finalised level, which is too low.

    Raises:
        OlderReleaseError: the message says what to do.
    """
    if level is not None and level < MINIMUM_LEVEL:
        raise refuse_older_release(low_level_text(level))


def check_low_records(records: Iterable[MetadataRecord]) -> None:
    """Raise an error if the last metadata.version that these records finalise is too low for a node of this software.

    Raises:
        OlderReleaseError: as `check_low_level`.
    """
    level = None
    for record in records:
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
            level = record.feature_level
    check_low_level(level)


def refuse_older_release(why: str = OLDER_RELEASE) -> OlderReleaseError:
    """Return the error of a node whose log is such."""
    return OlderReleaseError(
        f"{why}. The first release that this software can follow is Kafka 3.3 ({FIRST_FOLLOWED}): start "
        f"controllers and brokers of Apache Kafka 3.3 to 3.9 on it first, and finalise {FIRST_FOLLOWED} or higher "
        "there (kafka-features.sh upgrade)"
    )
