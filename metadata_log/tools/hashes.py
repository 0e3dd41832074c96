"""The image hash of one or several copies of a metadata log, at one offset.

Decides: at which offset copies are compared when none is named. Must not know: how a hash is computed (`image.hash`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.image.hash import image_hash
from metadata_log.tools.history import HistoryError, LogHistory, State, file_history, open_history
from metadata_log.tools.sources import find_sources


class HashLine(msgspec.Struct, frozen=True, kw_only=True):
    """The hash of one copy. `end_offset` is exclusive; `problem` says why there is none."""

    source: str
    path: str
    end_offset: int | None = None
    epoch: int | None = None
    hash: str | None = None
    problem: str | None = None


def histories(paths: Sequence[Path]) -> list[tuple[str, LogHistory]]:
    """Each log and file at these paths, with what it is called.

    Raises:
        SourceError, HistoryError: one is none.
    """
    sources = find_sources(paths)
    found = [(node.label, open_history(node.metadata)) for node in sources.nodes if node.metadata is not None]
    found += [(path.name, file_history(path)) for path in sources.files]
    if not found:
        raise HistoryError(f"{', '.join(map(str, paths))}: no metadata log is there, only other disks of a node")
    return found


def hash_of(state: State) -> str:
    """The hash of a state, in hexadecimal.

    Raises:
        UnwritableMetadataError: there is no metadata.version yet.
    """
    return image_hash(state.image, state.quorum.kraft_version, state.quorum.voters).hex


def hash_logs(paths: Sequence[Path], at: int | None = None) -> list[HashLine]:
    """The hashes at offset `at`; by default at the last offset that all copies have a state for.

    Raises:
        SourceError, HistoryError: a path is none of a log.
        MetadataLogError: files are damaged.
    """
    found = histories(paths)
    if at is not None:
        return [_line(label, history, at) for label, history in found]
    ends = {label_path(history): _end(history) for _, history in found}
    common = min(ends.values())
    common = min(history.state_at(common).end if history.start_offset <= common else common for _, history in found)
    return [_line(label, history, common) for label, history in found]


def label_path(history: LogHistory) -> str:
    """Which log it is."""
    return str(history.path)


def _end(history: LogHistory) -> int:
    end = history.start_offset
    for batch in history.batches(end):
        end = batch.header.next_offset
    return end


def _line(label: str, history: LogHistory, at: int) -> HashLine:
    try:
        state = history.exact(at)
    except HistoryError as error:
        return HashLine(source=label, path=str(history.path), problem=str(error))
    end = state.image.offset_and_epoch
    return HashLine(
        source=label, path=str(history.path), end_offset=int(end.offset), epoch=int(end.epoch), hash=hash_of(state)
    )
