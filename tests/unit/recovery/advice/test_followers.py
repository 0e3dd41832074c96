"""Nodes whose checkpoints lie past what a repair keeps: each is named, by every repair and by `inspect`."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.ids import DirectoryId
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint
from quorum.recovery.guards.request import Proposal
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.orphaned_files import remove_tree
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.repairs import load, load_nodes, repair, request

ACCEPTED = request(accept_data_loss=True)
CONTROLLERS, BROKERS = ("/n1", "/n2", "/n3"), ("/n11", "/n12")
CUT = 294
"""Both brokers have a checkpoint past this one, at 310 and at 313; no controller has."""


def cluster(*cut: int) -> SimulatedFiles:
    """Load three controllers and two brokers; the logs of the given nodes end at `CUT`."""
    files = load_nodes("failovers", 1, 2, 3, 11, 12)
    for node in cut:
        path = f"/n{node}"
        repair(files, lambda files, path=path: propose_truncate(files, path, [], CUT, ACCEPTED), path)  # type: ignore[misc]
    return files


def says(at: int, node: int) -> str:
    where = f"past {CUT}, where the kept log diverges, and cannot go back below it"
    return f"node {node} (/n{node}) has a checkpoint that ends at offset {at}, {where}"


def check_named(proposal: Proposal) -> None:
    """Both brokers are named in the warnings, and in a step with what to do."""
    for at, node in ((310, 11), (313, 12)):
        assert any(says(at, node) in warning for warning in proposal.warnings), proposal.warnings
    [step] = [step for step in proposal.steps if "move its __cluster_metadata-0 away" in step.text]
    assert all(f"node {node} (/n{node})" in step.text for node in (11, 12))
    assert step.commands == ("mv DATA_DIR/__cluster_metadata-0 DATA_DIR.metadata-log-before-recovery",)


def new_controller() -> NewController:
    return NewController(
        log_dir="/new",
        node_id=1,
        endpoints=(Endpoint(name="CONTROLLER", host="here", port=9093),),
        directory_id=DirectoryId(bytes(range(100, 116))),
    )


def test_of_a_survivor() -> None:
    check_named(propose_standalone(cluster(1), "/n1", BROKERS, ACCEPTED))


def test_of_new_voters_whose_own_directories_are_written_anew() -> None:
    """The repair makes the controllers' directories from one log, whatever they held."""
    files = cluster(1, 2, 3)
    files.open("/n2/__cluster_metadata-0/00000000000000000300-0000000009.checkpoint", create=True).fdatasync()
    files.fsync_dir("/n2/__cluster_metadata-0")
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2, 3)]
    proposal = propose_voters(files, CONTROLLERS, BROKERS, named, ACCEPTED)
    check_named(proposal)
    assert not any("(/n2) has a checkpoint" in warning for warning in proposal.warnings)


def test_of_a_log_that_is_cut() -> None:
    proposal = propose_truncate(cluster(), "/n1", BROKERS, CUT, ACCEPTED)
    check_named(proposal)
    assert "Only where a repair makes this log the quorum's" in proposal.steps[-1].text


def test_of_static_voters_by_the_name_of_a_checkpoint_alone() -> None:
    """Also where it is damaged: Kafka takes its newest checkpoint by its name."""
    files = load_nodes("static-3.9", 1, 11)
    repair(files, lambda files: propose_truncate(files, "/n1", [], 73, ACCEPTED), "/n1")
    name = "/n11/__cluster_metadata-0/00000000000000000090-0000000003.checkpoint"
    files.open(name, create=True).fdatasync()
    files.fsync_dir("/n11/__cluster_metadata-0")
    named = [parse_static_voter("1@host1:9093")]
    proposal = propose_static_voters(files, ["/n1"], ["/n11"], named, ACCEPTED)
    assert any("node 11 (/n11) has a checkpoint that ends at offset 90, past 73" in one for one in proposal.warnings)
    assert any("move its __cluster_metadata-0 away" in step.text for step in proposal.steps)


