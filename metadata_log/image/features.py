"""The image's finalized features. Must not know: the effect of a level."""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.image.maps import Map

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
"""Not a feature of the image: the KRaftVersionRecord, a control record, has the level.

Replay ignores a FeatureLevelRecord of this name, as Kafka does since KAFKA-18979.
"""
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"


class FeaturesImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Finalized levels.

    Attributes:
        levels: the level of every feature above 0, without metadata.version.
        metadata_version: its level (30 is 4.3-IV0), or None before the first record.
    """

    levels: Map[str, int] = Map()
    metadata_version: int | None = None

    def level_of(self, name: str) -> int:
        """Return the finalized level of any feature, or 0."""
        if name == METADATA_VERSION:
            return self.metadata_version or 0
        return self.levels.get(name, 0)

    @property
    def elr_enabled(self) -> bool:
        """True if partitions keep eligible leader replicas (KIP-966)."""
        return self.levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1
