"""Parts of a log that a later release has written: unknown levels, features, records and files.

Decides: the name of such a part, and whether the metadata after it is still complete. Must not know: images, files, or
a tool's reaction. Controllers reject a log with such parts; tools judge the rest of it, and name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from metadata_log.errors import UnknownRecordError
from metadata_log.records.feature_levels import highest_feature_level
from metadata_log.records.levels import FEATURE_NAME, LATEST_PRODUCTION, level_name, metadata_version
from metadata_log.records.registry import CONTROL_RECORDS, METADATA_RECORDS

LATEST_RELEASE: Final = metadata_version(LATEST_PRODUCTION).release
"""The newest known release of Apache Kafka."""


class NewerPart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An unknown part of a log.

    Attributes:
        what: its name, as an item of a list.
        hides_metadata: the metadata after it is incomplete, because a record was skipped.
        is_of_kafka: a later release of Apache Kafka has it; False if it may also be a vendor's.
    """

    what: str
    hides_metadata: bool = False
    is_of_kafka: bool = True


class NewerParts(msgspec.Struct, frozen=True, kw_only=True):
    """All unknown parts of one log, each once, in the order of their discovery."""

    parts: tuple[NewerPart, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def hides_metadata(self) -> bool:
        """True if a record was skipped, so that the metadata is incomplete."""
        return any(part.hides_metadata for part in self.parts)

    def plus(self, *more: NewerPart) -> NewerParts:
        """Return these and `more`, each once."""
        new = tuple(part for part in dict.fromkeys(more) if part not in self.parts)
        return NewerParts(parts=(*self.parts, *new)) if new else self

    def text(self, not_done: str = "not judged") -> str:
        """Return the sentence that names all of them; `not_done`: the work that was left out because of them."""
        vendors = "" if any(part.is_of_kafka for part in self.parts) else " or by a vendor's"
        names = "; ".join(part.what for part in self.parts)
        return f"written by a release after {LATEST_RELEASE}{vendors}; {not_done}: {names}"


NOTHING_NEWER: Final = NewerParts()

DEPENDENT: Final = NewerPart(what="records that refer to those", hides_metadata=True)
"""Known records that cannot be replayed without a skipped one."""


def newer_record(error: UnknownRecordError) -> NewerPart:
    """Return the part that is a metadata record of an unknown type or version."""
    known = METADATA_RECORDS.get(error.api_key)
    if known is None:
        what = f"records of type {error.api_key}, which is not one of Apache Kafka's up to {LATEST_RELEASE}"
        return NewerPart(what=what, hides_metadata=True, is_of_kafka=False)
    return NewerPart(what=f"{known.__name__} of version {error.version}", hides_metadata=True)


def newer_control(error: UnknownRecordError) -> NewerPart:
    """Return the part that is a control record of an unknown type or version."""
    known = CONTROL_RECORDS.get(error.api_key)
    if known is None:
        return NewerPart(what=f"control records of type {error.api_key}")
    return NewerPart(what=f"{known.__name__} of version {error.version}")


def newer_tag(record: type) -> NewerPart:
    """Return the part that is an unknown tagged field of a record (KIP-482)."""
    return NewerPart(what=f"tagged fields of {record.__name__} that are not known")


def newer_level(name: str, level: int) -> NewerPart | None:
    """Return the part that is a level of a feature above the highest that is known here; None: it is known."""
    if name == FEATURE_NAME:
        return NewerPart(what=f"metadata.version {level_name(level)}") if level > LATEST_PRODUCTION else None
    if level <= highest_feature_level(name, LATEST_PRODUCTION):
        return None
    return NewerPart(what=f"{name} {level}")


def newer_levels(levels: Mapping[str, int]) -> tuple[NewerPart, ...]:
    """Return those of these levels, by feature, that are not known here."""
    return tuple(part for name, level in levels.items() if (part := newer_level(name, level)) is not None)
