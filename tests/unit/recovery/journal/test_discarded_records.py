"""Records that an accepted repair discarded count as held, are named, and no advised start destroys them."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_control_batch
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import LeaderChangeMessage, encode_control
from metadata_log.records.control import LeaderChangeVoter
from quorum.cli.recover.show import show_inspection
from quorum.recovery.advice.discarded_records import discarded_records
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.orphaned_files import remove_tree
from quorum.recovery.journal.repair_record import AUDIT_COPY_FILE, AUDIT_FILE, audits, work_root_of
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.verification import verify_directories
from tests.support.repairs import NOW_MS, load, load_nodes, repair, request

ACCEPTED = request(accept_data_loss=True)
THREE = ("/n1", "/n2", "/n3")
CUT = 83
"""The logs of `basic` end at 95, 96 and 96, all in epoch 1."""


def cluster(*cut: int, nodes: tuple[int, ...] = (1, 2, 3)) -> SimulatedFiles:
    files = load_nodes("basic", *nodes)
    for node in cut:
        cut_off(files, f"/n{node}")
    return files


def cut_off(files: SimulatedFiles, path: str, to: int = CUT) -> None:
    repair(files, lambda files: propose_truncate(files, path, [], to, ACCEPTED), path)


def all_said(found: Inspection) -> str:
    repairs = [said for one in found.plan.repairs for said in one.loses]
    return "\n".join([found.plan.situation, *repairs, *(step.text for step in found.plan.steps)])


def test_what_two_cut_voters_held_was_committed_and_the_third_is_kept() -> None:
    files = cluster(1, 2)
    found = inspect_copies(files, THREE)
    assert (found.evidence.bounds.lower, found.evidence.bounds.upper) == (96, 96)
    assert "until repairs discarded it on node 1 (/n1), node 2 (/n2)" in found.evidence.bounds.because
    assert not found.is_whole
    said = all_said(found)
    assert "Voters 1, 2 once held offsets 83 to 96" in said
    assert "node 3 (/n3) still holds them" in said
    assert [one.lost.committed for one in discarded_records(found.evidence)] == ["was", "was"]
    assert "never" not in said
    assert "no metadata is lost" not in said
    back, onward, *_ = found.plan.steps
    assert back.text.startswith("Start none of node 1 (/n1), node 2 (/n2)")
    assert back.commands[:2] == tuple(f"kraft recover undo --dir {path} --apply" for path in ("/n1", "/n2"))
    assert "go on from node 3 (/n3)" in onward.text
    commands = [line for step in found.plan.steps for line in step.commands]
    assert any(line.startswith("kraft recover standalone --dir /n3 --copy /n1 --copy /n2") for line in commands)
    assert propose_standalone(files, "/n3", ["/n1", "/n2"], request()).rewrites
    for path in ("/n1", "/n2"):
        repair(files, lambda files, path=path: propose_undo(files, path, work_root_of(path)), path)  # type: ignore[misc]
    found = inspect_copies(files, THREE)
    assert found.is_whole
    assert "no metadata is lost" in found.plan.situation


def test_inspect_prints_a_line_for_what_each_repair_discarded(capsys: pytest.CaptureFixture[str]) -> None:
    show_inspection(inspect_copies(cluster(1, 2), THREE))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("DISCARDED: ")]
    assert [line[:35] for line in lines] == ["DISCARDED: `kraft recover truncate`"] * 2


def test_verify_lets_no_cut_majority_start_beside_the_copy_that_holds_it() -> None:
    found = verify_directories(cluster(1, 2), THREE)
    assert not found.is_sound
    assert found.steps == ()
    [problem] = found.problems
    assert "Voters 1, 2 once held offsets 83 to 96" in problem
    assert "kraft recover undo --dir /n1 --apply; kraft recover undo --dir /n2 --apply" in problem


@pytest.mark.parametrize("absent", [1, 2])
def test_one_cut_voter_and_an_absent_one_can_lead_without_the_third(absent: int) -> None:
    found = inspect_copies(cluster(3 - absent, nodes=(3 - absent, 3)), [f"/n{3 - absent}", "/n3"])
    assert not found.is_whole
    assert f"Voter {3 - absent} once held offsets 83 to 9" in found.plan.situation


def test_what_no_copy_holds_any_more_is_not_asked_for_and_not_denied() -> None:
    files = cluster(1, 2)
    found = inspect_copies(files, ["/n1", "/n2"])
    assert found.plan.is_whole
    assert "But metadata is lost, or may be" in found.plan.situation
    assert found.plan.situation.count("no copy here holds them") == 2
    assert [one.lost.committed for one in discarded_records(found.evidence)] == ["may", "may"]
    look, start, *_ = found.plan.steps
    assert "Look for copies of what is not here (voter 3, broker 11, broker 12)" in look.text
    assert start.text.startswith("Start controllers 1, 2 as they are")
    verified = verify_directories(files, ["/n1", "/n2"])
    assert verified.is_sound
    assert ["discarded offsets 83 to 9" in one for one in verified.warnings] == [True, True]


def test_a_voter_whose_others_hold_it_fetches_it_again() -> None:
    files = cluster(1)
    found = inspect_copies(files, THREE)
    assert found.is_whole
    assert "no metadata is lost" in found.plan.situation
    assert found.plan.steps[0].text.startswith("Start controllers")
    assert [str(one.lost.end) for one in discarded_records(found.evidence)] == ["95"]
    verified = verify_directories(files, THREE)
    assert verified.is_sound
    assert not verified.warnings


def lead(files: SimulatedFiles, path: str, electors: tuple[int, ...]) -> None:
    """Append the first batch of epoch 2, as an elected controller does."""
    voters = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (1, 2, 3))
    granting = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in electors)
    message = LeaderChangeMessage(leader_id=NodeId(electors[0]), voters=voters, granting_voters=granting)
    batch = build_control_batch(
        base_offset=Offset(CUT), epoch=Epoch(2), timestamp_ms=NOW_MS, records=[encode_control(message)]
    )
    log = files.open(
        f"{path}/__cluster_metadata-0/{read_copy(files, find_place(files, path)).prefix.segments[-1].name}"
    )
    log.pwrite(batch, log.size())
    log.fdatasync()


def test_a_leader_whom_cut_voters_elected_proves_nothing_about_what_they_forgot() -> None:
    files = cluster(1, 2)
    for path in ("/n1", "/n2"):
        lead(files, path, (1, 2))
    found = inspect_copies(files, THREE)
    assert "never committed" not in all_said(found)
    assert any(step.text.startswith("Keep a copy of node 3 (/n3) for good") for step in found.plan.steps)
    lost = [one for repair in found.plan.repairs for one in repair.lost if one.node_id == 3]
    assert [one.committed for one in lost] == ["may", "may"]


def test_what_another_voter_holds_of_it_is_not_cut_either() -> None:
    with pytest.raises(RefusedError, match=r"offsets 83 to 96 on node 3 .*; committed"):
        propose_truncate(cluster(1, 2), "/n3", ["/n1", "/n2"], CUT, request())


def test_records_that_a_voter_fetched_again_are_not_discarded_any_more() -> None:
    files = cluster(1)
    whole = load("basic/node-1/data")
    name = "__cluster_metadata-0/00000000000000000000.log"
    files.open(f"/n1/{name}").pwrite(whole.content(f"/data/{name}"), 0)
    assert not discarded_records(inspect_copies(files, THREE).evidence)


def test_audit_files_of_another_life_of_the_path_say_nothing() -> None:
    files = cluster(1)
    path = "/n1/meta.properties"
    other = files.content(path).replace(b"ZGlyZWN0b3J5LWlkLTAwMQ", b"ZGlyZWN0b3J5LWlkLTAwOQ")
    files.open(path).pwrite(other, 0)
    assert not discarded_records(inspect_copies(files, THREE).evidence)


def test_an_audit_file_whose_facts_cannot_be_read_is_named() -> None:
    files = cluster(1, 2)
    [record] = audits(files, work_root_of("/n1")).records
    for name in (AUDIT_FILE, AUDIT_COPY_FILE):
        data = files.content(f"{record.work_dir}/{name}").replace(b'"start": 83', b'"start": "83"')
        handle = files.open(f"{record.work_dir}/{name}")
        handle.truncate(0)
        handle.pwrite(data, 0)
    [said] = [said for said in verify_directories(files, THREE).warnings if record.work_dir in said]
    assert "Expected `int`, got `str` - at `$.facts.offsets_lost[0].start`" in said
    assert "which records that repair discarded is not known" in said


def test_old_copies_beside_the_audit_files_of_a_repair_that_went_elsewhere() -> None:
    files = cluster()
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    remove_tree(files, "/n1")
    load("basic/node-1/data", files, "/n1")
    plan = inspect_copies(files, THREE).plan
    assert "no metadata is lost" not in plan.situation
    assert "on node 1 (/n1) began epoch 1001, and no copy here has anything of it" in plan.situation
    assert plan.steps[0].text.startswith("Start nothing before you know the outcome of that repair")
    [warning] = verify_directories(files, THREE).warnings
    assert "began epoch 1001" in warning


def test_a_backup_of_a_cut_voter_does_not_vote_for_it() -> None:
    files = cluster(1, 2)
    load("basic/node-2/data", files, "/backup-of-n2")
    plan = inspect_copies(files, [*THREE, "/backup-of-n2"]).plan
    assert not plan.is_whole
    assert plan.situation.startswith("Voters 1, 2 once held offsets 83 to 96")


def test_what_beside_a_directory_cannot_be_listed_is_named() -> None:
    files = Unlisted()
    load_nodes("basic", 1, 2, files=files)
    cut_off(files, "/n1")
    assert verify_directories(files, ["/n1", "/n2"]).warnings == (
        "/n1.recovery: Permission denied: which records repairs discarded is not known",
    )


class Unlisted(SimulatedFiles):
    """Files where the directories beside log directories belong to another user once they hold something."""

    def listdir(self, path: str) -> list[str]:
        if path.endswith(".recovery"):
            raise PermissionError(13, "Permission denied", path)
        return super().listdir(path)


def test_what_a_repair_may_have_lost_is_not_denied_afterwards() -> None:
    files = cluster()
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    plan = inspect_copies(files, THREE).plan
    assert plan.is_whole
    assert "no metadata is lost" not in plan.situation
    assert "`kraft recover standalone` of" in plan.situation
    assert "may have lost, as it said then, records that a majority with voters 2, 3 acknowledged" in plan.situation
