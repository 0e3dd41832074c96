"""Reads one copy of the metadata log from end to end.

Decides: which facts of a copy come from the log, and which from its sidecar files. Must not know: other copies. The
read is consistent, so that a running node's directory may be read as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from metadata_log.directory.lock import LOCK_FILE
from metadata_log.files.port import Files
from metadata_log.format.epochs import EpochStart
from metadata_log.tools.prefix.prefix_parts import NONE_MISNAMED
from metadata_log.tools.prefix.prefix_reader import read_prefix
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.consistent_read import OneMoment, read_at_one_moment
from metadata_log.tools.read.history import collector_paused
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.log_extent import Reach, read_with_reach
from quorum.recovery.copies.sidecar_files import Beside, Unread, read_beside, without_vote
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
    misnamed: Mapping[str, str] = NONE_MISNAMED,
) -> Copy:
    """Read a copy.

    Args:
        until: stop at this offset, as if the log ended there.
        may_be_blank: accept a directory that is only formatted.
        confirmed: epochs that other nodes' logs have, which the sidecar files of this copy may deny.
        misnamed: see `PrefixBuilder`.

    Raises:
        RefusedError: there is no metadata log, or `until` lies within a batch or outside.
        OSError: it cannot be read.
    """
    used_by = files.lock_holder(f"{place.log_dir}/{LOCK_FILE}")

    def read(moment: OneMoment) -> Copy:
        if not moment.names and not may_be_blank:
            raise RefusedError(f"{place.log_dir} holds no metadata log: give the directory that has one")
        # Read from `files`, not from `moment`: a running node may have begun an epoch after the moment's sidecar files
        # were read, and before its log's length was taken. Those files would deny that epoch.
        own = msgspec.structs.replace(read_beside(files, place.metadata).epochs, confirmed=confirmed, misnamed=misnamed)
        if not moment.names or until is not None:
            replica, prefix, reach = None, read_prefix(moment, place.metadata, own, until, misnamed), Reach()
        else:
            replica, prefix, reach = read_with_reach(moment, place, own)
        if until not in (None, prefix.end.offset):
            raise RefusedError(
                f"{place.log_dir} has no batch that ends at offset {until}: the nearest before it ends at "
                f"{prefix.end.offset}"
            )
        reach = msgspec.structs.replace(reach, used_by=used_by)
        copy = _copy_of(place, prefix, reach, read_beside(moment, place.metadata), confirmed)
        return msgspec.structs.replace(copy, replica=replica)

    with collector_paused():
        copy = read_at_one_moment(files, place.metadata, read)
    return copy if until is not None else msgspec.structs.replace(copy, audited=audited_of(files, place))


def _copy_of(place: Place, prefix: ValidPrefix, reach: Reach, beside: Beside, confirmed: frozenset[EpochStart]) -> Copy:
    has_records = any(part.size > 0 for part in prefix.segments)
    is_begun = has_records or any(found.end.offset > 0 for found in prefix.checkpoints)
    if place.manifest is None and is_begun:
        beside = without_vote(beside, place.metadata, has_records=has_records)
    is_short = reach.proved_end > prefix.end.offset or prefix.end.offset == 0
    return Copy(
        place=place,
        prefix=msgspec.structs.replace(prefix, stop=reach.judged(prefix.stop)),
        beside_epoch=beside.greatest_epoch,
        quorum_state=beside.quorum_state,
        quorum_problem=beside.quorum_problem,
        unread=(*beside.unread, *_obstacles(place, prefix, reach)),
        kept_committed=reach.kept_committed,
        kept_id=reach.kept_id,
        proved_end=max(reach.proved_end, int(prefix.end.offset)),
        short=reach.short if is_short else None,
        proof_of_more=reach.proof_of_more if is_short else None,
        is_end_unproven=is_short and reach.is_unproven,
        used_by=reach.used_by,
        confirmed=confirmed,
    )


def _obstacles(place: Place, prefix: ValidPrefix, reach: Reach) -> tuple[Unread, ...]:
    """Return the files at which a start fails, without those that already bound the valid prefix as damage."""
    passed = None if prefix.passed_over is None else prefix.passed_over.stop
    known = {f"{place.metadata}/{stop.file}" for stop in (prefix.stop, passed) if stop is not None}
    in_the_way = tuple(one for one in reach.obstacles if one.path not in known)
    if known or reach.short is not None:
        return in_the_way
    # Bytes after the last batch of a closed segment hide no record.
    segments = {f"{place.metadata}/{part.name}" for part in prefix.segments}
    destroyed = ((file, what) for file, _, what in reach.destroyed if file in segments)
    return (*in_the_way, *(Unread(path=file, why=what, is_newer=False) for file, what in destroyed if file is not None))
