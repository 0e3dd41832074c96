"""Finalised features as an image holds them.

Decides: what is a feature level, and that metadata.version stands apart. Must not know: what a level allows.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.image.maps import Map

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
"""Not a feature of the image: its truth is the KRaftVersionRecord among the control records, so that replay ignores
a FeatureLevelRecord of this name (as Kafka does since KAFKA-18979)."""
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"


class FeaturesImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Finalised levels.

    Attributes:
        levels: of every feature above level 0, but for metadata.version.
        metadata_version: its level (30 is 4.3-IV0), or None before the first record.
    """

    levels: Map[str, int] = Map()
    metadata_version: int | None = None

    def level_of(self, name: str) -> int:
        """The finalised level of any feature, 0 when there is none."""
        if name == METADATA_VERSION:
            return self.metadata_version or 0
        return self.levels.get(name, 0)

    @property
    def elr_enabled(self) -> bool:
        """Whether partitions keep eligible leader replicas (KIP-966)."""
        return self.levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1
