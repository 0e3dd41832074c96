"""The quorum of one log, as its control records and a checkpoint's head say: kraft.version, and who votes.

Decides: what a control batch changes. A record of a later release is passed over; voters that it names are not known.
Must not know: metadata records, and files.
"""

from __future__ import annotations

import msgspec

from metadata_log.errors import UnknownRecordError
from metadata_log.format.batch import batch_records
from metadata_log.image.features import KRAFT_VERSION
from metadata_log.records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord, decode_control
from metadata_log.records.newer import NOTHING_NEWER, NewerParts, newer_control, newer_levels
from metadata_log.storage.checkpoint import Checkpoint
from metadata_log.storage.segment import LocatedBatch


class Quorum(msgspec.Struct, frozen=True, kw_only=True):
    """What the control records say of the voters, as of some offset.

    `voters_at` is the first offset of the batch with the latest VotersRecord, -1 where a checkpoint has it, and
    `voters_before` the one before that, None where none is known.
    """

    kraft_version: int = 0
    voters: VotersRecord | None = None
    voters_at: int = -1
    voters_before: VotersRecord | None = None
    newer: NewerParts = NOTHING_NEWER
    newer_elections: NewerParts = NOTHING_NEWER
    """Elections of a later release. They change neither the quorum nor the metadata."""

    def after(self, batch: LocatedBatch) -> Quorum:
        """After a control batch."""
        quorum = self
        for record in batch_records(batch.buffer, batch.header, batch.at):
            try:
                control = decode_control(record.key or b"", record.value or b"")
            except UnknownRecordError as error:
                quorum = quorum.past(error)
                continue
            match control:
                case KRaftVersionRecord(kraft_version=version):
                    newer = quorum.newer.plus(*newer_levels({KRAFT_VERSION: version}))
                    quorum = msgspec.structs.replace(quorum, kraft_version=version, newer=newer)
                case VotersRecord() as voters:
                    at, before = int(batch.header.base_offset), quorum.voters
                    quorum = msgspec.structs.replace(quorum, voters=voters, voters_at=at, voters_before=before)
                case _:
                    pass
        return quorum

    def past(self, error: UnknownRecordError) -> Quorum:
        """Return the quorum after a control record of a later release; voters that such a record names are unknown."""
        if error.api_key == LeaderChangeMessage.CONTROL_TYPE:
            return msgspec.structs.replace(self, newer_elections=self.newer_elections.plus(newer_control(error)))
        newer = self.newer.plus(newer_control(error))
        if error.api_key != VotersRecord.CONTROL_TYPE:
            return msgspec.structs.replace(self, newer=newer)
        return msgspec.structs.replace(self, newer=newer, voters=None, voters_before=self.voters)


def quorum_of(checkpoint: Checkpoint) -> Quorum:
    """Return the quorum by a checkpoint's head."""
    newer = NOTHING_NEWER.plus(*newer_levels({KRAFT_VERSION: checkpoint.kraft_version}))
    quorum = Quorum(kraft_version=checkpoint.kraft_version, voters=checkpoint.voters, newer=newer)
    for error in checkpoint.newer:
        quorum = quorum.past(error)
    return quorum
