"""The directories and messages of each repair, on copies of real clusters' directories."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_control_batch
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import LeaderChangeMessage, LeaderChangeVoter, encode_control
from metadata_log.storage.file_log import open_log
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import common_end
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.guards.request import refuse_unsafe
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.repair_cases import formatted
from tests.support.repairs import NOW_MS, know_epoch, load_nodes, repair, request, tree

HERE = (Endpoint(name="CONTROLLER", host="here", port=9093),)


def copy_at(files: SimulatedFiles, path: str) -> Copy:
    return read_copy(files, find_place(files, path))


def new_controller(node_id: int = 1) -> NewController:
    return NewController(
        log_dir="/new", node_id=node_id, endpoints=HERE, directory_id=DirectoryId(bytes(range(100, 116)))
    )


def test_a_survivor_becomes_the_only_voter_in_an_epoch_above_all() -> None:
    files = load_nodes("basic", 1, 11, 12)
    before = copy_at(files, "/n1")
    repair(files, lambda files: propose_standalone(files, "/n1", ["/n11", "/n12"], request()), "/n1")
    after = copy_at(files, "/n1")
    assert (int(after.end.epoch), int(after.end.offset)) == (1001, int(before.end.offset) + 2)
    assert after.voters is not None
    assert after.voters.node_ids == (1,)
    assert common_end(before, after) == before.end.offset
    assert after.quorum_state is not None
    assert (after.quorum_state.leader_epoch, after.quorum_state.leader_id) == (1001, -1)
    log, report = open_log(files, "/n1/__cluster_metadata-0", recover=False)
    assert (log.log_end_offset, log.last_epoch, report.warnings) == (after.end.offset, 1001, ())
    assert verify_directories(files, ["/n1"]).is_sound


def test_the_new_epoch_is_above_votes_that_only_another_copy_knows() -> None:
    files = load_nodes("dynamic-voters", 2, 11)
    handle = files.open("/n11/__cluster_metadata-0/quorum-state", create=True)
    handle.truncate(0)
    handle.pwrite(b'{"leaderId":-1,"leaderEpoch":70,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
                  b'"data_version":1}', 0)  # fmt: skip
    repair(files, lambda files: propose_standalone(files, "/n2", ["/n11"], request(epoch_gap=1005)), "/n2")
    assert copy_at(files, "/n2").end.epoch == 1075


def test_a_copy_that_holds_more_is_not_passed_over() -> None:
    files = load_nodes("every-record", 2, 11)
    with pytest.raises(RefusedError, match=r"offsets 344 to 368 on node 11.*topics after-failover.*--accept-data-loss"):
        propose_standalone(files, "/n2", ["/n11"], request())
    proposal = propose_standalone(files, "/n2", ["/n11"], request(accept_data_loss=True))
    assert [lost.topics for lost in proposal.loses] == [("after-failover",)]


def test_the_plan_takes_the_brokers_copy_when_it_is_ahead() -> None:
    files = load_nodes("every-record", 2, 11)
    plan = inspect_copies(files, ["/n2", "/n11"]).plan
    assert not plan.is_whole
    said = [command for step in plan.steps for command in step.commands]
    assert any(word.startswith("kraft recover from-broker --broker-dir /n11 --copy /n2") for word in said)


def test_the_plan_leaves_a_sound_majority_alone() -> None:
    files = load_nodes("basic", 1, 2)
    plan = inspect_copies(files, ["/n1", "/n2"]).plan
    assert plan.is_whole
    with pytest.raises(RefusedError, match=r"2, 1 are here and sound, a majority of 3: start them"):
        propose_standalone(files, "/n1", ["/n2"], request())


def test_the_plan_drops_a_damaged_checkpoint_beside_a_sound_majority() -> None:
    files = load_nodes("upgrade-path", 1, 2, 3)
    files.rot("/n2/__cluster_metadata-0/00000000000000000323-0000000001.checkpoint", 200, 0x10)
    plan = inspect_copies(files, ["/n1", "/n2", "/n3"]).plan
    assert plan.is_whole
    said = [command for step in plan.steps for command in step.commands]
    assert "kraft recover drop-snapshot --dir /n2 --missing rest --apply" in said


def test_a_controller_is_made_from_the_better_of_two_brokers() -> None:
    files = load_nodes("every-record", 11, 12)
    repair(files, lambda files: propose_from_broker(files, ["/n11", "/n12"], [], new_controller(), request()), "/new")
    made, best = copy_at(files, "/new"), copy_at(files, "/n12")
    assert made.end.offset == best.end.offset + 2
    assert common_end(made, best) == best.end.offset
    assert made.voters is not None
    assert list(map(str, made.voters)) == ["1@here:9093:ZGVmZ2hpamtsbW5vcHFycw"]
    assert made.place.identity is not None
    assert made.place.identity.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"
    assert made.image is not None
    assert best.image is not None
    assert made.image.says_the_same_as(best.image)
    assert verify_directories(files, ["/new"]).is_sound


def test_all_voters_get_the_same_bytes_and_new_addresses() -> None:
    files = load_nodes("basic", 1, 2, 3)
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2, 3)]
    paths = ["/n1", "/n2", "/n3"]
    for rewrite in propose_voters(files, paths, [], named, request()).rewrites:
        assert rewrite.facts.voters_before is not None
        assert [voter.partition("@")[0] for voter in rewrite.facts.voters_after or ()] == ["1", "2", "3"]
    repair(files, lambda files: propose_voters(files, paths, [], named, request()), "/n1")
    logs = []
    for path in paths:
        held = tree(files, f"{path}/__cluster_metadata-0")
        logs.append({name: data for name, data in held.items() if name.endswith(".log") or name == "quorum-state"})
    assert logs[0] == logs[1] == logs[2]
    assert verify_directories(files, paths).is_sound
    voters = copy_at(files, "/n3").voters
    assert voters is not None
    assert [str(voter.endpoints[0]) for voter in voters] == [f"CONTROLLER://host{n}:9{n}" for n in (1, 2, 3)]


def test_static_voters_are_rewritten_in_quorum_state() -> None:
    files = load_nodes("static-3.9", 2, 11, 12)
    named = [parse_static_voter("2@host2:9093")]
    proposal = propose_static_voters(files, ["/n2"], ["/n11", "/n12"], named, request())
    verify, configure, *_ = proposal.steps
    assert verify.commands == ("kraft recover verify /n2",)
    assert "controller.quorum.voters=2@host2:9093" in configure.commands
    repair(files, lambda files: propose_static_voters(files, ["/n2"], ["/n11", "/n12"], named, request()), "/n2")
    after = copy_at(files, "/n2")
    assert (after.static_voters, int(after.end.epoch), after.kraft_version) == ((2,), 1004, 0)
    assert verify_directories(files, ["/n2"]).is_sound


def test_a_torn_tail_is_cut_without_a_word_about_loss() -> None:
    files = load_nodes("basic", 1)
    _append(files, "/n1", b"\x00\x00\x00\x00\x00\x00\x00\x5f\x00\x00\x01\x00torn")
    before = copy_at(files, "/n1")
    assert before.stop is not None
    assert before.stop.is_torn
    repair(files, lambda files: propose_truncate(files, "/n1", [], int(before.end.offset), request()), "/n1")
    after = copy_at(files, "/n1")
    assert (after.stop, after.end) == (None, before.end)


def test_committed_records_are_cut_only_when_that_is_accepted() -> None:
    files = load_nodes("basic", 1, 2, 3)
    with pytest.raises(RefusedError, match=r"offsets 83 to 95 on node 1.*; committed.*no copy can change that"):
        propose_truncate(files, "/n1", ["/n2", "/n3"], 83, request())
    proposal = propose_truncate(files, "/n1", ["/n2", "/n3"], 83, request(accept_data_loss=True))
    assert proposal.warnings


def test_what_no_majority_holds_is_cut_with_that_as_proof() -> None:
    files = load_nodes("dynamic-voters", 2, 3, 4)
    proposal = propose_truncate(files, "/n4", ["/n2", "/n3"], 81, request())
    assert any("never committed" in said for said in proposal.says)
    repair(files, lambda files: propose_truncate(files, "/n4", ["/n2", "/n3"], 81, request()), "/n4")
    after = copy_at(files, "/n4")
    assert (int(after.end.offset), int(after.end.epoch)) == (81, 2)
    assert open_log(files, "/n4/__cluster_metadata-0", recover=False)[1].warnings == ()


def test_without_any_known_address_nobody_is_asked_and_nothing_is_done() -> None:
    files = load_nodes("basic", 1)
    known = evidence_of([copy_at(files, "/n1")])
    blind = msgspec.structs.replace(known, copies=())
    with pytest.raises(RefusedError, match=r"name no controller's address.*--bootstrap-controller"):
        refuse_unsafe(blind, request())
    assert refuse_unsafe(blind, request(more_endpoints=HERE)) == ()


def test_what_a_later_elected_leader_never_had_was_never_committed() -> None:
    files = load_nodes("basic", 1, 11)
    repair(files, lambda files: propose_truncate(files, "/n1", [], 56, request(accept_data_loss=True)), "/n1")
    both = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in (2, 3))
    elected = LeaderChangeMessage(leader_id=NodeId(2), voters=both, granting_voters=both)
    _append(
        files,
        "/n1",
        build_control_batch(
            base_offset=Offset(56), epoch=Epoch(2), timestamp_ms=NOW_MS, records=[encode_control(elected)]
        ),
    )
    know_epoch(files, "/n1", 2)
    proposal = propose_standalone(files, "/n1", ["/n11"], request())
    assert [lost.committed for lost in proposal.loses] == ["never"]
    assert proposal.loses[0].records
    assert any("overlooks that record" in warning for warning in proposal.warnings)


def test_an_epoch_that_a_repair_began_proves_nothing() -> None:
    files = load_nodes("basic", 1, 11)
    repair(files, lambda files: propose_truncate(files, "/n1", [], 56, request(accept_data_loss=True)), "/n1")
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    with pytest.raises(RefusedError, match=r"this would lose .* search-91; which may have been committed"):
        propose_voters(files, ["/n1"], ["/n11"], [parse_named_voter("1@new:9093")], request())


def test_an_undo_is_refused_once_a_node_has_run() -> None:
    files = load_nodes("basic", 1)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    _append(files, "/n1", b"x")
    with pytest.raises(RefusedError, match="a node has run since"):
        propose_undo(files, "/n1", work_root_of("/n1"))


def test_an_undo_is_refused_where_a_node_wrote_into_a_file_that_the_repair_left_alone() -> None:
    files = load_nodes("failovers", 12)
    cut = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n12", [], 294, cut), "/n12")
    assert propose_undo(files, "/n12", work_root_of("/n12")).rewrites
    epoch = Epoch(copy_at(files, "/n12").end.epoch + 1)
    fetched = LeaderChangeMessage(leader_id=NodeId(2), voters=(), granting_voters=())
    values = [encode_control(fetched)]
    _append(files, "/n12", build_control_batch(base_offset=Offset(294), epoch=epoch, timestamp_ms=1, records=values))
    with pytest.raises(RefusedError, match=r"ends at offset 295, and the repair left it at 294: a node has run since"):
        propose_undo(files, "/n12", work_root_of("/n12"))


def _append(files: SimulatedFiles, log_dir: str, data: bytes) -> None:
    metadata = f"{log_dir}/__cluster_metadata-0"
    last = max(name for name in files.listdir(metadata) if name.endswith(".log"))
    handle = files.open(f"{metadata}/{last}")
    handle.pwrite(data, handle.size())
    handle.fdatasync()


def test_directories_that_were_only_formatted_get_the_log_too() -> None:
    files = load_nodes("static-3.9", 2)
    formatted(files, "/n1", 1, "AAAAAAAAAAAAAAAAAAAx6g")
    formatted(files, "/n3", 3, "AAAAAAAAAAAAAAAAAAAx6w")
    paths = ["/n1", "/n2", "/n3"]
    named = [parse_static_voter(f"{node}@host{node}:9093") for node in (1, 2, 3)]
    with pytest.raises(RefusedError, match="is not among --set: name node 2"):
        propose_static_voters(files, ["/n2"], [], [parse_static_voter("3@host3:9093")], request())
    repair(files, lambda files: propose_static_voters(files, paths, [], named, request()), "/n1")
    logs = [tree(files, f"{path}/__cluster_metadata-0") for path in paths]
    for log in logs:
        assert log["quorum-state"] == logs[0]["quorum-state"]
        assert {name for name in log if name.endswith(".log")} == {name for name in logs[0] if name.endswith(".log")}
    assert [copy_at(files, path).rank for path in paths] == [copy_at(files, "/n2").rank] * 3
    assert verify_directories(files, paths).is_sound


def test_a_static_quorums_controller_is_made_from_a_brokers_copy() -> None:
    files = load_nodes("static-3.9", 11, 12)
    new = msgspec.structs.replace(new_controller(), endpoints=())
    proposal = propose_from_broker(files, ["/n11", "/n12"], [], new, request())
    assert proposal.steps[1].commands == ("controller.quorum.voters=1@HOST:PORT",)
    told = propose_from_broker(files, ["/n11", "/n12"], [], new_controller(), request())
    assert told.says[1] == "static voters become 1@here:9093"
    assert told.steps[1].commands == ("controller.quorum.voters=1@here:9093",)
    repair(files, lambda files: propose_from_broker(files, ["/n11", "/n12"], [], new, request()), "/new")
    made = copy_at(files, "/new")
    assert (made.kraft_version, made.static_voters, int(made.end.epoch)) == (0, (1,), 1003)
    assert verify_directories(files, ["/new"]).is_sound


def damage_checkpoints(files: SimulatedFiles, log_dir: str, *, all_of_them: bool) -> str:
    """Change a byte of the newest checkpoint, or of each; give the newest's name."""
    metadata = f"{log_dir}/__cluster_metadata-0"
    names = sorted(name for name in files.listdir(metadata) if name.endswith(".checkpoint"))
    for name in names if all_of_them else names[-1:]:
        files.rot(f"{metadata}/{name}", 200, 0x10)
    return names[-1]


