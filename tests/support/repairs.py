"""Repairs over simulated files loaded from real clusters' directories, and every way to interrupt one.

Decides: which files a starting node reads. Must not know: which repair runs.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.directory.quorum_state import QUORUM_STATE_FILE, format_quorum_state, parse_quorum_state
from metadata_log.directory.repair_files import HELD_SUFFIX
from metadata_log.files.port import Files, parent_of, read_file
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.offsets import Epoch
from metadata_log.voters import Endpoint
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import batches_from
from quorum.recovery.guards.liveness import ProbeResult
from quorum.recovery.guards.request import Proposal, Request
from quorum.recovery.journal.carry_out import Author, carry_out, finish
from quorum.recovery.journal.errors import AlreadyDoneError, RecoveryError
from quorum.recovery.journal.repair_record import JOURNAL_FILE, NEW_SUFFIX, RepairRecord, pending, work_root_of
from tests.support.file_states import state_of
from tests.support.fixture_files import FIXTURES

NOW_MS = 1_800_000_000_000
AUTHOR = Author(who="somebody@somewhere", command="kraft recover ...", now_ms=NOW_MS)
DRAWS = (0, 7)

Propose = Callable[[Files], Proposal]


def nobody(endpoints: Sequence[Endpoint]) -> Sequence[ProbeResult]:
    """Return no response from any endpoint."""
    assert endpoints
    return ()


def request(**changes: object) -> Request:
    """Return a request of an operator whose other replicas are all lost."""
    return Request(**{"now_ms": NOW_MS, "ask": nobody, "all_missing": True, **changes})  # type: ignore[arg-type]


def batch_ends(files: Files, copy: Copy) -> list[int]:
    """Return the end offset of each batch in the valid prefix."""
    return [int(batch.header.next_offset) for batch in batches_from(files, copy, 0)]


@lru_cache
def _archive() -> dict[str, bytes]:
    """Return every file of `clusters.tar.xz`."""
    found: dict[str, bytes] = {}
    with tarfile.open(FIXTURES / "clusters.tar.xz") as archive:
        for member in archive:
            reading = archive.extractfile(member)
            if reading is not None:
                found[member.name.removeprefix("./")] = reading.read()
    return found


@lru_cache
def _contents(source: str) -> dict[str, bytes]:
    """Return the files of a real log directory."""
    found = {name[len(source) + 1 :]: data for name, data in _archive().items() if name.startswith(f"{source}/")}
    assert found, source
    return found


def load(source: str, files: SimulatedFiles | None = None, target: str = "/data") -> SimulatedFiles:
    """Load a durable copy of a real log directory, such as `failovers/node-1/data`."""
    files = SimulatedFiles() if files is None else files
    for name, data in _contents(source).items():
        path = f"{target}/{name}"
        files.mkdirs(parent_of(path))
        handle = files.open(path, create=True)
        handle.pwrite(data, 0)
        handle.fdatasync()
        files.fsync_dir(parent_of(path))
    return files


def load_nodes(scenario: str, *nodes: int, files: SimulatedFiles | None = None) -> SimulatedFiles:
    """Load these nodes' log directories as `/n1`, `/n2` and so on."""
    files = SimulatedFiles() if files is None else files
    for node in nodes:
        load(f"{scenario}/node-{node}/data", files, f"/n{node}")
    return files


def know_epoch(files: SimulatedFiles, log_dir: str, epoch: int) -> None:
    """Set the epoch in its quorum-state, as a node does before it appends to its log."""
    path = f"{log_dir}/{METADATA_DIRECTORY}/{QUORUM_STATE_FILE}"
    state = msgspec.structs.replace(parse_quorum_state(files.content(path), path), leader_epoch=Epoch(epoch))
    handle = files.open(path)
    handle.truncate(0)
    handle.pwrite(format_quorum_state(state), 0)
    handle.fdatasync()


def tree(files: Files, directory: str) -> dict[str, bytes]:
    """Return the files that a node reads in a log directory: all but those of a repair under way."""
    found: dict[str, bytes] = {}
    for path in _files_below(files, directory):
        name = path[len(directory) + 1 :]
        if not name.endswith((NEW_SUFFIX, HELD_SUFFIX, ".tmp")) and name not in (JOURNAL_FILE, ".lock"):
            found[name] = read_file(files, path)
    return found


