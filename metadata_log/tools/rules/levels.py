"""Rules for the record versions at the finalised metadata.version.

Decides: which records may be written at a level. All records that one level forbids make one finding, since the level
may be wrong, and not the records. Must not know: other values of records, and whether the records before are known.
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import InvariantViolation
from metadata_log.records import LATEST_PRODUCTION, FeatureLevelRecord, MetadataRecord, decode_versioned, write_version
from metadata_log.records.levels import FEATURE_NAME, MINIMUM_LEVEL, ZK_MIGRATION_LEVEL, level_name
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.rules.place import Place

_ONE_BYTE: Final = 0x80
"""A number of the frame below this takes one byte."""


class LevelRules:
    """Checks the records of one log or one checkpoint, in order."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self._level: int | None = None
        self.is_newer = False
        """The level is a later release's: the records that may be written at it are unknown."""
        self._from = ""
        """Words for the place of the record that sets the level."""
        self._highest: dict[type[MetadataRecord], int] = {}
        """By type, the highest version that may be written at the level."""

    @property
    def level(self) -> int:
        """Return the finalised metadata.version after the last record, or 0 if unknown."""
        return self._level or 0

    @property
    def is_older(self) -> bool:
        """Return True if no level is finalised, as before Kafka 3.3, or a level below our controllers' minimum."""
        return (self._level is None or self._level < MINIMUM_LEVEL) and not self.is_newer

    @property
    def is_of_3_3(self) -> bool:
        """Return True if controllers of Kafka 3.3 or before may have written this: those from 3.4 on know higher
        levels."""
        return self.is_older or 0 < self.level < ZK_MIGRATION_LEVEL

    def start(self, level: int | None, where: str) -> None:
        """Continue from this level, which is set at `where`; None: no level."""
        self.is_newer = level is not None and level > LATEST_PRODUCTION
        self._level, self._from = None if self.is_newer else level, where
        self._highest = {}

    def on_record(self, record: MetadataRecord, value: bytes, offset: int, place: Place, *, is_trusted: bool) -> None:
        """Check a record. `is_trusted`: no record before it is missing; otherwise it is not judged."""
        if type(record) is FeatureLevelRecord and record.name == FEATURE_NAME:
            self.start(record.feature_level, f"{place.file} at offset {offset}")
        if self._level is None or self._level < MINIMUM_LEVEL or not is_trusted:
            return  # no table lists the record versions of lower levels
        highest = self._highest.get(type(record))
        if highest is None:
            try:
                highest = write_version(type(record), self._level)
            except InvariantViolation as violation:
                self._add(f"the record at offset {offset}: {violation}", offset, place)
                return
            self._highest[type(record)] = highest
        version = _version_of(value)
        if version > highest:
            name, level = type(record).__name__, level_name(self._level)
            meaning = (
                f"the {name} at offset {offset} is of version {version}, but at metadata.version {level} none above "
                f"{highest} may be written"
            )
            self._add(meaning, offset, place)

    def _add(self, meaning: str, offset: int, place: Place) -> None:
        self._sink.add(
            "record_above_level",
            f"{meaning} (the level is from {self._from})",
            group=(self._level, self._from),
            file=place.file,
            position=place.position,
            offset=offset,
            epoch=place.epoch,
        )


def _version_of(value: bytes) -> int:
    """Return the version of a decoded record. Its frame has three numbers, which another program may encode in more
    bytes."""
    return value[2] if max(value[:3]) < _ONE_BYTE else decode_versioned(value)[1]