def test_a_lone_survivor_with_a_corrupt_newest_checkpoint_goes_on_from_the_older_one() -> None:
    files, whole = load_nodes("every-record", 1), copy_at(load_nodes("every-record", 1), "/n1")
    newest = damage_checkpoints(files, "/n1", all_of_them=False)
    found = inspect_copies(files, ["/n1"])
    said = [command for step in found.plan.steps for command in step.commands]
    assert "kraft recover standalone --dir /n1 --missing 2,3,11,12 --apply" in said
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    after = copy_at(files, "/n1")
    assert newest not in files.listdir("/n1/__cluster_metadata-0")
    assert after.origin is not None
    assert (int(after.origin.end.offset), int(after.end.offset)) == (139, int(whole.end.offset) + 2)
    assert after.image is not None
    assert whole.image is not None
    assert after.image.says_the_same_as(whole.image)
    assert verify_directories(files, ["/n1"]).is_sound


def test_without_any_whole_checkpoint_the_log_from_offset_0_says_it_all() -> None:
    files, whole = load_nodes("upgrade-path", 1), copy_at(load_nodes("upgrade-path", 1), "/n1")
    damage_checkpoints(files, "/n1", all_of_them=True)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    after = copy_at(files, "/n1")
    assert (after.origin, after.prefix.checkpoints) == (None, ())
    assert after.image is not None
    assert whole.image is not None
    assert after.image.says_the_same_as(whole.image)


def test_a_lone_survivor_that_cannot_tell_its_metadata_asks_for_the_brokers_copies() -> None:
    files = load_nodes("failovers", 1, 11, 12)
    damage_checkpoints(files, "/n1", all_of_them=True)
    alone = inspect_copies(files, ["/n1"]).plan
    assert alone.situation.endswith("no copy here names the voters.")
    assert any("Bring a copy of every broker's metadata log" in step.text for step in alone.steps)
    with pytest.raises(RefusedError, match=r"no whole checkpoint holds what was before.*kraft recover inspect"):
        propose_standalone(files, "/n1", [], request())
    found = inspect_copies(files, ["/n1", "/n11", "/n12"])
    assert found.evidence.best_with_metadata.kraft_version == 1
    said = [command for step in found.plan.steps for command in step.commands]
    assert any(word.startswith("kraft recover from-broker --broker-dir /n11 --copy /n1") for word in said)
    repair(
        files, lambda files: propose_from_broker(files, ["/n11", "/n12"], ["/n1"], new_controller(), request()), "/new"
    )
    assert common_end(copy_at(files, "/new"), copy_at(files, "/n12")) == copy_at(files, "/n12").end.offset
    assert verify_directories(files, ["/new"]).is_sound