def leftovers(files: Files, directory: str) -> list[str]:
    """Return the files that a finished repair must not leave in the directory."""
    return [
        path
        for path in _files_below(files, directory)
        if path.endswith((NEW_SUFFIX, HELD_SUFFIX, ".tmp")) or path.endswith(f"/{JOURNAL_FILE}")
    ]


def forget_audits(files: Files, root: str) -> None:
    """Remove all files below a work root: its audit files, and the backups."""
    for path in list(_files_below(files, root)):
        files.unlink(path)
        files.fsync_dir(parent_of(path))


def written_out(files: SimulatedFiles, root: Path) -> None:
    """Write all files to a real disk, below `root`."""
    for path in (path for top in files.listdir("/") for path in _files_below(files, f"/{top}")):
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files.content(path))


def _files_below(files: Files, directory: str) -> Iterator[str]:
    if not files.exists(directory):
        return
    for name in files.listdir(directory):
        path = f"{directory}/{name}"
        if files.is_dir(path):
            yield from _files_below(files, path)
        else:
            yield path


def repair(files: Files, propose: Propose, *log_dirs: str) -> list[RepairRecord]:
    """Do what the command line does with --apply.

    It finishes an interrupted repair. If that repair is of several directories, it then proposes a new one.
    """
    interrupted = [path for path in log_dirs if files.exists(path) and pending(files, path) is not None]
    records = [record for path in interrupted if (record := finish(files, path)) is not None]
    if interrupted and len(log_dirs) == 1:
        return records
    try:
        proposal = propose(files)
    except AlreadyDoneError:
        if interrupted:
            return records
        raise
    for rewrite in proposal.rewrites:
        files.mkdirs(rewrite.log_dir)
        root = work_root_of(rewrite.log_dir)
        before = len(files.listdir(root)) if files.exists(root) else 0
        author = msgspec.structs.replace(AUTHOR, now_ms=NOW_MS + before)  # one repair of a directory per ms
        records.append(carry_out(files, rewrite, author=author, work_root=root))
    return records


def repair_until_done(files: Files, propose: Propose, *log_dirs: str) -> None:
    """Run it again as an operator would; a repair that finds nothing to do has been done."""
    said = outcome(files, propose, *log_dirs)
    assert said is None or "already" in said or "no repair of" in said, said


def outcome(files: Files, propose: Propose, *log_dirs: str) -> str | None:
    """Return the message of the error, or None if the repair succeeds."""
    try:
        repair(files, propose, *log_dirs)
    except (RecoveryError, OSError) as error:
        return str(error)
    return None


