"""Directories for applied repairs: every node of the fixtures at every moment, whole or damaged in one way.

Decides: the damage. Must not know: the repairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec

from metadata_log.directory import METADATA_DIRECTORY, QUORUM_STATE_FILE
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import iter_batches
from metadata_log.format.epoch_file import EPOCH_FILE
from tests.golden.layout import all_nodes
from tests.support.repairs import load

Damage = Callable[[SimulatedFiles, str], None]
"""A function that damages one log directory."""


class Moment(msgspec.Struct, frozen=True):
    """A moment of a scenario and the nodes whose directories were kept: `failovers/divergent-before`, say."""

    name: str
    nodes: tuple[int, ...]

    @property
    def controllers(self) -> tuple[int, ...]:
        """The nodes with the role controller."""
        return tuple(node for node in self.nodes if node not in self.brokers)

    @property
    def brokers(self) -> tuple[int, ...]:
        """The nodes with the role broker."""
        return tuple(one.node_id for one in all_nodes() if one.path.startswith(f"{self.name}/node-") and one.is_broker)

    @property
    def is_static(self) -> bool:
        """True if the voters are static (kraft.version 0)."""
        return self.name.startswith("static-")

    def copied(self, *nodes: int, damage: Damage | None = None, beside: SimulatedFiles | None = None) -> SimulatedFiles:
        """Return the directories of these nodes, `/n1` and so on; `damage` is done to each. `beside`: others' files."""
        files = SimulatedFiles() if beside is None else beside
        for node in nodes:
            load(f"{self.name}/node-{node}/data", files, log_dir(node))
            if damage is not None:
                damage(files, log_dir(node))
        return files


@cache
def moments() -> tuple[Moment, ...]:
    """Return every moment of every scenario."""
    found: dict[str, list[int]] = {}
    for node in all_nodes():
        found.setdefault(node.path.rpartition("/")[0], []).append(node.node_id)
    return tuple(Moment(name, tuple(sorted(nodes))) for name, nodes in sorted(found.items()))


def moment(name: str) -> Moment:
    """Return a moment by its name."""
    return next(one for one in moments() if one.name == name)


def log_dir(node: int) -> str:
    """Return the simulated log directory of a node."""
    return f"/n{node}"


def torn_tail(files: SimulatedFiles, directory: str) -> None:
    """Cut the last write off 3 bytes before its end; no index says that the segment was closed after it."""
    last = segments(files, directory)[-1]
    for suffix in (".index", ".timeindex"):
        _remove(files, last.removesuffix(".log") + suffix)
    cut(files, last, len(files.content(last)) - 3)


def damaged_checkpoint(files: SimulatedFiles, directory: str) -> None:
    """Flip a bit in the newest checkpoint."""
    files.rot(checkpoints(files, directory)[-1], 200, 0x10)


def wrong_indexes(files: SimulatedFiles, directory: str) -> None:
    """Flip bits in each index that is not empty, and cut the epochs short."""
    metadata = f"{directory}/{METADATA_DIRECTORY}"
    for name in files.listdir(metadata):
        if name.endswith((".index", ".timeindex")) and files.content(f"{metadata}/{name}"):
            files.rot(f"{metadata}/{name}", 3, 0x7F)
    cut(files, f"{metadata}/{EPOCH_FILE}", 5)


def missing_indexes(files: SimulatedFiles, directory: str) -> None:
    """Remove the indexes of the first segment, and the epochs."""
    first = segments(files, directory)[0].removesuffix(".log")
    for path in (f"{first}.index", f"{first}.timeindex", f"{directory}/{METADATA_DIRECTORY}/{EPOCH_FILE}"):
        _remove(files, path)


def damaged_beginning(files: SimulatedFiles, directory: str) -> None:
    """Flip a bit in the second batch of the first segment."""
    first = segments(files, directory)[0]
    position = [at for at, _ in iter_batches(files.content(first))][1]
    files.rot(first, position + 70, 0x01)


def no_vote(files: SimulatedFiles, directory: str) -> None:
    """Remove the quorum-state, which held an epoch and a vote."""
    _remove(files, f"{directory}/{METADATA_DIRECTORY}/{QUORUM_STATE_FILE}")


def segments(files: SimulatedFiles, directory: str) -> list[str]:
    """Return the segments of a log directory, in order."""
    return _named(files, directory, ".log")


def checkpoints(files: SimulatedFiles, directory: str) -> list[str]:
    """Return the checkpoints of a log directory, the oldest first."""
    return _named(files, directory, ".checkpoint")


def base_offsets(files: SimulatedFiles, directory: str) -> list[int]:
    """Return the offset at which each batch of a whole log begins."""
    return [
        int(header.base_offset)
        for path in segments(files, directory)
        for _, header in iter_batches(files.content(path))
    ]  # fmt: skip


def cut(files: SimulatedFiles, path: str, size: int) -> None:
    """Cut a file to a size, durably."""
    handle = files.open(path)
    handle.truncate(size)
    handle.fdatasync()


def formatted(files: SimulatedFiles, directory: str, identity: str) -> None:
    """Make a log directory that holds this meta.properties and no log."""
    files.mkdirs(directory)
    handle = files.open(f"{directory}/meta.properties", create=True)
    handle.pwrite(identity.encode(), 0)
    handle.fdatasync()
    files.fsync_dir(directory)


def _named(files: SimulatedFiles, directory: str, suffix: str) -> list[str]:
    metadata = f"{directory}/{METADATA_DIRECTORY}"
    return [f"{metadata}/{name}" for name in sorted(files.listdir(metadata)) if name.endswith(suffix)]


def _remove(files: SimulatedFiles, path: str) -> None:
    """Remove a file; not every node has each index."""
    if files.exists(path):
        files.unlink(path)
        files.fsync_dir(path.rpartition("/")[0])
