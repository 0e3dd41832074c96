"""metadata.version: its levels, their names, and the version of each record that is written at a level.

A level is the finalized value of the feature `metadata.version`. Its name is "4.3-IV0"; a release's number alone means
its newest production level.

Source: Apache Kafka 4.4's MetadataVersion, and what its controller writes (KIP-778).
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.records.declarations.cluster import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    ZkMigrationStateRecord,
)
from metadata_log.records.declarations.nodes import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from metadata_log.records.declarations.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metadata_log.records.declarations.topics import ClearElrRecord, PartitionChangeRecord, PartitionRecord
from metadata_log.records.registry import MetadataRecord

FEATURE_NAME: Final = "metadata.version"


class MetadataVersion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One level. `changes_records`: records of this level may be unreadable to software that knows only the level
    below.
    """

    level: int
    release: str
    step: str
    changes_records: bool

    @property
    def name(self) -> str:
        """The name in Kafka's tools."""
        return f"{self.release}-{self.step}"

    def __str__(self) -> str:
        return self.name


def _table() -> tuple[MetadataVersion, ...]:
    rows = (
        "7 3.3-IV3 *, 8 3.4-IV0 *, 9 3.5-IV0, 10 3.5-IV1, 11 3.5-IV2 *, 12 3.6-IV0, 13 3.6-IV1 *, 14 3.6-IV2 *, "
        "15 3.7-IV0 *, 16 3.7-IV1, 17 3.7-IV2 *, 18 3.7-IV3, 19 3.7-IV4, 20 3.8-IV0, 21 3.9-IV0, 22 4.0-IV0, "
        "23 4.0-IV1 *, 24 4.0-IV2, 25 4.0-IV3, 26 4.1-IV0, 27 4.1-IV1, 28 4.2-IV0, 29 4.2-IV1, 30 4.3-IV0 *, "
        "31 4.4-IV0, 32 4.4-IV1 *, 33 4.4-IV2 *, 34 4.5-IV0"
    )
    table = []
    for row in rows.split(", "):
        level, name, *star = row.split(" ")
        release, step = name.split("-")
        table.append(MetadataVersion(level=int(level), release=release, step=step, changes_records=bool(star)))
    return tuple(table)


METADATA_VERSIONS: Final = _table()
"""All levels that Kafka 4.4 knows, ascending; those above `LATEST_PRODUCTION` are in development there."""

MINIMUM_LEVEL: Final = METADATA_VERSIONS[0].level
LATEST_PRODUCTION: Final = 33
DEFAULT_LEVEL: Final = LATEST_PRODUCTION
"""The level of a new cluster by default."""

_BEFORE: Final = {1: "3.0-IV1", 2: "3.1-IV0", 3: "3.2-IV0", 4: "3.3-IV0", 5: "3.3-IV1", 6: "3.3-IV2"}
"""Names of levels below the minimum. Kafka 3.3 to 3.9 runs at them; Kafka 4 and nodes of this software do not."""

LOWEST_LEVEL: Final = min(_BEFORE)
"""The first of all levels. Below `MINIMUM_LEVEL` only tools read a log."""

_BY_LEVEL: Final = {version.level: version for version in METADATA_VERSIONS}
_BY_NAME: Final = {version.name: version for version in METADATA_VERSIONS}
_BY_RELEASE: Final = {version.release: version for version in METADATA_VERSIONS if version.level <= LATEST_PRODUCTION}

NO_OP_LEVEL: Final = 5
"""3.3-IV1: from here on an idle controller may write NoOps (KIP-835)."""
ZK_MIGRATION_LEVEL: Final = 8
"""3.4-IV0: the state of a migration from ZooKeeper (KIP-866)."""
SCRAM_LEVEL: Final = 11
"""3.5-IV2: SCRAM credentials (KIP-900)."""
NO_EPOCH_BUMP_LEVEL: Final = 12
"""3.6-IV0: before it, a leader's epoch rises with every shrink of the ISR (KAFKA-15021)."""
TRANSACTIONS_LEVEL: Final = 13
"""3.6-IV1: metadata transactions (KIP-868)."""
DELEGATION_TOKENS_LEVEL: Final = 14
"""3.6-IV2: delegation tokens (KIP-900)."""
CONTROLLER_REGISTRATION_LEVEL: Final = 15
"""3.7-IV0: RegisterControllerRecord (KIP-919)."""
DIRECTORIES_LEVEL: Final = 17
"""3.7-IV2: log directories in registrations and partitions (KIP-858)."""
ELR_LEVEL: Final = 23
"""4.0-IV1: eligible leader replicas (KIP-966)."""
CORDONED_DIRECTORIES_LEVEL: Final = 30
"""4.3-IV0: cordoned log directories (KIP-1066)."""
BOOTSTRAP_IN_CHECKPOINT_LEVEL: Final = 31
"""4.4-IV0: the first level of the release whose formatter writes bootstrap records into the checkpoint of offset 0."""
ACL_RANGES_LEVEL: Final = 32
"""4.4-IV1: ACLs whose host is a CIDR range (KIP-1276)."""
UNREGISTER_CONTROLLER_LEVEL: Final = 33
"""4.4-IV2: UnregisterControllerRecord (KIP-1312)."""

