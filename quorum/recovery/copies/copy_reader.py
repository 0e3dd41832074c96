"""How one copy of the metadata log is read, from end to end.

Decides: that one pass serves the checks and the safe part, unless only the whole log shows which epochs are wrong. Must
not know: other copies. Reads only, and as of one moment: a running node's may be read as well.
"""

from __future__ import annotations

import msgspec

from metadata_log.directory.lock import LOCK_FILE
from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.tools.read.consistent_read import OneMoment, read_at_one_moment
from metadata_log.tools.read.history import collector_paused
from metadata_log.tools.verify.file_names import is_beyond_offsets
from quorum.recovery.copies.copy_parts import NO_HINDSIGHT, Epochs
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.log_extent import Reach, reach_of
from quorum.recovery.copies.prefix_builder import PrefixBuilder
from quorum.recovery.copies.sidecar_files import read_beside
from quorum.recovery.journal.accepted_loss import audited_of
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import Place


def read_copy(
    files: Files,
    place: Place,
    *,
    until: int | None = None,
    may_be_blank: bool = False,
    confirmed: frozenset[EpochStart] = frozenset(),
) -> Copy:
    """Read a copy. `until`: only up to that offset, as if the log ended there.

    `may_be_blank`: the directory may be formatted and no more. `confirmed`: epochs that other nodes' logs have.

    Raises:
        RefusedError: there is no metadata log, or `until` lies within a batch or outside.
        OSError: it cannot be read.
    """
    used_by = files.lock_holder(f"{place.log_dir}/{LOCK_FILE}")

    def read(moment: OneMoment) -> Copy:
        if not moment.names and not may_be_blank:
            raise RefusedError(f"{place.log_dir} holds no metadata log: give the directory that has one")
        # A running node may have come to an epoch before its log's length was taken, and after its files were read.
        own = msgspec.structs.replace(read_beside(files, place.metadata).epochs, confirmed=confirmed)
        reader, reach = PrefixBuilder(moment, place, until, Epochs(own=own)), Reach()
        if not moment.names or until is not None:
            reader.read_segments()
        else:
            reach = reach_of(moment, place, reader, stops=reader.stops)
            # Checks pass over segments whose names say offsets that none can have; the safe part ends before them.
            if reach.hindsight != NO_HINDSIGHT or any(map(is_beyond_offsets, moment.names)):
                reader = PrefixBuilder(moment, place, until, Epochs(own=own, hindsight=reach.hindsight))
                reader.read_segments()
        reader.finish()
        return reader.copy(msgspec.structs.replace(reach, used_by=used_by))

    with collector_paused():
        copy = read_at_one_moment(files, place.metadata, read)
    return copy if until is not None else msgspec.structs.replace(copy, audited=audited_of(files, place))
