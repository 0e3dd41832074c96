"""Release a stopped agent to another quorum: its metadata log is moved aside, and fetched again from its begin.

Decides: that both ids must be named, and the order of the moves, so that a crash leaves one of the two logs. Must not
know partition directories. The running agent judges them; without its metadata log, it has no proof that any is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from metadata_log.directory import (
    METADATA_DIRECTORY,
    CommittedState,
    DirectoryLock,
    read_committed_state,
    write_committed_state,
)
from metadata_log.errors import WrongUseError
from metadata_log.files.port import Files
from metadata_log.ids import TopicId, id_text, is_reserved_topic_id
from metadata_log.offsets import Offset

_PREPARED: Final = f"{METADATA_DIRECTORY}.{'0' * 32}-future"
"""The new directory until it is complete. The agent and Kafka's broker skip this name."""


class ReleaseRefusedError(WrongUseError):
    """The agent is not released; the message gives the reason. Nothing has changed."""


class Released(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A completed release."""

    aside: str
    """The path of the former metadata log."""
    high_watermark: Offset
    """The committed end of the former metadata log, exclusive."""


def release(
    files: Files,
    log_dirs: Sequence[str],
    metadata_log_dir: str,
    *,
    own_id: TopicId,
    accepted_id: TopicId,
    new_token: Callable[[], bytes],
) -> Released:
    """Move the log of the metadata topic `own_id` aside; from then on the agent accepts only a log of `accepted_id`.

    Both ids are the same if the quorum was restored to an earlier time.

    `new_token`: returns 16 random bytes for the new name of the former log.

    Raises:
        ReleaseRefusedError: the log has another id or none, or an id is reserved. Nothing has changed.
        DirectoryLockedError: the agent runs.
        CorruptFileError: `committed-state` cannot be read.
        OSError: a call failed. Run it again with the same ids.
    """
    for topic_id in (own_id, accepted_id):
        if is_reserved_topic_id(topic_id):
            raise ReleaseRefusedError(f"{id_text(topic_id)} is no metadata topic's own id")
    locks: list[DirectoryLock] = []
    try:
        locks.extend(DirectoryLock(files, path) for path in dict.fromkeys((*log_dirs, metadata_log_dir)))
        return _release_locked(files, metadata_log_dir, own_id, accepted_id, new_token)
    finally:
        for lock in reversed(locks):
            lock.release()


def _release_locked(
    files: Files, metadata_log_dir: str, own_id: TopicId, accepted_id: TopicId, new_token: Callable[[], bytes]
) -> Released:
    present, prepared = f"{metadata_log_dir}/{METADATA_DIRECTORY}", f"{metadata_log_dir}/{_PREPARED}"
    state = read_committed_state(files, present) if files.exists(present) else None
    if state is None:
        raise ReleaseRefusedError(
            f"{present} does not say which log it holds: it has no committed-state. Start the agent with this release "
            "once, beside the quorum that it belongs to"
        )
    if state.topic_id != own_id:
        held = "no metadata topic's" if state.topic_id is None else id_text(state.topic_id)
        raise ReleaseRefusedError(f"the log in {present} is {held}, not {id_text(own_id)}: nothing was changed")
    files.mkdirs(prepared)
    write_committed_state(files, prepared, CommittedState(high_watermark=Offset(0), topic_id=accepted_id))
    aside = f"{present}.{new_token().hex()}-stray"
    # If a crash comes between the two renames, finish_release does the second one at the next start.
    files.rename(present, aside)
    files.fsync_dir(metadata_log_dir)
    files.rename(prepared, present)
    files.fsync_dir(metadata_log_dir)
    return Released(aside=aside, high_watermark=state.high_watermark)


def finish_release(files: Files, metadata_log_dir: str) -> bool:
    """Complete a release that a crash interrupted, before an agent starts; return True if there was one.

    Without this, the agent would accept the log of any quorum.

    Raises:
        DirectoryLockedError: another process uses the directory.
    """
    present, prepared = f"{metadata_log_dir}/{METADATA_DIRECTORY}", f"{metadata_log_dir}/{_PREPARED}"
    if files.exists(present) or not files.exists(prepared):
        return False
    lock = DirectoryLock(files, metadata_log_dir)
    try:
        files.rename(prepared, present)
        files.fsync_dir(metadata_log_dir)
    finally:
        lock.release()
    return True
