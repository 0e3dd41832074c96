"""Audit files and journals of version 1: they are read, finished as they are, and undone.

`tests/fixtures/audits-version-1.tar.xz` holds what the recovery tests wrote when it was the newest version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec
import pytest

from metadata_log.directory import MetaProperties
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import NodeId, parse_directory_id
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal import version_1
from quorum.recovery.journal.accepted_loss import Accepted, audited_of
from quorum.recovery.journal.changes import sha256_of
from quorum.recovery.journal.errors import RecoveryError
from quorum.recovery.journal.log_directories import Place
from quorum.recovery.journal.repair_facts import MayLose
from quorum.recovery.journal.repair_record import (
    AUDIT_COPY_FILE,
    AUDIT_FILE,
    DONE,
    JOURNAL_FILE,
    encode,
    read_record,
    work_root_of,
)
from quorum.recovery.repairs.follow_up import recorded
from quorum.recovery.repairs.undo import propose_undo
from tests.golden.archive import unpacked
from tests.support.audit_versions import differences
from tests.support.fixture_files import FIXTURES
from tests.support.repair_cases import CASES
from tests.support.repairs import Interruptible, leftovers, repair, tree

ACTIONS: Final = (
    "cluster-id", "drop-snapshot", "epoch", "from-broker", "rebuild-indexes", "standalone", "static-voters", "truncate",
    "undo", "voters",
)  # fmt: skip


@cache
def stored() -> Mapping[str, str]:
    return unpacked((FIXTURES / "audits-version-1.tar.xz").read_bytes())


def written(action: str) -> dict[str, str]:
    """Return the audit files of finished repairs, by name."""
    prefix = f"written/{action}-"
    found = {name: text for name, text in stored().items() if name.startswith(prefix)}
    assert len(found) >= 12
    return found


def placed(text: str) -> tuple[SimulatedFiles, Place]:
    """Return files with the audit file beside its log directory, and that directory."""
    raw = json.loads(text)
    files = SimulatedFiles()
    write(files, f"{raw['work_dir']}/{AUDIT_FILE}", text)
    facts = raw["facts"]
    directory_id = facts.get("directory_id")
    identity = MetaProperties(
        cluster_id=facts.get("cluster_id") or facts.get("cluster_id_after") or "none",
        node_id=NodeId(facts.get("node_id", 1)),
        directory_id=None if directory_id is None else parse_directory_id(directory_id),
    )
    root = raw["work_dir"].rpartition("/")[0].removesuffix(".recovery")
    return files, Place(log_dir=root, metadata=f"{root}/__cluster_metadata-0", identity=identity)


def write(files: SimulatedFiles, path: str, text: str) -> None:
    files.mkdirs(path.rpartition("/")[0])
    handle = files.open(path, create=True)
    handle.truncate(0)
    handle.pwrite(text.encode(), 0)
    handle.fdatasync()


def as_data(accepted: Accepted) -> dict[str, object]:
    """Return the accepted loss, with its sentence as it is read later."""
    data: dict[str, object] = msgspec.json.decode(msgspec.json.encode(accepted))
    return {**data, "may_lose": accepted.may_lose and accepted.may_lose.as_read_later}


@pytest.mark.parametrize("action", ACTIONS)
def test_what_accepted_repairs_let_go_is_read_as_it_was(action: str) -> None:
    expected = json.loads(stored()["accepted.json"])
    for name, text in written(action).items():
        files, place = placed(text)
        audited = audited_of(files, place)
        assert not audited.unread, name
        loss = expected[name.removeprefix("written/").removesuffix(".json")]
        counts = (loss["lost"] or loss["new_epoch"] is not None) and json.loads(text)["log_dir"] == place.log_dir
        assert [as_data(one) for one in audited.accepted] == ([loss] if counts else []), name
        before = json.loads(text)["facts"].get("cluster_id_before")
        assert (audited.cloned and audited.cloned.first) == before, name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_journal_is_finished_as_version_1_and_undone(case: Interruptible) -> None:
    files = case.make()
    before = {path: tree(files, path) for path in case.log_dirs}
    decide(files, case)
    raw = json.loads(stored()[f"decided/{case.name}.json"])
    path, work_dir = raw["log_dir"], raw["work_dir"]
    for name in (f"{path}/{JOURNAL_FILE}", f"{work_dir}/{AUDIT_FILE}", f"{work_dir}/{AUDIT_COPY_FILE}"):
        assert not differences(raw, json.loads(files.content(name)))
        write(files, name, stored()[f"decided/{case.name}.json"])

    repair(files, case.propose, *case.log_dirs)

    assert not [found for one in case.log_dirs for found in leftovers(files, one)]
    assert {file["name"]: file["after"] for file in raw["files"]} == digests(files, path, raw)
    for name in (AUDIT_FILE, AUDIT_COPY_FILE):
        assert json.loads(files.content(f"{work_dir}/{name}")) == {**raw, "state": DONE}
    if raw["undoes"] is None:
        repair(files, lambda files: propose_undo(files, path, work_root_of(path)), path)
        assert tree(files, path) == before[path]


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (MayLose(voters=(2, 3), since_ms=1_795_216_100_741, past_offset=95), "standalone-001"),
        (MayLose(voters=(2, 3), past_offset=3, is_undecided=True), "standalone-017"),
    ],
)
def test_the_data_of_version_2_is_worded_as_version_1_was(found: MayLose, name: str) -> None:
    written_then = json.loads(stored()[f"written/{name}.json"])["facts"]["may_lose"]
    written_then = written_then.replace("may have parted", "may have diverged")
    assert str(found) == written_then
    assert MayLose(in_words=found.as_read_later) == version_1.facts_of({"may_lose": written_then}).may_lose


@pytest.mark.parametrize("version", [0, 3])
def test_a_file_of_an_unknown_version_is_refused_by_name(version: int) -> None:
    text = next(iter(written("standalone").values()))
    files, _ = placed(text.replace('"format_version": 1,', f'"format_version": {version},'))
    path = f"{json.loads(text)['work_dir']}/{AUDIT_FILE}"
    with pytest.raises(
        CorruptFileError, match=f"^{path}: it is of version {version}: it was written by newer software"
    ):
        read_record(files, path)


def test_a_journal_that_names_no_version_is_of_version_1() -> None:
    text = next(iter(written("standalone").values()))
    files, _ = placed(text.replace('"format_version": 1,', ""))
    record = read_record(files, f"{json.loads(text)['work_dir']}/{AUDIT_FILE}")
    assert json.loads(encode(record)) == json.loads(text)


def digests(files: SimulatedFiles, log_dir: str, raw: dict[str, list[dict[str, str]]]) -> dict[str, str | None]:
    return {file["name"]: sha256_of(files, f"{log_dir}/{file['name']}") for file in raw["files"]}


def decide(files: SimulatedFiles, case: Interruptible) -> None:
    """Let the repair stop at its first call after the journal was written."""

    def propose(files: Files) -> Proposal:
        proposal = case.propose(files)
        return msgspec.structs.replace(proposal, rewrites=recorded(proposal))

    with pytest.raises(RecoveryError, match="stopped"):
        repair(StoppedOnceDecided(files, case.log_dirs), propose, *case.log_dirs)


class StoppedOnceDecided(SimulatedFiles):
    """The same files, in which every change fails once one of these directories has a journal."""

    def __init__(self, files: SimulatedFiles, log_dirs: tuple[str, ...]) -> None:
        self.__dict__ = dict(files.__dict__)
        self.log_dirs = log_dirs

    def _begin(self, call: str, path: str) -> None:
        if any(self.exists(f"{log_dir}/{JOURNAL_FILE}") for log_dir in self.log_dirs):
            raise OSError(5, "stopped", path)
        super()._begin(call, path)
