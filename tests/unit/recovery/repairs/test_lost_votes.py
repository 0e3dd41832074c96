"""Files beside the log that cannot be read: a repair does not pass over what they may have said of epochs and votes."""

from __future__ import annotations

import re

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_facts import LostVote
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load, load_nodes, repair, request
from tests.unit.recovery.evidence.test_who_is_authoritative import formatted

STATE = "__cluster_metadata-0/quorum-state"
EPOCHS = "__cluster_metadata-0/leader-epoch-checkpoint"
NEWER = b'{"leaderId":-1,"leaderEpoch":7000,"votedId":-1,"data_version":2}'
NO_EPOCH = b'{"term":7000,"data_version":2}'


def survivor(name: str, data: bytes, path: str = "/n1") -> SimulatedFiles:
    """A survivor and a broker's copy, one of which has these bytes in that file."""
    files = load("basic/node-12/data", load("basic/node-1/data", target="/n1"), target="/n12")
    handle = files.open(f"{path}/{name}")
    handle.truncate(0)
    handle.pwrite(data, 0)
    handle.fdatasync()
    return files


@pytest.mark.parametrize("path", ["/n1", "/n12"])
def test_a_quorum_state_of_newer_software_without_its_epoch_is_never_written_over(path: str) -> None:
    files = survivor(STATE, NO_EPOCH, path)
    for accepted in (False, True):
        with pytest.raises(RefusedError, match=rf"^{path}/{STATE}: data_version 2 is not known.*Use a kraft of that"):
            propose_standalone(files, "/n1", ["/n12"], request(accept_lost_vote=accepted))


@pytest.mark.parametrize("path", ["/n1", "/n12"])
def test_the_epoch_of_a_quorum_state_of_newer_software_counts(path: str) -> None:
    proposal = propose_standalone(survivor(STATE, NEWER, path), "/n1", ["/n12"], request())
    assert any("epoch 8000 begins" in said and "is 7000)" in said for said in proposal.says)
    assert any(f"not checked: {path}/{STATE} (data_version 2 is not known" in said for said in proposal.warnings)


@pytest.mark.parametrize("path", ["/n1", "/n12"])
@pytest.mark.parametrize(
    ("data", "why"), [(b"", "no JSON from its byte 0 on"), (b'{"a": "\xff"}', "no text"), (b"{}", "it lacks")]
)
def test_a_quorum_state_that_says_nothing_is_passed_over_only_when_that_is_accepted(
    data: bytes, why: str, path: str
) -> None:
    files = survivor(STATE, data, path)
    with pytest.raises(RefusedError, match=rf"^{path}/{STATE}: .*{why}.*Restore it.*--accept-lost-vote.*1000 above"):
        propose_standalone(files, "/n1", ["/n12"], request())
    accepted = request(accept_lost_vote=True)
    proposal = propose_standalone(files, "/n1", ["/n12"], accepted)
    assert any("epoch 1001 begins" in said and "is 1, of what can be read)" in said for said in proposal.says)
    assert any(f"{path}/{STATE}: " in said and "are forgotten" in said for said in proposal.warnings)
    [record] = repair(files, lambda files: propose_standalone(files, "/n1", ["/n12"], accepted), "/n1")
    assert [lost.path for lost in record.facts.lost_votes] == [f"{path}/{STATE}"]
    state = read_copy(files, find_place(files, "/n1")).quorum_state
    assert state is not None
    assert state.leader_epoch == 1001


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"", "[Rr]estore it.* --accept-lost-vote, which is in the next commands"), (NO_EPOCH, "a kraft of that version")],
)
def test_the_plan_says_what_is_to_be_done_about_it_before_its_commands(data: bytes, says: str) -> None:
    steps = inspect_copies(survivor(STATE, data), ["/n1", "/n12"]).plan.steps
    [told] = [number for number, step in enumerate(steps) if re.search(says, step.text)]
    assert told < [" --dir " in "".join(step.commands) for step in steps].index(True)


def test_a_missing_quorum_state_is_said_in_plan_and_audit() -> None:
    files = survivor(STATE, b"")
    files.unlink(f"/n1/{STATE}")
    with pytest.raises(RefusedError, match=rf"^/n1/{STATE}: there is no such file\. .*--accept-lost-vote"):
        propose_standalone(files, "/n1", ["/n12"], request())
    proposal = propose_standalone(files, "/n1", ["/n12"], request(accept_lost_vote=True))
    assert any(f"/n1/{STATE}: there is no such file" in said for said in proposal.warnings)
    assert proposal.rewrites[0].facts.lost_votes == (LostVote(path=f"/n1/{STATE}", why="there is no such file"),)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_voter_without_its_quorum_state_is_not_started(is_there: bool) -> None:
    files = load_nodes("basic", 1, 2)
    if not is_there:
        files.unlink(f"/n1/{STATE}")
    found = inspect_copies(files, ["/n1", "/n2"])
    said = "\n".join(word for step in found.plan.steps for word in (step.text, *step.commands))
    assert found.is_whole == is_there
    assert ("Start controllers 2, 1 as they are" in said) == is_there
    assert (f"/n1/{STATE}: there is no such file. Restore it" in said) != is_there
    assert verify_directories(files, ["/n1", "/n2"]).is_sound == is_there


def test_an_empty_log_needs_no_quorum_state() -> None:
    files = SimulatedFiles()
    for node in (1, 2, 3):
        formatted(files, f"basic/node-{node}/data", f"/n{node}")
    paths = ["/n1", "/n2", "/n3"]
    assert inspect_copies(files, paths).is_whole
    assert verify_directories(files, paths).is_sound


def test_a_whole_quorum_state_leaves_nothing_to_say() -> None:
    proposal = propose_standalone(load("basic/node-1/data"), "/data", [], request())
    assert not proposal.rewrites[0].facts.lost_votes
    assert not any("forgotten" in said or "can be read" in said for said in (*proposal.says, *proposal.warnings))


def test_a_leader_epoch_checkpoint_of_newer_software_is_never_written_over() -> None:
    files = survivor(EPOCHS, b"1\n1\n1 0 extra\n")
    says = rf"^/n1/{EPOCHS}: it is no leader epoch .*newer software wrote version 1.*Use a kraft of that"
    with pytest.raises(RefusedError, match=says):
        propose_standalone(files, "/n1", ["/n12"], request(accept_lost_vote=True, accept_data_loss=True))
    with pytest.raises(RefusedError, match=says):
        propose_truncate(files, "/n1", ["/n12"], 83, request(accept_data_loss=True))
    with pytest.raises(RefusedError, match=says):
        propose_rebuild_indexes(files, "/n1")


@pytest.mark.parametrize("data", [b"", b"garbage", b"1"])
def test_a_leader_epoch_checkpoint_that_says_nothing_is_made_anew_from_the_log(data: bytes) -> None:
    files = survivor(EPOCHS, data)
    repair(files, lambda files: propose_rebuild_indexes(files, "/n1"), "/n1")
    assert read_copy(files, find_place(files, "/n1")).unread == ()


def test_the_new_epoch_is_above_one_that_only_a_leader_epoch_checkpoint_knows() -> None:
    files = survivor(EPOCHS, b"0\n2\n1 0\n9 95\n", "/n12")
    proposal = propose_standalone(files, "/n1", ["/n12"], request(accept_data_loss=True))
    assert any("epoch 1009 begins" in said for said in proposal.says)
