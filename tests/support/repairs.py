"""Repairs over simulated files: real clusters' directories loaded into them, and every way to interrupt one.

Decides: what counts as the directory for a node that starts on it. Must not know: which repair runs.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.files import Files, parent_of
from metadata_log.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.voters import Endpoint
from quorum.recovery.carry_out import Author, carry_out, finish
from quorum.recovery.errors import RecoveryError
from quorum.recovery.journal import JOURNAL_FILE, NEW_SUFFIX, Record, pending, work_root_of
from quorum.recovery.liveness import Answer
from quorum.recovery.places import HELD_SUFFIX
from quorum.recovery.request import Proposal, Request
from tests.support.fixture_files import FIXTURES

NOW_MS = 1_800_000_000_000
AUTHOR = Author(who="somebody@somewhere", command="kraft recover ...", now_ms=NOW_MS)
DRAWS = (0, 7)

Propose = Callable[[Files], Proposal]


def nobody(endpoints: Sequence[Endpoint]) -> Sequence[Answer]:
    """Nobody answers anywhere."""
    assert endpoints
    return ()


def request(**changes: object) -> Request:
    """A request of a user for whom all other copies are gone."""
    return Request(**{"now_ms": NOW_MS, "ask": nobody, "all_missing": True, **changes})  # type: ignore[arg-type]


@lru_cache
def _archive() -> dict[str, bytes]:
    """Every file of `clusters.tar.xz`."""
    found: dict[str, bytes] = {}
    with tarfile.open(FIXTURES / "clusters.tar.xz") as archive:
        for member in archive:
            reading = archive.extractfile(member)
            if reading is not None:
                found[member.name.removeprefix("./")] = reading.read()
    return found


def load(source: str, files: SimulatedFiles | None = None, target: str = "/data") -> SimulatedFiles:
    """A copy of a real log directory, `failovers/node-1/data` say, durable."""
    files = SimulatedFiles() if files is None else files
    contents = {name[len(source) + 1 :]: data for name, data in _archive().items() if name.startswith(f"{source}/")}
    assert contents, source
    for name, data in contents.items():
        path = f"{target}/{name}"
        files.mkdirs(parent_of(path))
        handle = files.open(path, create=True)
        handle.pwrite(data, 0)
        handle.fdatasync()
        files.fsync_dir(parent_of(path))
    return files


def tree(files: Files, directory: str) -> dict[str, bytes]:
    """What a node sees of a log directory: all files but those that a repair under way keeps beside them."""
    found: dict[str, bytes] = {}
    for path in _files_below(files, directory):
        name = path[len(directory) + 1 :]
        if not name.endswith((NEW_SUFFIX, HELD_SUFFIX, ".tmp")) and name not in (JOURNAL_FILE, ".lock"):
            handle = files.open(path, read_only=True)
            found[name] = handle.pread(handle.size(), 0)
    return found


def leftovers(files: Files, directory: str) -> list[str]:
    """What a finished repair must not leave in the directory."""
    return [
        path
        for path in _files_below(files, directory)
        if path.endswith((NEW_SUFFIX, HELD_SUFFIX, ".tmp")) or path.endswith(f"/{JOURNAL_FILE}")
    ]


def _files_below(files: Files, directory: str) -> Iterator[str]:
    if not files.exists(directory):
        return
    for name in files.listdir(directory):
        path = f"{directory}/{name}"
        if files.is_dir(path):
            yield from _files_below(files, path)
        else:
            yield path


def repair(files: Files, propose: Propose, log_dir: str) -> list[Record]:
    """What the command line does with --apply: finish what was interrupted, else propose and carry out."""
    interrupted = pending(files, log_dir) if files.exists(log_dir) else None
    if interrupted is not None:
        return [finish(files, interrupted)]
    records = []
    for rewrite in propose(files).rewrites:
        files.mkdirs(rewrite.log_dir)
        records.append(carry_out(files, rewrite, author=AUTHOR, work_root=work_root_of(rewrite.log_dir)))
    return records


def repair_until_done(files: Files, propose: Propose, log_dir: str) -> None:
    """Run it again as an operator would; a repair that finds nothing to do has been done."""
    said = outcome(files, propose, log_dir)
    assert said is None or "already" in said or "no repair of" in said, said


def outcome(files: Files, propose: Propose, log_dir: str) -> str | None:
    """What an error says; None where all went well."""
    try:
        repair(files, propose, log_dir)
    except RecoveryError as error:
        return str(error)
    return None


def check_every_crash(make: Callable[[], SimulatedFiles], propose: Propose, log_dir: str = "/data") -> int:
    """Crash at every changing call, with several fates of what was not synced; give the number of calls.

    Then the directory is the old one, the new one, or one that no node starts from; and running it again gives the new.
    """
    files = make()
    old, before = tree(files, log_dir), files.changes
    repair(files, propose, log_dir)
    new, calls = tree(files, log_dir), files.changes - before
    assert new != old
    assert not leftovers(files, log_dir)
    for call in range(1, calls + 1):
        for draw in DRAWS:
            files = make()
            files.crash_at = files.changes + call
            crashed = False
            try:
                repair(files, propose, log_dir)
            except SimulatedCrash:
                crashed = True
            assert crashed, call
            files.crash(draw * 0x9E3779B97F4A7C15)
            files.calm()
            check_between(files, log_dir, old, new)
            repair_until_done(files, propose, log_dir)
            assert tree(files, log_dir) == new, call
            assert not leftovers(files, log_dir), call
    return calls


def check_between(files: Files, log_dir: str, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """A directory that a node would start from is the old one or the new one, whole."""
    found = tree(files, log_dir)
    if META_PROPERTIES_FILE in found:
        assert found in (old, new)
    elif META_PROPERTIES_FILE in old:
        assert pending(files, log_dir) is not None


def check_every_failure(make: Callable[[], SimulatedFiles], propose: Propose, log_dir: str = "/data") -> None:
    """Let each changing call fail in its turn: an error says so, and running it again gives the new directory."""
    files = make()
    old, before = tree(files, log_dir), files.changes
    repair(files, propose, log_dir)
    new, calls = tree(files, log_dir), files.changes - before
    for call in range(1, calls + 1):
        files = make()
        failing = FailingAt(files, call)
        said = outcome(failing, propose, log_dir)
        assert said is not None, f"call {call} failed, and nobody said so"
        assert "injected" in said
        check_between(files, log_dir, old, new)
        repair_until_done(files, propose, log_dir)
        assert tree(files, log_dir) == new, call
        assert not leftovers(files, log_dir), call


def check_every_full_disk(
    make: Callable[[], SimulatedFiles], propose: Propose, log_dir: str = "/data", *, step: int = 1499
) -> int:
    """Let the disk be full after every number of bytes; give how many sizes were too small."""
    files = make()
    old = tree(files, log_dir)
    repair(files, propose, log_dir)
    new = tree(files, log_dir)
    for too_small, free_bytes in enumerate(range(0, 1 << 30, step)):
        files = make()
        files.free_bytes = free_bytes
        said = outcome(files, propose, log_dir)
        if said is None:
            assert tree(files, log_dir) == new
            return too_small
        assert "no space left" in said
        check_between(files, log_dir, old, new)
        files.free_bytes = None
        repair_until_done(files, propose, log_dir)
        assert tree(files, log_dir) == new, free_bytes
        assert not leftovers(files, log_dir), free_bytes
    raise AssertionError("there was never room enough")


class FailingAt(SimulatedFiles):
    """The same simulated files, of which one changing call fails: the one of that number from now on."""

    def __init__(self, files: SimulatedFiles, call: int) -> None:
        self.__dict__ = files.__dict__
        self._fails_at = files.changes + call

    def _begin(self, call: str, path: str) -> None:
        if self.changes + 1 == self._fails_at:
            self.changes += 1
            raise OSError(5, "injected", path)
        super()._begin(call, path)
