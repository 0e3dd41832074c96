"""Which metadata.version allows what: the levels from which a record may say something.

Decides nothing else; which version of a record is written at a level is `metadata_log.records.levels`' business.
Source: the table of metadata versions of Kafka 4.4.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage

NO_EPOCH_BUMP_ON_ISR_SHRINK: Final = 12
"""3.6-IV0: before it, a leader's epoch rises with every shrink of the ISR (KAFKA-15021)."""
SCRAM: Final = 11
"""3.5-IV2: SCRAM credentials (KIP-900)."""
TRANSACTIONS: Final = 13
"""3.6-IV1: metadata transactions (KIP-868)."""
DELEGATION_TOKENS: Final = 14
"""3.6-IV2: delegation tokens (KIP-900)."""
CONTROLLER_REGISTRATION: Final = 15
"""3.7-IV0: RegisterControllerRecord (KIP-919)."""
DIRECTORY_ASSIGNMENT: Final = 17
"""3.7-IV2: log directories in registrations and partitions (KIP-858)."""
CORDONED_LOG_DIRS: Final = 30
"""4.3-IV0: cordoned log directories (KIP-1066)."""
ACL_RANGES: Final = 32
"""4.4-IV1: ranges of hosts in access control entries (KIP-1276)."""


def level_of(image: MetadataImage) -> int:
    """The finalised metadata.version, 0 before there is one."""
    return image.features.metadata_version or 0
