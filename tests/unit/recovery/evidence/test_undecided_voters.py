"""A change of the voters that is not proven to be committed: the voters before it may have gone on without it."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_control_batch
from metadata_log.ids import NodeId
from metadata_log.records import encode_control
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.repair_evidence import RepairEvidence, evidence_of
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import forget_audits, load_nodes, repair, request


def remove_voter(files: SimulatedFiles, log_dir: str, node_id: int) -> int:
    """Append the removal, as a leader does without followers; return its offset."""
    copy = read_copy(files, find_place(files, log_dir))
    assert copy.voters is not None
    assert node_id in copy.voters
    batch = build_control_batch(
        base_offset=copy.end.offset,
        epoch=copy.end.epoch,
        timestamp_ms=copy.prefix.last_timestamp_ms,
        records=[encode_control(copy.voters.without(NodeId(node_id)).to_record())],
    )
    handle = files.open(f"{log_dir}/__cluster_metadata-0/{copy.prefix.segments[-1].name}")
    handle.pwrite(batch, handle.size())
    handle.fdatasync()
    return int(copy.end.offset)


def seen(files: SimulatedFiles, *paths: str) -> RepairEvidence:
    return evidence_of(read_copies(files, paths))


def cut_at(files: SimulatedFiles, log_dir: str, offset: int) -> None:
    """End the log at `offset`, as if the node had stopped there, without a trace of later records."""
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, log_dir, [], offset, accepted), log_dir)
    forget_audits(files, f"{log_dir}.recovery")


def test_the_voters_before_a_removal_may_have_committed_without_its_holder() -> None:
    files = load_nodes("basic", 1)
    before = seen(files, "/n1")
    remove_voter(files, "/n1", 3)
    known = seen(files, "/n1")
    assert [int(voter.node_id) for voter in known.voters] == [1, 2]
    assert [int(voter.node_id) for voter in known.in_force.before] == [1, 2, 3]
    assert known.absent_voters == before.absent_voters == (2, 3)
    assert known.unheard_voters == (2, 3)
    assert known.majority_is_absent
    assert (known.bounds, known.bounds_left) == (before.bounds, before.bounds_left)
    assert known.bounds.upper is None


def test_its_holder_is_told_what_it_may_lose_and_who_must_not_start() -> None:
    files = load_nodes("basic", 1)
    remove_voter(files, "/n1", 3)
    found = inspect_copies(files, ["/n1"])
    assert "No majority of the voters is here and sound" in found.plan.situation
    assert "the last change of the voters, to 1, 2, is not proven to be committed" in found.plan.situation
    assert found.plan.repairs[0].may_lose is not None
    assert found.plan.repairs[0].may_lose.voters == (2, 3)
    assert found.plan.repairs[0].may_lose.past_offset == found.evidence.bounds.lower
    assert found.plan.repairs[0].may_lose.is_undecided
    said = request(all_missing=False, missing=frozenset({2, 11, 12}))
    with pytest.raises(RefusedError, match="there is no copy here of node 3: it may hold"):
        propose_standalone(files, "/n1", [], said)
    ahead = propose_standalone(files, "/n1", [], request())
    assert ahead.may_lose == found.plan.repairs[0].may_lose
    assert any(warning.startswith("controllers 2, 3 must never start again") for warning in ahead.warnings)
    assert any("not proven to be committed" in warning for warning in ahead.warnings)


def test_after_the_repair_its_own_voters_are_in_force_and_what_it_may_have_lost_is_said() -> None:
    files = load_nodes("basic", 1)
    remove_voter(files, "/n1", 3)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    assert seen(files, "/n1").in_force.before == ()
    assert verify_directories(files, ["/n1"]).is_sound
    situation = inspect_copies(files, ["/n1"]).plan.situation
    assert "may have lost" in situation
    assert "no metadata is lost" not in situation


def test_the_holders_majority_of_two_is_none_of_three() -> None:
    files = load_nodes("basic", 1, 2)
    at = remove_voter(files, "/n1", 3)
    cut_at(files, "/n2", 50)
    known = seen(files, "/n1", "/n2")
    assert known.has_majority([copy for copy in known.copies if copy.node_id in (1, 2)])
    assert not known.has_majority([copy for copy in known.copies if copy.node_id == 1])
    assert known.bounds.lower <= 50
    assert known.bounds.upper == at + 1  # by the three voters before, 1 and 3 may have had all of it


def test_a_removal_that_a_majority_of_the_new_voters_holds_is_in_force() -> None:
    files = load_nodes("basic", 1, 2)
    one, two = (read_copy(files, find_place(files, path)) for path in ("/n1", "/n2"))
    shorter = min(int(one.end.offset), int(two.end.offset))
    for path, copy in (("/n1", one), ("/n2", two)):
        if copy.end.offset > shorter:
            cut_at(files, path, shorter)
    for path in ("/n1", "/n2"):
        remove_voter(files, path, 3)
    known = seen(files, "/n1", "/n2")
    assert known.in_force.before == ()
    assert known.undecided is None
    assert 3 not in known.absent_voters
    assert not known.majority_is_absent


def test_whom_only_an_undecided_record_added_and_who_was_there_are_both_asked_for() -> None:
    files = load_nodes("dynamic-voters", 1, 4)
    for path in ("/n1", "/n4"):
        cut_at(files, path, 54)
    known = seen(files, "/n1", "/n4")
    assert known.in_force.before
    assert known.majority_is_absent
    assert inspect_copies(files, ["/n1", "/n4"]).plan.repairs[0].may_lose is not None


def test_who_lags_behind_an_undecided_removal_is_sound() -> None:
    """Node 2 was down while the others went beyond 300. Then voter 1 was to be removed, which only node 3 knows."""
    files = load_nodes("failovers", 1, 2, 3)
    cut_at(files, "/n2", 300)
    assert inspect_copies(files, ["/n1", "/n2", "/n3"]).is_whole
    remove_voter(files, "/n3", 1)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert [int(voter.node_id) for voter in found.evidence.voters] == [2, 3]
    assert [int(voter.node_id) for voter in found.evidence.in_force.before] == [1, 2, 3]
    assert found.is_whole
    assert not found.evidence.stale
    with pytest.raises(RefusedError):
        propose_standalone(files, "/n3", ["/n1", "/n2"], request(accept_data_loss=False))


def test_who_lags_behind_a_change_of_the_voters_is_not_told_to_repair_again() -> None:
    files = load_nodes("basic", 1, 2)
    remove_voter(files, "/n1", 3)
    said = "\n".join(verify_directories(files, ["/n1", "/n2"]).problems)
    assert "other voters" not in said
    assert "repair" not in said
