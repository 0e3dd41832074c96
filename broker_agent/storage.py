"""The partition directories of one agent on disk: reading its log directories, and the moves in them.

Decides: how a directory is made, staged for deletion, quarantined and removed so that a crash at any moment leaves no
half-done move. Must not know: the image, or why a directory is moved (see `broker_agent.reconciler`).

Layout of a log directory, as a Kafka broker keeps it, but for `deleting/`:

    {topic}-{partition}/partition.metadata, leader-epoch-checkpoint, 00000000000000000000.log
    {topic}-{partition}.{32 hex digits}-stray/     quarantined, never deleted
    deleting/{topic id}_{partition}/               stale: removed at the time that its `remove-at` holds (KIP-516)
    deleting/new.{topic id}_{partition}/           being made; renamed when complete

Each log directory has its own `deleting/`, since a rename must not cross file systems. It is removed when empty, since
a Kafka broker refuses to start with a folder that is not a partition's.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator

import msgspec

from metadata_log.directory import PARTITION_METADATA_FILE, read_partition_metadata, write_partition_metadata
from metadata_log.directory.staging import DELETING, REMOVE_AFTER, parse_staged
from metadata_log.directory.staging import REMOVE_AT as _REMOVE_AT
from metadata_log.directory.staging import UNFINISHED as _UNFINISHED
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import METADATA_TOPIC_NAME, TopicId, id_text
from metadata_log.java_text import java_int
from metadata_log.reconcile import facts_of
from metadata_log.topic_names import name_fault

_LARGEST_PARTITION = (1 << 31) - 1
_LONGEST_NAME = 255
"""The longest file name in bytes. Topic names are ASCII."""
_OWN_FAULTS = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
"""Errors of one file. Any other OSError counts as a failure of the disk."""
_TIMES = re.compile(r"version: 0\nstaged_at: (\S+)\ndelay: (\S+)\ndue: (\S+)\n", re.ASCII)
_SET_ASIDE = re.compile(r".+\.[0-9a-f]{32}-(stray|delete|future)")


class PartitionDirectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A directory named `{topic}-{partition}`, and the topic id in its `partition.metadata`."""

    log_dir: str
    topic: str
    partition: int
    topic_id: TopicId | None
    """None if the file is missing or unreadable; `fault` has the reason."""
    fault: str | None = None

    @property
    def name(self) -> str:
        """The directory's name, `{topic}-{partition}`."""
        return f"{self.topic}-{self.partition}"

    @property
    def path(self) -> str:
        """The directory's full path."""
        return f"{self.log_dir}/{self.name}"


class RemovalTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The times of a staged directory: both `remove_at_ms` and `due_ms` must be past before its removal."""

    remove_at_ms: int
    """Wall clock, ms since 1970; kept in `remove-at`, the only file that the previous release reads and writes."""
    staged_at_ms: int
    """Wall clock when the directory was staged, ms since 1970."""
    delay_ms: int
    due_ms: int
    """The agent's own clock: monotonic ms, summed over its runs."""


class StagedDirectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stale directory under `deleting/`, and when it may be removed."""

    log_dir: str
    name: str
    times: RemovalTimes

    @property
    def remove_at_ms(self) -> int:
        """Wall clock, ms since 1970; before then the directory is not removed."""
        return self.times.remove_at_ms

    @property
    def path(self) -> str:
        """The directory's full path."""
        return f"{self.log_dir}/{DELETING}/{self.name}"

    @property
    def replica(self) -> tuple[TopicId, int] | None:
        """Topic id and partition in the directory's name, or None if the name has another form."""
        return parse_staged(self.name)


class LogDirFailedError(OSError):
    """A log directory cannot be read or written. The others stay in use."""

    def __init__(self, log_dir: str, why: Exception | str) -> None:
        self.log_dir = log_dir
        self.why = str(why)
        super().__init__(f"log directory {log_dir} has failed: {why}")


@contextlib.contextmanager
def on_disk(log_dir: str) -> Iterator[None]:
    """Raise LogDirFailedError for any OSError but FileExistsError within the block."""
    try:
        yield
    except (FileExistsError, LogDirFailedError):
        raise
    except OSError as error:
        raise LogDirFailedError(log_dir, error) from error


def scan(files: Files, log_dir: str) -> tuple[list[PartitionDirectory], list[str]]:
    """Return the partition directories of a log directory, and printable names of other directories.

    The agent never touches these others: a name with a leading zero or too large a number, a link, an unknown entry of
    `deleting/`. Neither list has files, quarantined directories, or the metadata log's own directory.

    Raises:
        OSError: the disk failed.
    """
    partitions: list[PartitionDirectory] = []
    unknown: list[str] = []
    for name in files.listdir(log_dir):
        if not _is_candidate(files, log_dir, name):
            continue
        named = _partition_of(files, log_dir, name)
        if named is None:
            unknown.append(printable(name))
        else:
            partitions.append(_read(files, log_dir, *named))
    in_deleting = files.listdir(f"{log_dir}/{DELETING}") if files.is_dir(f"{log_dir}/{DELETING}") else []
    strange = (
        each for each in in_deleting if not each.startswith(_UNFINISHED) and not _is_staged(files, log_dir, each)
    )
    return partitions, [*unknown, *(f"{DELETING}/{printable(name)}" for name in strange)]


