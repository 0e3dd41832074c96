"""A cut that was proven to be no loss is remembered as data, by recover inspect and by check."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory.repair_audits import held_when_cut
from metadata_log.files.port import Files, read_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import parse_header
from metadata_log.tools.check.check import check_paths
from quorum.recovery.advice.discarded_records import discarded_records
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_facts import ProvenCut
from quorum.recovery.journal.repair_record import AUDIT_FILE, RepairRecord, audits, read_record, work_root_of
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from tests.support.repairs import load_nodes, repair, request, tree

THREE = ("/n1", "/n2", "/n3")
CUT = 83
"""The logs of `basic` end at 95, 96 and 96, all in epoch 1; a batch begins here."""
SAID = "cut offsets 83 to 95 (committed), which voters 2, 3 held then"
LOG = "__cluster_metadata-0/00000000000000000000.log"


def position(files: SimulatedFiles, path: str) -> int:
    data, at = files.content(f"{path}/{LOG}"), 0
    while parse_header(data, at).base_offset < CUT:
        at += parse_header(data, at).size_in_bytes
    return at


def damage(files: SimulatedFiles, path: str) -> None:
    files.rot(f"{path}/{LOG}", position(files, path) + 70, 1)


def lose_end(files: SimulatedFiles, path: str) -> None:
    """Cut the log and remove its indexes, as if it had never gone further."""
    handle = files.open(f"{path}/{LOG}")
    handle.truncate(position(files, path))
    handle.fdatasync()
    for name in files.listdir(f"{path}/__cluster_metadata-0"):
        if name.endswith(("index", ".snapshot")):
            files.unlink(f"{path}/__cluster_metadata-0/{name}")


def cut(files: SimulatedFiles, path: str, *others: str) -> ProvenCut:
    """Cut the log with proof, and return that."""
    repair(files, lambda files: propose_truncate(files, path, others, CUT, request()), path)
    record = _record(files, path)
    assert record.facts.proven is not None
    assert record.facts.proof == str(record.facts.proven)
    return record.facts.proven


def _record(files: Files, path: str) -> RepairRecord:
    [record] = audits(files, work_root_of(path)).records
    return record


def held() -> SimulatedFiles:
    """The log of node 1 was cut at damage while the two others held what it lost; then node 3 lost its end."""
    files = load_nodes("basic", 1, 2, 3)
    damage(files, "/n1")
    assert cut(files, "/n1", "/n2", "/n3") == ProvenCut(reason="held", start=CUT, end=95, epoch=1, voters=(2, 3))
    return files


def test_after_the_cut_nothing_is_lost_and_the_nodes_start() -> None:
    found = inspect_copies(held(), THREE)
    assert found.is_whole
    assert "no metadata is lost" in found.plan.situation
    for others in (("/n1", "/n2"), ("/n1", "/n3")):
        assert "no metadata is lost" in inspect_copies(held(), others).plan.situation


def test_what_a_majority_held_then_was_committed_whatever_became_of_it() -> None:
    files = held()
    lose_end(files, "/n3")
    found = inspect_copies(files, THREE)
    assert found.evidence.bounds.lower == 95
    assert not found.is_whole
    assert "Voter 1 once held offsets 83 to 95" in found.plan.situation
    assert "never committed" not in "\n".join(said for one in found.plan.repairs for said in one.loses)
    [one] = discarded_records(found.evidence)
    assert str(one).endswith(
        "cut offsets 83 to 95 (committed), which voters 2, 3 held then; node 2 (/n2) still holds them"
    )
    assert [step.text[-1] for step in found.plan.steps if step.text.endswith(".")] == []


def test_what_no_copy_holds_any_more_is_lost_and_said_to_be() -> None:
    files = held()
    lose_end(files, "/n3")
    found = inspect_copies(files, ["/n1", "/n3"])
    assert "But metadata is lost, or may be" in found.plan.situation
    assert (
        "cut offsets 83 to 95 (committed), which voters 2, 3 held then; no copy here holds them" in found.plan.situation
    )


def test_a_proof_of_a_repair_that_was_undone_says_nothing() -> None:
    files = held()
    place = find_place(files, "/n1")
    assert held_when_cut(files, "/n1", place.identity, 1) == 95
    assert held_when_cut(files, "/n1", place.identity, 2) == 0, "the log has gone on since"
    repair(files, lambda files: propose_undo(files, "/n1", work_root_of("/n1")), "/n1")
    assert held_when_cut(files, "/n1", place.identity, 1) == 0


def minority() -> SimulatedFiles:
    """Voter 3, the leader, alone held the end, and was cut; broker 12 holds it still."""
    files = load_nodes("basic", 1, 2, 3, 12)
    for path in ("/n1", "/n2"):
        lose_end(files, path)
    assert cut(files, "/n3", "/n1", "/n2") == ProvenCut(reason="minority", start=CUT, end=96, epoch=1, fork=CUT)
    return files


def test_what_was_never_committed_stays_so_when_fewer_copies_are_left() -> None:
    found = inspect_copies(minority(), ["/n3", "/n12"])
    [lost] = [one for repair in found.plan.repairs for one in repair.lost]
    assert lost.committed == "never"


def test_a_later_leader_may_have_committed_it_since() -> None:
    files = minority()
    path = f"/n3.recovery/{files.listdir('/n3.recovery')[0]}/{AUDIT_FILE}"
    record = read_record(files, path)
    then = msgspec.structs.replace(record, facts=msgspec.structs.replace(record.facts, greatest_known_epoch=0))
    for name in (path, path.replace("audit.json", "audit-copy.json")):
        handle = files.open(name)
        handle.truncate(0)
        handle.pwrite(msgspec.json.encode(then), 0)
        handle.fdatasync()
    found = inspect_copies(files, ["/n3", "/n12"])
    [lost] = [one for repair in found.plan.repairs for one in repair.lost]
    assert lost.committed == "may"


def test_an_audit_file_without_the_field_is_read_as_before() -> None:
    files = held()
    [name] = files.listdir("/n1.recovery")
    path = f"/n1.recovery/{name}/{AUDIT_FILE}"
    written = json.loads(files.content(path))
    assert written["format_version"] == 2
    del written["facts"]["proven"]
    handle = files.open(path)
    handle.truncate(0)
    handle.pwrite(json.dumps(written).encode(), 0)
    handle.fdatasync()
    assert _record(files, "/n1").facts.proven is None
    assert inspect_copies(files, THREE).is_whole


@pytest.mark.parametrize("nodes", [("n1",), ("n1", "n2")])
def test_check_finds_nothing_after_the_cut(tmp_path: Path, nodes: tuple[str, ...]) -> None:
    _write(held(), tmp_path)
    report = check_paths([tmp_path / node for node in nodes])
    assert [one.kind for one in report.findings if one.counts] == []


def test_check_knows_what_was_committed_when_a_log_was_cut(tmp_path: Path) -> None:
    files = held()
    lose_end(files, "/n3")
    _write(files, tmp_path)
    report = check_paths([tmp_path / node for node in ("n1", "n2", "n3")])
    assert report.bounds.lower == 95
    assert [(one.kind, one.node_id) for one in report.findings if one.counts] == [
        ("committed_lost", 1),
        ("committed_lost", 3),
    ]


def _write(files: Files, target: Path) -> None:
    for directory in (*THREE, "/n1.recovery"):
        for name in tree(files, directory):
            path = target / directory.lstrip("/") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read_file(files, f"{directory}/{name}"))
