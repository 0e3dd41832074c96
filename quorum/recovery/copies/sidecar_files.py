"""The sidecar files of a copy: their epochs, vote and topic id, and which of them cannot be used.

Decides: whether newer software wrote such a file, or it is damaged. Must not know: what a repair does about it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.directory import (
    PARTITION_METADATA_FILE,
    QUORUM_STATE_FILE,
    QuorumState,
    read_partition_metadata,
    read_quorum_state,
)
from metadata_log.directory.quorum_state import epoch_of_newer
from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file
from metadata_log.format.epoch_file import EPOCH_FILE, parse_epochs
from metadata_log.format.epochs import EpochStart
from metadata_log.tools.findings.finding import why_unreadable
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.verify.sidecar_files import foreign_topic

NO_SUCH_FILE: Final = "there is no such file"


class Unread(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A sidecar file that cannot be used, or a missing `quorum-state`, and why.

    `is_newer`: newer software wrote it. `tells_epoch`: it is such a `quorum-state` whose epoch can be read
    nevertheless. `is_foreign`: it can be read, and is another directory's. `is_in_the_way`: a start fails at it or
    takes it for part of the log; to remove it loses nothing. `is_unreadable`: the system does not read it, so that no
    repair can back it up; it may be a directory. `allows_start`: an epoch history that is missing or wrong, with which
    a node starts nevertheless.
    """

    path: str
    why: str
    is_newer: bool
    is_foreign: bool = False
    tells_epoch: bool = False
    is_in_the_way: bool = False
    is_unreadable: bool = False
    allows_start: bool = False

    @property
    def forgets(self) -> bool:
        """Return True if an epoch that only this file held may be forgotten."""
        return self.is_vote and not self.tells_epoch

    @property
    def is_vote(self) -> bool:
        """Return True for `quorum-state`, which holds epoch and vote."""
        return self.path.endswith(f"/{QUORUM_STATE_FILE}")

    @property
    def is_epochs(self) -> bool:
        """Return True for the epoch history, which the log can rebuild.

        Kafka does not start with a damaged one. Its start adds the epochs above the last line, but a wrong line stays.
        """
        return self.path.endswith(f"/{EPOCH_FILE}")

    @property
    def is_topic(self) -> bool:
        """Return True for `partition.metadata`. A node does not start if it names another topic or cannot be read."""
        return self.path.endswith(f"/{PARTITION_METADATA_FILE}")

    @property
    def is_made_anew(self) -> bool:
        """Return True if the node makes the file again once it is removed, and loses neither records nor vote."""
        return self.is_in_the_way or (self.is_topic and not self.is_newer and not self.is_foreign)


class Beside(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The sidecar files of one copy. `greatest_epoch`: in any of them, -1 without one.

    `epochs`: the epochs that these files prove, against which the log is read.
    """

    quorum_state: QuorumState | None
    quorum_problem: str | None
    greatest_epoch: int
    epochs: OwnEpochs
    unread: tuple[Unread, ...]


def without_vote(beside: Beside, metadata: str, *, has_records: bool) -> Beside:
    """Return the same, with a missing `quorum-state` as a problem: the caller has a log or checkpoint with records.

    For a checkpoint without a log, such as a rescued file, the missing file is no entry of `unread`: a repair goes on
    without it.
    """
    if beside.quorum_state is not None or beside.quorum_problem is not None:
        return beside
    gone = Unread(path=f"{metadata}/{QUORUM_STATE_FILE}", why=NO_SUCH_FILE, is_newer=False)
    what = "its log has records" if has_records else "it has a checkpoint of records"
    problem = f"{gone.path}: {NO_SUCH_FILE}, and {what}: a vote may be forgotten"
    unread = (*beside.unread, gone) if has_records else beside.unread
    return msgspec.structs.replace(beside, quorum_problem=problem, unread=unread)


def read_beside(files: Files, metadata: str) -> Beside:
    """Read `quorum-state`, `leader-epoch-checkpoint` and `partition.metadata`.

    Raises:
        PermissionError: permission for one of them is denied. Another user may read it.
    """
    state, problem, epoch = None, None, -1
    unread: list[Unread] = []
    known: tuple[EpochStart, ...] = ()
    try:
        state = read_quorum_state(files, metadata)
        epoch = -1 if state is None else int(state.leader_epoch)
    except NewerFileError as error:
        problem = str(error)
        held = epoch_of_newer(read_small_file(files, error.path))
        epoch = -1 if held is None else int(held)
        unread.append(msgspec.structs.replace(_unread(error), tells_epoch=held is not None))
    except CorruptFileError as error:
        problem = str(error)
        unread.append(_unread(error))
    except OSError as error:
        unread.append(_unreadable(f"{metadata}/{QUORUM_STATE_FILE}", error))
        problem = f"{unread[-1].path}: {unread[-1].why}"
    path = f"{metadata}/{EPOCH_FILE}"
    try:
        known = parse_epochs(read_small_file(files, path), path).entries if files.exists(path) else ()
    except CorruptFileError as error:
        unread.append(_unread(error))
    except OSError as error:
        unread.append(_unreadable(path, error))
    unread += _strange_topic(files, metadata)
    return Beside(
        quorum_state=state,
        quorum_problem=problem,
        greatest_epoch=max((epoch, *(int(entry.epoch) for entry in known))),
        epochs=OwnEpochs(
            latest=None if state is None else int(state.leader_epoch),
            starts={int(entry.start_offset): int(entry.epoch) for entry in known},
        ),
        unread=tuple(unread),
    )


def _strange_topic(files: Files, metadata: str) -> list[Unread]:
    path = f"{metadata}/{PARTITION_METADATA_FILE}"
    if not files.exists(path):  # a node writes it again at its start
        return []
    try:
        topic_id = read_partition_metadata(files, metadata)
    except CorruptFileError as error:
        return [_unread(error)]
    except OSError as error:
        return [_unreadable(path, error)]
    why = foreign_topic(topic_id)
    return [] if why is None else [Unread(path=path, why=why, is_newer=False, is_foreign=True)]


def _unread(error: CorruptFileError) -> Unread:
    return Unread(path=error.path, why=error.what, is_newer=isinstance(error, NewerFileError))


def _unreadable(path: str, error: OSError) -> Unread:
    """Return the file as unreadable, unless another user may read it.

    Raises:
        PermissionError: `error` is one.
    """
    if isinstance(error, PermissionError):
        raise error
    return Unread(path=path, why=why_unreadable(error), is_newer=False, is_unreadable=True)
