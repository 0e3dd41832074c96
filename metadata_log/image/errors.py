"""The errors of replay and of writing an image."""

from __future__ import annotations

from metadata_log.errors import MetadataLogError


class ReplayError(MetadataLogError):
    """A record is invalid after those before it: the log is corrupt, or was read from the wrong offset.

    The image before it is unchanged.

    Attributes:
        record: name of the record's type, for instance `PartitionChangeRecord`.
        offset: the record's offset.
        why: the fault, as part of a sentence.
        lacks_partition: True if the record changes a partition that its topic does not have.
    """

    def __init__(self, record: str, offset: int, why: str, *, lacks_partition: bool = False) -> None:
        self.record = record
        self.offset = offset
        self.why = why
        self.lacks_partition = lacks_partition
        super().__init__(f"cannot replay {record} at offset {offset}: {why}")


class UnwritableMetadataError(MetadataLogError):
    """An image has data for which its finalized metadata.version has no record, so no checkpoint can have it."""


class ImpossibleRecordError(Exception):
    """A record cannot be applied. `ImageBuilder.apply` turns it into ReplayError; it never leaves this package."""


class NoSuchPartitionError(ImpossibleRecordError):
    """The record changes a partition that its topic does not have."""
