"""Audit files that are damaged: what they prove is read from their copy, or it is said what to do by hand."""

from __future__ import annotations

import pytest

from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.errors import RecoveryError, RefusedError
from quorum.recovery.journal.repair_record import AUDIT_COPY_FILE, AUDIT_FILE, JOURNAL_FILE, pending, work_root_of
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.repairs import load, repair, request, tree

ROOT = work_root_of("/data")


def standalone(files: Files) -> Proposal:
    return propose_standalone(files, "/data", [], request())


def moved(files: Files) -> Proposal:
    return propose_voters(files, ["/data"], [], [parse_named_voter("1@elsewhere:9093")], request())


def undo(files: Files) -> Proposal:
    return propose_undo(files, "/data", ROOT)


def repaired() -> tuple[SimulatedFiles, dict[str, bytes]]:
    files = load("basic/node-1/data")
    before = tree(files, "/data")
    repair(files, standalone, "/data")
    return files, before


def spoil(files: SimulatedFiles, number: int, *names: str) -> str:
    """Rubbish in these files of the repair of that number; its work directory."""
    work_dir = f"{ROOT}/{sorted(files.listdir(ROOT))[number]}"
    for name in names:
        files.rot(f"{work_dir}/{name}", 1, 0xFF)
    return work_dir


@pytest.mark.parametrize("name", [AUDIT_FILE, AUDIT_COPY_FILE])
def test_one_damaged_audit_file_hinders_no_undo(name: str) -> None:
    files, before = repaired()
    work_dir = spoil(files, 0, name)
    warnings = undo(files).warnings
    read_instead = [said for said in warnings if f"{work_dir}/{AUDIT_FILE}: it is no record" in said]
    assert bool(read_instead) == (name == AUDIT_FILE)
    repair(files, undo, "/data")
    assert tree(files, "/data") == before


def test_where_both_are_damaged_the_way_by_hand_is_told_and_it_works() -> None:
    files, before = repaired()
    work_dir = spoil(files, 0, AUDIT_FILE, AUDIT_COPY_FILE)
    as_it_was = tree(files, "/data")
    with pytest.raises(RefusedError) as refused:
        undo(files)
    said = str(refused.value)
    assert f"{work_dir}/{AUDIT_FILE}: it is no record of a repair" in said
    assert "cp -a /data /data.before-undo" in said
    assert f"cp -a {work_dir}/backup/. /data" in said
    assert tree(files, "/data") == as_it_was
    backup = tree(files, f"{work_dir}/backup")
    newest = max(name for name in as_it_was if name.endswith(".log"))
    assert newest not in backup
    assert {name: data for name, data in (as_it_was | backup).items() if name != newest} == before


def test_an_earlier_repairs_damaged_audit_does_not_keep_the_latest_from_being_taken_back() -> None:
    files, _ = repaired()
    between = tree(files, "/data")
    repair(files, moved, "/data")
    spoil(files, 1, AUDIT_FILE, AUDIT_COPY_FILE)
    spoil_first = sorted(files.listdir(ROOT))
    assert len(spoil_first) == 2
    with pytest.raises(RefusedError, match="undo it by hand"):
        undo(files)
    files, _ = repaired()
    repair(files, moved, "/data")
    spoil(files, 0, AUDIT_FILE, AUDIT_COPY_FILE)
    repair(files, undo, "/data")
    assert tree(files, "/data") == between
    with pytest.raises(RefusedError, match="undo it by hand"):
        undo(files)


def test_a_damaged_audit_file_hinders_no_further_repair() -> None:
    files, _ = repaired()
    work_dir = spoil(files, 0, AUDIT_FILE, AUDIT_COPY_FILE)
    repair(files, moved, "/data")
    assert files.exists(f"{work_dir}/backup")


@pytest.mark.parametrize("data", [b"{", b'{"state":"\xff"}'])
def test_a_damaged_journal_is_said_to_have_a_twin(data: bytes) -> None:
    files, _ = repaired()
    handle = files.open(f"/data/{JOURNAL_FILE}", create=True)
    handle.pwrite(data, 0)
    with pytest.raises(CorruptFileError, match=r"audit\.json below /data\.recovery has the same text: copy it over"):
        pending(files, "/data")


def of_version(files: SimulatedFiles, path: str, version: int) -> None:
    data = files.content(path).replace(b'"format_version": 2', f'"format_version": {version}'.encode())
    handle = files.open(path)
    handle.truncate(0)
    handle.pwrite(data, 0)


def test_a_repair_of_newer_software_is_left_to_that() -> None:
    files, _ = repaired()
    work_dir = f"{ROOT}/{files.listdir(ROOT)[0]}"
    for name in (AUDIT_FILE, AUDIT_COPY_FILE):
        of_version(files, f"{work_dir}/{name}", 3)
    with pytest.raises(RefusedError) as refused:
        undo(files)
    assert str(refused.value) == (
        f"{work_dir}/{AUDIT_FILE}: it is of version 3: it was written by newer software; "
        f"{work_dir}/{AUDIT_COPY_FILE}: it is of version 3: it was written by newer software. So nothing was changed. "
        "Undo that repair with the kraft that did it, or a later one"
    )


def test_an_interrupted_repair_of_newer_software_is_left_to_that() -> None:
    files = load("basic/node-1/data")
    files.fail_next("rename", path="/meta.properties")
    with pytest.raises(RecoveryError):
        repair(files, standalone, "/data")
    of_version(files, f"/data/{JOURNAL_FILE}", 3)
    with pytest.raises(NewerFileError, match=r"it is of version 3: .* Run its command again with the kraft that began"):
        repair(files, standalone, "/data")
    with pytest.raises(NewerFileError, match="Run its command again with the kraft that began it"):
        undo(files)