def differs(files: Files, log_dir: str, name: str, known: PartitionDirectory | None) -> bool:
    """Return True if the entry with this name is not the directory `known` (None: no directory in use).

    A new directory without a readable topic id does not differ: a copy of it may be in progress.
    """
    found = None
    try:
        if _is_candidate(files, log_dir, name):
            named = _partition_of(files, log_dir, name)
            found = None if named is None else _read(files, log_dir, *named)
    except OSError:
        return True  # the comparison finds out if the disk has failed
    is_unfinished = known is None and found is not None and found.topic_id is None
    return found != known and not is_unfinished


def _is_candidate(files: Files, log_dir: str, name: str) -> bool:
    if name in (DELETING, f"{METADATA_TOPIC_NAME}-0") or not files.is_dir(f"{log_dir}/{name}"):
        return False
    return _SET_ASIDE.fullmatch(name) is None


def _partition_of(files: Files, log_dir: str, name: str) -> tuple[str, int] | None:
    """Return topic and partition in a directory's name; None for a link or a name that no partition may have."""
    facts = facts_of(name, None)
    if facts.topic_name is None or facts.partition is None or files.is_link(f"{log_dir}/{name}"):
        return None
    if name_problem(facts.topic_name, facts.partition) is not None:
        return None
    return facts.topic_name, facts.partition


def _is_staged(files: Files, log_dir: str, name: str) -> bool:
    """Return True if an agent staged this entry of `deleting/`."""
    path = f"{log_dir}/{DELETING}/{name}"
    return parse_staged(name) is not None and files.is_dir(path) and not files.is_link(path)


def _read(files: Files, log_dir: str, topic: str, partition: int) -> PartitionDirectory:
    topic_id, fault = None, None
    try:
        topic_id = read_partition_metadata(files, f"{log_dir}/{topic}-{partition}")
    except FileNotFoundError:
        fault = f"it has no {PARTITION_METADATA_FILE}"
    except IsADirectoryError:
        fault = f"its {PARTITION_METADATA_FILE} is a directory"
    except OSError as error:
        if error.errno not in _OWN_FAULTS:
            raise
        fault = f"its {PARTITION_METADATA_FILE} cannot be read: {error.strerror}"
    except CorruptFileError as error:
        fault = str(error)
    return PartitionDirectory(log_dir=log_dir, topic=topic, partition=partition, topic_id=topic_id, fault=fault)


def name_problem(topic: str, partition: int) -> str | None:
    """Return why no directory may have this name, or None. A name that Kafka rejects may lead out of `log.dirs`."""
    fault = name_fault(topic)
    if fault is not None:
        return f"no topic may have its name: {fault}"
    if topic == METADATA_TOPIC_NAME:
        return "its name is the metadata topic's"
    if not 0 <= partition <= _LARGEST_PARTITION:
        return f"no partition may have the number {partition}"
    return None


def printable(name: str) -> str:
    """Return a name for logs and messages: escaped if it has line feeds, NULs or bytes that are not text."""
    return name if name.isprintable() else ascii(name)[1:-1]


def create(files: Files, log_dir: str, topic: str, partition: int, topic_id: TopicId) -> PartitionDirectory:
    """Make the directory of a new partition, complete or not at all.

    Raises:
        ValueError: `name_problem` rejects the name. FileExistsError: the name is taken. OSError: the disk failed.
    """
    problem = name_problem(topic, partition)
    if problem is not None:
        raise ValueError(problem)
    if files.exists(f"{log_dir}/{topic}-{partition}") or files.is_link(f"{log_dir}/{topic}-{partition}"):
        raise FileExistsError(errno.EEXIST, "something else has its name", f"{log_dir}/{topic}-{partition}")
    made = PartitionDirectory(log_dir=log_dir, topic=topic, partition=partition, topic_id=topic_id)
    unfinished = f"{log_dir}/{DELETING}/{_UNFINISHED}{id_text(topic_id)}_{partition}"
    files.mkdirs(unfinished)
    files.open(f"{unfinished}/{0:020d}.log", create=True).close()
    replace_file(files, f"{unfinished}/leader-epoch-checkpoint", b"0\n0\n")
    write_partition_metadata(files, unfinished, topic_id)
    files.fsync_dir(unfinished)
    files.rename(unfinished, made.path)
    files.fsync_dir(log_dir)
    tidy(files, log_dir)
    return made


