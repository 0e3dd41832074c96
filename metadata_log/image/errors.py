"""What replay refuses, and how it says so.

Decides: the words of a refusal. Must not know: which record is refused when.
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError


class ReplayError(MetadataLogError):
    """A record that makes no sense after those before it: the log is damaged, or was read from the wrong place.

    The image that stood before is untouched.

    Attributes:
        record: name of the record's type, for instance `PartitionChangeRecord`.
        offset: of the record.
        why: what is wrong with it.
        lacks_partition: whether it changes a partition that its topic does not have.
    """

    def __init__(self, record: str, offset: int, why: str, *, lacks_partition: bool = False) -> None:
        self.record = record
        self.offset = offset
        self.why = why
        self.lacks_partition = lacks_partition
        super().__init__(f"cannot replay {record} at offset {offset}: {why}")


class UnwritableMetadataError(MetadataLogError):
    """An image holds what no record of its finalised metadata.version can say, so no checkpoint can hold it."""


class ImpossibleRecordError(Exception):
    """Why one record cannot be applied; `ImageBuilder.apply` adds which and where. Never leaves this package."""


class NoSuchPartitionError(ImpossibleRecordError):
    """The record changes a partition that its topic does not have."""
