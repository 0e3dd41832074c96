"""Applied repairs as texts: the digest of every file that a repair leaves, its audit file, and the same after undo.

Decides: the steps of `kraft recover … --apply` and of `undo`, in the command's order. Must not know: the cases.

Simulated files give each path; the clock, the author and all ids are fixed. No endpoint is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from metadata_log.directory import LOCK_FILE
from metadata_log.directory.lock import DirectoryLock
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.carry_out import Author, carry_out, clear_away
from quorum.recovery.journal.errors import AlreadyDoneError, RecoveryError
from quorum.recovery.journal.orphaned_files import sweep
from quorum.recovery.journal.repair_record import AUDIT_FILE, work_root_of
from quorum.recovery.repairs.follow_up import recorded
from quorum.recovery.repairs.resume import Asked, resume
from quorum.recovery.repairs.undo import propose_undo
from tests.support.repairs import NOW_MS, Propose

_SECOND_MS: Final = 1000
_WORK_SUFFIX: Final = ".recovery"

Tree = Mapping[str, bytes]
"""The content of each file, by its path."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One `kraft recover` command.

    Attributes:
        words: the command's words, which its audit file repeats.
        propose: the repair of `log_dirs`.
        work: the directory of `--work`, or None for the default.
    """

    words: str
    propose: Propose
    log_dirs: tuple[str, ...]
    work: str | None = None

    @property
    def action(self) -> str:
        """The sub-command."""
        return self.words.partition(" ")[0]

    @property
    def command(self) -> str:
        """The whole command line."""
        return f"kraft recover {self.words} --apply"


class AppliedCase(msgspec.Struct, frozen=True, kw_only=True):
    """Repairs of one scene, applied one after the other and then undone.

    Attributes:
        is_interrupted: the first repair stops after its decision, and the same command finishes it.
        moved: the old and the new path of a directory that is moved after the interruption; the second step finishes.
    """

    name: str
    make: Callable[[], SimulatedFiles]
    steps: tuple[Step, ...]
    is_interrupted: bool = False
    moved: tuple[str, str] | None = None

    def text(self) -> str:
        """Return all that the repairs leave, as one text."""
        return "".join(f"{line}\n" for line in _lines(_Bench(self.make()), self))


def _lines(bench: _Bench, case: AppliedCase) -> Iterator[str]:
    steps = case.steps
    if case.is_interrupted:
        yield from _interrupted(bench, steps[0])
        if case.moved is not None:
            bench.files.rename(*case.moved)
            steps = steps[1:]
    for step in steps:
        try:
            bench.apply(step)
        except AlreadyDoneError:  # of several directories, the last one was finished
            if not case.is_interrupted:
                raise
        yield f"after: {step.command}"
        yield from bench.left(step.log_dirs)
    undone: dict[str, None] = {}
    for step in reversed(steps):
        for log_dir in step.log_dirs:
            bench.undo(log_dir, step.work)
            undone[log_dir] = None
    yield "after: undo"
    yield from bench.left(tuple(undone))
    yield from bench.compared_with_the_original()


def _interrupted(bench: _Bench, step: Step) -> Iterator[str]:
    """Let the rename fail that takes the directory out of use: the journal says that the repair is decided."""
    bench.files.fail_next("rename", path="/meta.properties")
    try:
        bench.apply(step)
    except RecoveryError as error:
        yield f"interrupted: {error}"
        yield from bench.left(step.log_dirs)
        return
    raise AssertionError(f"{step.words}: nothing was interrupted")


class _Bench:
    """Simulated directories, and the time that passes from one command to the next."""

    def __init__(self, files: SimulatedFiles) -> None:
        self.files = files
        self._original = contents(files)
        self._before = self._original
        self._commands = 0

    def apply(self, step: Step) -> None:
        """Apply a repair: lock, finish what was interrupted, propose, carry out."""
        with _Locks(self.files, step.log_dirs) as locks:
            asked = Asked(action=step.action, command=step.command)
            there = [path for path in step.log_dirs if self.files.exists(path)]
            finished = resume(self.files, there, asked, lambda path: work_root_of(path, step.work))
            if finished and len(step.log_dirs) == 1:
                return
            self._carry_out(step.propose(self.files), step.command, step.work, locks)

    def undo(self, log_dir: str, work: str | None) -> None:
        """Undo the latest repair of a directory."""
        words = f"kraft recover undo --dir {log_dir} --apply" + (f" --work {work}" if work else "")
        with _Locks(self.files, (log_dir,)) as locks:
            self._carry_out(propose_undo(self.files, log_dir, work_root_of(log_dir, work)), words, work, locks)

    def _carry_out(self, proposal: Proposal, command: str, work: str | None, locks: _Locks) -> None:
        self._commands += 1
        author = Author(who="operator@host", command=command, now_ms=NOW_MS + self._commands * _SECOND_MS)
        for log_dir in proposal.leavings:
            sweep(self.files, log_dir, work_root_of(log_dir, work))
        for rewrite in recorded(proposal):
            made = locks.made_for(rewrite.log_dir)
            root = work_root_of(rewrite.log_dir, work)
            clear_away(self.files, carry_out(self.files, rewrite, author=author, work_root=root, made=made))

    def left(self, log_dirs: Sequence[str]) -> Iterator[str]:
        """Yield the digest of each file of these directories, and of each other file that changed; new audit files."""
        now = contents(self.files)
        inside = tuple(f"{path}/" for path in log_dirs)
        for path, data in now.items():
            if path.startswith(inside) or self._before.get(path) != data or _WORK_SUFFIX in path:
                yield f"  {hashlib.sha256(data).hexdigest()} {len(data):6} {path}"
        yield from (f"  gone: {path}" for path in self._before if path not in now)
        for path, data in now.items():
            if path.endswith(f"/{AUDIT_FILE}") and self._before.get(path) != data:
                yield f"{path}:"
                yield from data.decode().splitlines()
        self._before = now

    def compared_with_the_original(self) -> Iterator[str]:
        """Yield how the files beside backups and audit files differ from those before the first repair."""
        now = {path: data for path, data in contents(self.files).items() if not _is_work(path)}
        differing = {
            **{path: "added" for path in now if path not in self._original},
            **{path: "missing" for path in self._original if path not in now},
            **{path: "changed" for path in now if self._original.get(path, now[path]) != now[path]},
        }
        yield "compared with the original: " + ("equal" if not differing else "it differs")
        yield from (f"  {kind}: {path}" for path, kind in sorted(differing.items()))


class _Locks:
    """The locks of the directories that a command repairs, and what had to be made for them."""

    def __init__(self, files: Files, log_dirs: Sequence[str]) -> None:
        self._files = files
        self._made: dict[str, tuple[str, ...]] = {}
        self._held: list[DirectoryLock] = []
        for path in log_dirs:
            if files.exists(path):
                self._lock(path, ())

    def made_for(self, log_dir: str) -> tuple[str, ...]:
        """Return what was made in a directory for its lock; make and lock it if it is not there yet."""
        if log_dir not in self._made:
            self._files.mkdirs(log_dir)
            self._lock(log_dir, (".",))
        return self._made[log_dir]

    def _lock(self, log_dir: str, made: tuple[str, ...]) -> None:
        new = () if self._files.exists(f"{log_dir}/{LOCK_FILE}") else (LOCK_FILE,)
        self._made[log_dir] = (*new, *made)
        self._held.append(DirectoryLock(self._files, log_dir))

    def __enter__(self) -> _Locks:
        return self

    def __exit__(self, *_: object) -> None:
        for lock in self._held:
            lock.release()


def contents(files: SimulatedFiles) -> dict[str, bytes]:
    """Return every file, sorted by its path."""
    return dict(sorted(_below(files, "/")))


def _below(files: SimulatedFiles, directory: str) -> Iterator[tuple[str, bytes]]:
    for name in files.listdir(directory):
        path = f"{directory.rstrip('/')}/{name}"
        if files.is_dir(path):
            yield from _below(files, path)
        else:
            yield path, files.content(path)


def _is_work(path: str) -> bool:
    return _WORK_SUFFIX in path or path.startswith("/work/")