def stage(files: Files, directory: PartitionDirectory, times: RemovalTimes) -> StagedDirectory:
    """Move a stale directory under `deleting/`, to be removed after `times`.

    The move comes first. If a crash comes before the times are written, the next start writes new ones.
    """
    if directory.topic_id is None:
        raise ValueError(f"{directory.path} has no topic id: it can be quarantined, not staged")
    base = f"{id_text(directory.topic_id)}_{directory.partition}"
    files.mkdirs(f"{directory.log_dir}/{DELETING}")
    name, again = base, 1
    while files.exists(f"{directory.log_dir}/{DELETING}/{name}"):
        again += 1
        name = f"{base}.{again}"
    moved = StagedDirectory(log_dir=directory.log_dir, name=name, times=times)
    files.rename(directory.path, moved.path)
    files.fsync_dir(f"{directory.log_dir}/{DELETING}")
    files.fsync_dir(directory.log_dir)
    write_times(files, moved)
    return moved


def write_times(files: Files, directory: StagedDirectory) -> None:
    """Write both files, `remove-at` last: alone, it counts as written by the previous release."""
    times = directory.times
    text = f"version: 0\nstaged_at: {times.staged_at_ms}\ndelay: {times.delay_ms}\ndue: {times.due_ms}\n"
    replace_file(files, f"{directory.path}/{REMOVE_AFTER}", text.encode("ascii"))
    replace_file(files, f"{directory.path}/{_REMOVE_AT}", b"%d\n" % times.remove_at_ms)


def staged_names(files: Files, log_dir: str) -> list[str]:
    """Return the names of staged directories in a log directory."""
    root = f"{log_dir}/{DELETING}"
    return [name for name in files.listdir(root) if _is_staged(files, log_dir, name)] if files.exists(root) else []


def read_times(files: Files, log_dir: str, name: str) -> tuple[int | None, RemovalTimes | None]:
    """Return the time in `remove-at`, and all times; each None if a file is missing or damaged.

    The previous release wrote only `remove-at`.
    """
    path = f"{log_dir}/{DELETING}/{name}"
    try:
        at = _time(read_small_file(files, f"{path}/{_REMOVE_AT}").decode("ascii").strip())
    except (FileNotFoundError, CorruptFileError, UnicodeDecodeError):
        at = None
    try:
        found = _TIMES.fullmatch(read_small_file(files, f"{path}/{REMOVE_AFTER}").decode("ascii", "replace"))
    except (FileNotFoundError, CorruptFileError):
        found = None
    staged_at, delay, due = (None, None, None) if found is None else map(_time, found.groups())
    if at is None or staged_at is None or delay is None or due is None:
        return at, None
    return at, RemovalTimes(remove_at_ms=at, staged_at_ms=staged_at, delay_ms=delay, due_ms=due)


def _time(text: str) -> int | None:
    """Return a time of at least 0 in ms, or None."""
    at = java_int(text, 64)
    return None if at is None or at < 0 else at


def quarantine(files: Files, log_dir: str, name: str, token: bytes) -> str:
    """Rename a directory to Kafka's form `….{token}-stray`, and return its new name.

    `token` is 16 random bytes, so that two directories of one name can be quarantined. If the name is too long, the
    topic is cut, as Kafka cuts it.
    """
    topic, dash, partition = name.rpartition("-")
    suffix = f"{dash}{partition}.{token.hex()}-stray"
    aside = f"{topic[: _LONGEST_NAME - len(suffix)]}{suffix}"
    files.rename(f"{log_dir}/{name}", f"{log_dir}/{aside}")
    files.fsync_dir(log_dir)
    return aside


def remove(files: Files, directory: StagedDirectory) -> None:
    """Remove a staged directory and its contents. Its times are removed last: after a crash it is still staged."""
    _remove_tree(files, directory.path, last=(REMOVE_AFTER, _REMOVE_AT))
    tidy(files, directory.log_dir)


def clear_unfinished(files: Files, log_dir: str) -> list[str]:
    """Remove partition directories that a crash left half made; return their names."""
    root = f"{log_dir}/{DELETING}"
    if not files.exists(root):
        return []
    names = [name for name in files.listdir(root) if name.startswith(_UNFINISHED)]
    for name in names:
        _remove_tree(files, f"{root}/{name}")
    tidy(files, log_dir)
    return names


def tidy(files: Files, log_dir: str) -> None:
    """Remove `deleting/` if it is empty."""
    root = f"{log_dir}/{DELETING}"
    if files.exists(root) and not files.listdir(root):
        files.rmdir(root)
        files.fsync_dir(log_dir)


def _remove_tree(files: Files, path: str, *, last: tuple[str, ...] = ()) -> None:
    names = files.listdir(path)
    for name in sorted(names, key=lambda each: (last.index(each) + 1 if each in last else 0, each)):
        child = f"{path}/{name}"
        if files.is_dir(child) and not files.is_link(child):
            _remove_tree(files, child)
        else:
            files.unlink(child)
    files.rmdir(path)