def test_none_is_named_where_all_can_follow() -> None:
    proposal = propose_standalone(cluster(), "/n1", ["/n11"], ACCEPTED)
    assert not any("cannot" in warning for warning in proposal.warnings)
    assert not any("__cluster_metadata-0" in step.text for step in proposal.steps)


def test_inspect_names_them_for_each_repair() -> None:
    plan = inspect_copies(cluster(1), ["/n1", *BROKERS]).plan
    by_name = {repair.on: repair for repair in plan.repairs}
    assert [says(310, 11) in one or says(313, 12) in one for one in by_name["node 1 (/n1)"].cannot_follow] == [True] * 2
    assert by_name["node 11 (/n11)"].cannot_follow == ()


def test_a_majority_that_lacks_what_was_committed_is_not_simply_started() -> None:
    """A broker's checkpoint proves it; the broker's copy is taken, and nothing is lost."""
    files = cluster(1, 2, 3)
    for path in CONTROLLERS:  # older copies: no audit file records a cut
        remove_tree(files, work_root_of(path))
    plan = inspect_copies(files, [*CONTROLLERS, *BROKERS]).plan
    assert not plan.is_whole
    assert f"(1, 2, 3), but their logs end at offset {CUT}, and all before 313 was committed" in plan.situation
    assert any("from-broker --broker-dir /n11" in command for step in plan.steps for command in step.commands)
    with pytest.raises(RefusedError, match="this would lose offsets 294 to 326 on node 11"):
        propose_standalone(files, "/n1", ["/n2", "/n3", *BROKERS], request())
    proposal = propose_from_broker(files, BROKERS, CONTROLLERS, new_controller(), request())
    assert not [one for one in proposal.loses if one.committed != "never"]


def test_what_a_repair_let_go_is_not_asked_for_again() -> None:
    """The repaired voter starts as it is; who cannot follow it is named, also by its log's length alone."""
    files = cluster(1)
    repair(files, lambda files: propose_standalone(files, "/n1", BROKERS, ACCEPTED), "/n1")
    plan = inspect_copies(files, ["/n1", *BROKERS]).plan
    assert plan.is_whole
    assert "no metadata is lost" not in plan.situation
    keep, aside, start, *_ = plan.steps
    assert keep.text.startswith("Keep a copy of node 11 (/n11), node 12 (/n12) for good")
    assert keep.commands == ("kraft recover undo --dir /n1 --apply",)
    assert all(f"node {node} (/n{node})" in aside.text for node in (11, 12))
    assert start.text.startswith("Start controller 1 as it is")
    for node in (11, 12):
        for path in [name for name in files.listdir(f"/n{node}/__cluster_metadata-0") if "-0000000009.check" in name]:
            files.unlink(f"/n{node}/__cluster_metadata-0/{path}")
    [_, aside, *_] = inspect_copies(files, ["/n1", *BROKERS]).plan.steps
    assert all(f"node {node} (/n{node})" in aside.text for node in (11, 12))


def test_a_healthy_cluster_names_nobody() -> None:
    plan = inspect_copies(cluster(), [*CONTROLLERS, *BROKERS]).plan
    assert plan.is_whole
    assert plan.steps[0].text.startswith("Start controllers")
    assert not [one for repair in plan.repairs for one in repair.cannot_follow]


def test_a_broker_that_is_ahead_by_a_heartbeat_is_not_preferred_to_a_survivor() -> None:
    files = load("basic/node-1/data", load("basic/node-12/data", target="/n12"), target="/n1")
    heartbeat = build_batch(base_offset=Offset(95), epoch=Epoch(1), timestamp_ms=1, values=[b"\x01\x14\x00\x00"])
    log = files.open("/n12/__cluster_metadata-0/00000000000000000000.log")
    log.pwrite(heartbeat, log.size())
    log.fdatasync()
    found = inspect_copies(files, ["/n1", "/n12"])
    assert found.evidence.best.label == "node 12 (/n12)"
    commands = [command for step in found.plan.steps for command in step.commands]
    assert commands[0] == "kraft recover standalone --dir /n1 --copy /n12 --missing 2,3,11"