_WRITTEN_SINCE: Final[dict[type[MetadataRecord], tuple[int, ...]]] = {
    RegisterBrokerRecord: (0, MINIMUM_LEVEL, ZK_MIGRATION_LEVEL, DIRECTORIES_LEVEL, CORDONED_DIRECTORIES_LEVEL),
    PartitionRecord: (MINIMUM_LEVEL, DIRECTORIES_LEVEL, ELR_LEVEL),
    PartitionChangeRecord: (MINIMUM_LEVEL, DIRECTORIES_LEVEL, ELR_LEVEL),
    BrokerRegistrationChangeRecord: (MINIMUM_LEVEL, MINIMUM_LEVEL, DIRECTORIES_LEVEL, CORDONED_DIRECTORIES_LEVEL),
    ZkMigrationStateRecord: (ZK_MIGRATION_LEVEL,),
    UserScramCredentialRecord: (SCRAM_LEVEL,),
    RemoveUserScramCredentialRecord: (SCRAM_LEVEL,),
    BeginTransactionRecord: (TRANSACTIONS_LEVEL,),
    EndTransactionRecord: (TRANSACTIONS_LEVEL,),
    AbortTransactionRecord: (TRANSACTIONS_LEVEL,),
    DelegationTokenRecord: (DELEGATION_TOKENS_LEVEL,),
    RemoveDelegationTokenRecord: (DELEGATION_TOKENS_LEVEL,),
    RegisterControllerRecord: (CONTROLLER_REGISTRATION_LEVEL,),
    ClearElrRecord: (ELR_LEVEL,),
    UnregisterControllerRecord: (UNREGISTER_CONTROLLER_LEVEL,),
}
"""The level from which each version of a record may be written; other records have version 0, from the minimum on."""


class UnknownLevelError(ValueError):
    """A number or name is not a known level of metadata.version."""


def metadata_version(level: int) -> MetadataVersion:
    """Return the level with this number.

    Raises:
        UnknownLevelError: the number is unknown, or below the minimum.
    """
    version = _BY_LEVEL.get(level)
    if version is None:
        raise UnknownLevelError(
            f"metadata.version has no level {level}: known are {level_name(MINIMUM_LEVEL)} to "
            f"{level_name(METADATA_VERSIONS[-1].level)}"
        )
    return version


def level_name(level: int) -> str:
    """Return name and number of a level, "4.5-IV0 (34)", or only the number of an unknown one."""
    name = _BEFORE.get(level) or _BY_LEVEL.get(level)
    return str(level) if name is None else f"{name} ({level})"


def plain_level_name(level: int) -> str:
    """Return the level's name, "4.5-IV0", or the number of an unknown one."""
    name = _BEFORE.get(level) or _BY_LEVEL.get(level)
    return str(level if name is None else name)


def level_text(feature: str, level: int) -> str:
    """Return a feature's level for output: `4.3-IV0 (30)` for metadata.version, the number for another."""
    return level_name(level) if feature == FEATURE_NAME else str(level)


def parse_metadata_version(text: str) -> MetadataVersion:
    """Return the level with this name: "4.3-IV0", or "4.3" and "4.3.1" for the newest production level of a release.

    Raises:
        UnknownLevelError: the name is unknown. A level in development is found only by its full name.
    """
    release = ".".join(text.split(".")[:2])
    version = _BY_NAME.get(text) or _BY_RELEASE.get(release)
    if version is None:
        first, last = METADATA_VERSIONS[0], metadata_version(LATEST_PRODUCTION)
        raise UnknownLevelError(f"{text!r} is no metadata.version: known are {first} to {last}")
    return version


def write_version(record_type: type[MetadataRecord], metadata_version_level: int) -> int:
    """Return the highest version of this record that may be written at this finalized level.

    Raises:
        InvariantViolation: the level is unknown, or the record may not be written at it.
    """
    if metadata_version_level not in _BY_LEVEL:
        raise InvariantViolation(f"{record_type.__name__} at level {metadata_version_level}, which is unknown")
    since = _WRITTEN_SINCE.get(record_type, (MINIMUM_LEVEL,))
    for version in range(len(since) - 1, -1, -1):
        if metadata_version_level >= since[version]:
            return version
    raise InvariantViolation(
        f"{record_type.__name__} may not be written at {level_name(metadata_version_level)}, "
        f"only from {level_name(since[0])} on"
    )


def is_writable(record_type: type[MetadataRecord], metadata_version_level: int) -> bool:
    """Return True if any version of this record may be written at this finalized level."""
    since = _WRITTEN_SINCE.get(record_type, (MINIMUM_LEVEL,))
    return metadata_version_level in _BY_LEVEL and metadata_version_level >= since[0]