class Interruptible(msgspec.Struct, frozen=True, kw_only=True):
    """A repair that is interrupted at each of its calls in turn.

    Attributes:
        make: the directories as they are before.
        propose: the repair of `log_dirs`.
        words: the same for `kraft recover`; paths are absolute.
        is_done: checks the result in several directories: a repair of them that resumes half-way begins one more epoch.
            One directory must equal its result without an interruption.
    """

    name: str
    make: Callable[[], SimulatedFiles]
    propose: Propose
    words: str
    log_dirs: tuple[str, ...] = ("/data",)
    is_done: Callable[[SimulatedFiles], None] | None = None

    def play(self) -> Played:
        """Run it without an interruption."""
        files, propose = self.make(), remembered(self.propose)
        old, before, writes = self._trees(files), files.changes, files.calls["pwrite"]
        repair(files, propose, *self.log_dirs)
        new = self._trees(files)
        assert all(new[path] != old[path] for path in self.log_dirs)
        self._check_clean(files)
        return Played(
            old=old, new=new, calls=files.changes - before, writes=files.calls["pwrite"] - writes, propose=propose
        )

    def check_interrupted(self, files: SimulatedFiles, played: Played, at: object) -> None:
        """Check that each directory is the old one, the new one, or one from which no node starts; after another run,
        all are new.

        Many interruptions leave the same files: their state is checked once.
        """
        state = state_of(files)
        if state in played.checked:
            return
        for path in self.log_dirs:
            check_between(files, path, played.old[path], played.new[path])
        repair_until_done(files, self.propose, *self.log_dirs)
        self._check_clean(files)
        if self.is_done is None:
            assert self._trees(files) == played.new, at
        else:
            self.is_done(files)
        played.checked.add(state)

    def _trees(self, files: Files) -> dict[str, dict[str, bytes]]:
        return {path: tree(files, path) for path in self.log_dirs}

    def _check_clean(self, files: Files) -> None:
        assert not [found for path in self.log_dirs for found in leftovers(files, path)]


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A repair without an interruption: the directories before and after, and the number of changing calls.

    Attributes:
        propose: proposes the same for the directories as they were before, without reading them again.
        checked: states after an interruption from which the next run is known to finish.
    """

    old: dict[str, dict[str, bytes]]
    new: dict[str, dict[str, bytes]]
    calls: int
    writes: int
    propose: Propose
    checked: set[bytes] = msgspec.field(default_factory=set)


def remembered(propose: Propose) -> Propose:
    """Return a maker of proposals that reads the first files it gets, and proposes the same for all later ones."""
    found: list[Proposal] = []

    def once(files: Files) -> Proposal:
        if not found:
            found.append(propose(files))
        return found[0]

    return once


def check_every_crash(case: Interruptible) -> int:
    """Cut the power at every changing call; return the number of calls.

    Unsynced bytes may be lost in several ways; with several directories one of them is tried at each call in turn.
    """
    played = case.play()
    for call in range(1, played.calls + 1):
        for draw in DRAWS if case.is_done is None else DRAWS[call % len(DRAWS) :][:1]:
            files = case.make()
            files.crash_at = files.changes + call
            crashed = False
            try:
                repair(files, played.propose, *case.log_dirs)
            except SimulatedCrash:
                crashed = True
            assert crashed, call
            files.crash(draw * 0x9E3779B97F4A7C15)
            files.calm()
            case.check_interrupted(files, played, (call, draw))
    return played.calls


def check_between(files: Files, log_dir: str, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Check that a directory from which a node would start is the old one or the new one, whole."""
    found = tree(files, log_dir)
    if META_PROPERTIES_FILE in found:
        assert found in (old, new)
    elif META_PROPERTIES_FILE in old:
        assert pending(files, log_dir) is not None


def check_every_failure(case: Interruptible) -> None:
    """Let each changing call fail in turn: an error reports it, and another run gives the new directory.

    With several directories every second call fails.
    """
    played = case.play()
    for call in range(1, played.calls + 1, len(case.log_dirs[:2])):
        files = case.make()
        said = outcome(FailingAt(files, call), played.propose, *case.log_dirs)
        assert said is not None, f"call {call} failed without an error"
        assert "injected" in said
        case.check_interrupted(files, played, call)


def check_every_full_disk(case: Interruptible) -> int:
    """Let the disk be full at every write, before its first byte and within it; return the number of writes."""
    played = case.play()
    for write in range(1, played.writes + 1):
        for room in (0, 20):
            files = case.make()
            said = outcome(FullAt(files, write, room), played.propose, *case.log_dirs)
            is_last = write == played.writes and room
            assert (is_last and said is None) or (said is not None and "no space left" in said), (write, room, said)
            files.free_bytes = None
            case.check_interrupted(files, played, (write, room))
    return played.writes


class FailingAt(SimulatedFiles):
    """Simulated files whose changing call of this number fails."""

    def __init__(self, files: SimulatedFiles, call: int) -> None:
        self.__dict__ = files.__dict__
        self._fails_at = files.changes + call

    def _begin(self, call: str, path: str) -> None:
        if self.changes + 1 == self._fails_at:
            self.changes += 1
            raise OSError(5, "injected", path)
        super()._begin(call, path)


class FullAt(SimulatedFiles):
    """Simulated files on a disk that is full from a write on; that write takes `room` bytes."""

    def __init__(self, files: SimulatedFiles, write: int, room: int) -> None:
        self.__dict__ = files.__dict__
        self._full_at = files.calls["pwrite"] + write
        self._room = room

    def _begin(self, call: str, path: str) -> None:
        super()._begin(call, path)
        if call == "pwrite" and self.calls["pwrite"] == self._full_at:
            self.free_bytes = self._room
