"""Which records may be written at the finalised metadata.version.

Decides: exactly that, and that what one level forbids is one finding: it may be the level that is wrong, and not so
many records. Must not know: what records say else, and whether those before are known.
"""

from __future__ import annotations

from typing import Final

from metadata_log.errors import InvariantViolation
from metadata_log.records import LATEST_PRODUCTION, FeatureLevelRecord, MetadataRecord, decode_versioned, write_version
from metadata_log.records.levels import FEATURE_NAME, MINIMUM_LEVEL, ZK_MIGRATION_LEVEL, level_name
from metadata_log.tools.findings.sink import FindingSink
from metadata_log.tools.rules.place import Place

_ONE_BYTE: Final = 0x80
"""Below this a number of the frame takes one byte."""


class LevelRules:
    """Takes the records of one log, or of one checkpoint, in order."""

    def __init__(self, sink: FindingSink) -> None:
        self._sink = sink
        self._level: int | None = None
        self.is_newer = False
        """The level is one of a later release, so that nothing is known of what may be written at it."""
        self._from = ""
        """Where that is said, in words."""
        self._highest: dict[type[MetadataRecord], int] = {}
        """By type, the highest version that may be written at the level."""

    @property
    def level(self) -> int:
        """The finalised metadata.version after the last record taken; 0 where none is known."""
        return self._level or 0

    @property
    def is_older(self) -> bool:
        """Return True if no level is finalised, as before Kafka 3.3, or one that is too low for our controllers."""
        return (self._level is None or self._level < MINIMUM_LEVEL) and not self.is_newer

    @property
    def is_of_3_3(self) -> bool:
        """Return True if controllers of Kafka 3.3 or before may be at work: those of 3.4 on know higher levels."""
        return self.is_older or 0 < self.level < ZK_MIGRATION_LEVEL

    def start(self, level: int | None, where: str) -> None:
        """Go on from this level, which is found at `where`; None: from none."""
        self.is_newer = level is not None and level > LATEST_PRODUCTION
        self._level, self._from = None if self.is_newer else level, where
        self._highest = {}

    def on_record(self, record: MetadataRecord, value: bytes, offset: int, place: Place, *, is_trusted: bool) -> None:
        """Take a record, and its value. `is_trusted`: no record before it is missing, so that it can be judged."""
        if type(record) is FeatureLevelRecord and record.name == FEATURE_NAME:
            self.start(record.feature_level, f"{place.file} at offset {offset}")
        if self._level is None or self._level < MINIMUM_LEVEL or not is_trusted:
            return  # of a lower level no table says what may be written
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
    """Of a record that was decoded. Its frame is three numbers, which a stranger may have written in more bytes."""
    return value[2] if max(value[:3]) < _ONE_BYTE else decode_versioned(value)[1]
