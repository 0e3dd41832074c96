"""The quorum of one log by its control records or a checkpoint's head: kraft.version and voters.

Decides: how a control batch changes the quorum. A record of a later release is skipped; the voters that it names are
unknown. Must not know: metadata records, and files.
"""

from __future__ import annotations

import msgspec

from metadata_log.errors import UnknownRecordError
from metadata_log.format.batch import batch_records
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord, control_or_newer
from metadata_log.records.newer import NOTHING_NEWER, NewerPart, NewerParts, newer_control, newer_level
from metadata_log.storage.checkpoint import Checkpoint
from metadata_log.storage.segment import LocatedBatch


class Quorum(msgspec.Struct, frozen=True, kw_only=True):
    """The voters and kraft.version at some offset.

    `voters_at`: the first offset of the batch with the latest VotersRecord, or -1 if a checkpoint has that record.
    `voters_before`: the VotersRecord before the latest, or None if unknown.
    """

    kraft_version: int = 0
    voters: VotersRecord | None = None
    voters_at: int = -1
    voters_before: VotersRecord | None = None
    newer: NewerParts = NOTHING_NEWER
    newer_elections: NewerParts = NOTHING_NEWER
    """LeaderChanges of a later release. They change neither the quorum nor the metadata."""
    newer_version: NewerPart | None = None
    """The part of a later release that sets kraft.version, which determines the form of the voters."""
    newer_voters: NewerPart | None = None
    """The part of a later release that names the latest voters. None: the voters are known, or not yet named."""

    @property
    def voters_place(self) -> str:
        """The place of the latest VotersRecord, in an error."""
        where = "the checkpoint" if self.voters_at < 0 else f"the batch at offset {self.voters_at}"
        return f"VotersRecord of {where}"

    def after(self, batch: LocatedBatch) -> Quorum:
        """Return the quorum after a control batch."""
        quorum = self
        for record in batch_records(batch.buffer, batch.header, batch.at):
            match control_or_newer(record.key or b"", record.value or b""):
                case UnknownRecordError() as error:
                    quorum = quorum.past(error)
                case KRaftVersionRecord(kraft_version=version):
                    quorum = quorum.at_version(version)
                case VotersRecord() as voters:
                    quorum = msgspec.structs.replace(
                        quorum,
                        voters=voters,
                        voters_at=int(batch.header.base_offset),
                        voters_before=quorum.voters,
                        newer_voters=None,
                    )
                case _:
                    pass
        return quorum

    def at_version(self, level: int) -> Quorum:
        """Return the quorum with this kraft.version, which may be a later release's."""
        part = newer_level(KRAFT_VERSION, level)
        if part is None:
            return msgspec.structs.replace(self, kraft_version=level)
        newer = self.newer.plus(part)
        return msgspec.structs.replace(self, kraft_version=level, newer=newer, newer_version=part)

    def past(self, error: UnknownRecordError) -> Quorum:
        """Return the quorum after a control record of a later release; the voters in such a record are unknown."""
        part = newer_control(error)
        if error.api_key == LeaderChangeMessage.CONTROL_TYPE:
            return msgspec.structs.replace(self, newer_elections=self.newer_elections.plus(part))
        quorum = msgspec.structs.replace(self, newer=self.newer.plus(part))
        if error.api_key == KRaftVersionRecord.CONTROL_TYPE:
            return msgspec.structs.replace(quorum, newer_version=part)
        if error.api_key == VotersRecord.CONTROL_TYPE:
            return msgspec.structs.replace(quorum, voters=None, voters_before=self.voters, newer_voters=part)
        return quorum


def quorum_of(checkpoint: Checkpoint) -> Quorum:
    """Return the quorum in a checkpoint's head."""
    quorum = Quorum(voters=checkpoint.voters).at_version(checkpoint.kraft_version)
    for error in checkpoint.newer:
        quorum = quorum.past(error)
    return quorum
